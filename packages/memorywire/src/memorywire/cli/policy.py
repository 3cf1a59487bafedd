"""`memorywire policy`: the rules in force, tried, changed, learned and taken back."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from memorywire.cli.context import Answer, CliContext, of_everybody, scoped, shared
from memorywire.cli.inputs import json_object
from memorywire.cli.terminal import moment, safe, table, terminal_width
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.model.record import Json
from memorywire.model.text import counted

_OWN = ("name", "verdict", "enabled", "note", "learned")
_file = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
_name = click.argument("name", metavar="RULE")


@click.group("policy")
def policy_command() -> None:
    """Show, check, try and change the rules that decide what may enter memory."""


@policy_command.command("show")
@scoped("tenant")
def show(cli: CliContext) -> None:
    """Show the policy in force."""
    cli.show(_rules(cli), _page)


@policy_command.command("check")
@_file
@of_everybody
def check(cli: CliContext, file: Path) -> None:
    """Read the policy FILE and say what is wrong with it, if anything is; nothing changes."""
    from memorywire.app.container import load_policy
    from memorywire.policy.documents import policy_to_dict

    answer = policy_to_dict(load_policy(str(file)))
    written = tomllib.loads(file.read_text(encoding="utf-8"))
    own, all_of_them = len(written.get("rule", ())), len(answer["rule"])
    below = (
        "" if written.get("complete") else f" of its own, {all_of_them - own} of profile {answer['profile']}"
    )
    cli.show(answer, lambda _: [f"sound: {own} {'rule' if own == 1 else 'rules'}{below}"])


@policy_command.command("test")
@click.argument("rule", metavar="RULE")
@click.option("--days", type=int, metavar="N", help="How far back; 30 when not given.")
@shared
def test(cli: CliContext, rule: str, days: int | None) -> None:
    """Say what RULE would have done to the agent's past; nothing changes.

    RULE is the name of a rule in force or suggested, or a JSON object such as
    {"name": "x", "verdict": "hold", "source": ["web*"]}.
    """
    meant = json_object(rule) if rule.lstrip().startswith("{") else _named(rule, _rules(cli))
    cli.show(cli.call("test_rule", rule=meant, days=days), _trial)


@policy_command.command("set")
@_file
@click.option("--if-edition", type=int, metavar="N", help="Only while edition N is in force; 0 is none.")
@click.option(
    "--none", "drop_all", is_flag=True, help="Yes, FILE has no rules: take all that were given back."
)
@scoped("tenant")
def set_(cli: CliContext, file: Path, if_edition: int | None, drop_all: bool) -> None:
    """Put the [[rule]] tables of FILE in force, in place of those that were given before.

    What was given before and is not in FILE is named, with the way back. A FILE without any rule is
    refused unless it is said with --none.
    """
    tables = _tables(file)
    if not tables and not drop_all:
        raise InvalidRequest(
            f"{file} has no [[rule]] tables, and would take all rules back that were given before",
            field="file",
            fix="say --none if that is meant",
        )
    edition = {} if if_edition is None else {"if_edition": if_edition}
    answer = _call(cli, "set_rules", rules=tables, **edition)
    cli.show(answer, lambda said: [*_page(said), *_dropped(said, cli)])


@policy_command.command("editions")
@scoped("tenant")
def editions(cli: CliContext) -> None:
    """Show every list of rules that was given, the newest first, and who gave it."""
    restore = cli.again("policy", "restore", "EDITION")
    cli.show(_rules(cli), lambda said: _editions(said, restore))


@policy_command.command("restore")
@click.argument("number", type=int, metavar="EDITION")
@scoped("tenant")
def restore(cli: CliContext, number: int) -> None:
    """Put the rules of EDITION in force again, as a new edition."""
    book = _rules(cli)
    found = next((one for one in book["editions"] if one["number"] == number), None)
    if found is None:
        raise NotFound(f"there is no edition {number}", field="edition", fix="see memorywire policy editions")
    cli.show(_call(cli, "set_rules", rules=found["rules"], if_edition=book["edition"]), _page)


@policy_command.command("suggestions")
@scoped("tenant")
def suggestions(cli: CliContext) -> None:
    """Show rules that people's decisions speak for."""
    activate = cli.again("policy", "activate", "RULE")
    cli.show(_rules(cli), lambda said: _suggestions(said, activate))


@policy_command.command("activate")
@_name
@scoped("tenant")
def activate(cli: CliContext, name: str) -> None:
    """Put the suggested RULE in force."""
    cli.show(_call(cli, "activate_rule", name=name), _page)


@policy_command.command("revert")
@_name
@scoped("tenant")
def revert(cli: CliContext, name: str) -> None:
    """Take back all that the learned RULE let pass, as one change, and switch it off."""
    cli.show(_call(cli, "revert_rule", name=name), _reverted)


def _rules(cli: CliContext) -> Answer:
    return _call(cli, "rules")


def _call(cli: CliContext, operation: str, **fields: Json) -> Answer:
    with cli.memory() as memory:
        return memory.call(operation, fields)


def _tables(file: Path) -> list[Json]:
    from memorywire.policy.documents import rules_from

    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"the policy is not TOML: {error}", field="policy") from error
    rules_from(document.get("rule", []))  # in the words of `check`, before anything is sent
    if set(document) - {"rule"}:
        raise InvalidRequest(
            f"{file} holds more than [[rule]] tables",
            field="file",
            fix="the rest of a policy is a file that the setting `policy` names",
        )
    return list(document.get("rule", []))


def _named(name: str, book: Answer) -> Mapping[str, Json]:
    known = [*book["given"], *book["base"], *(one["rule"] for one in book["suggestions"])]
    found = next((rule for rule in known if rule["name"] == name), None)
    if found is None:
        raise NotFound(
            f"no rule {name} is in force or suggested", field="rule", fix="see memorywire policy show"
        )
    return {**found, "enabled": True}


def _page(answer: Answer) -> Iterator[str]:
    edition = f"edition {answer['edition']}" if answer["edition"] else "no rules of your own"
    yield f"profile {answer['profile']}, {edition}; what no rule matches: {answer['default']}"
    rows = [
        [rule["name"], rule["verdict"], _standing(rule), origin, _conditions(rule)]
        for origin, rules in (("given", answer["given"]), (answer["profile"], answer["base"]))
        for rule in rules
    ]
    headers = ["RULE", "VERDICT", "STATE", "FROM", "WHEN"]
    yield from table(headers, rows, elastic="WHEN", width=terminal_width())
    yield f"held changes wait {counted(answer['pending_days'], 'day')}"
    if answer.get("four_eyes"):
        yield "whoever asked for a change cannot approve it (four_eyes)"
    yield from (f"secrets in {safe(scope)}: {action}" for scope, action in answer["secrets"].items())
    for subject, budget in answer["budget"].items():
        limits = " and ".join(f"{limit} {name.replace('_', ' ')}" for name, limit in budget.items())
        yield f"budget of {safe(subject)}: {limits}"
    if answer["suggestions"]:
        yield f"{len(answer['suggestions'])} suggested: see memorywire policy suggestions"


def _dropped(answer: Answer, cli: CliContext) -> Iterator[str]:
    """The rules of the edition before that are no longer in force, and how to have them again."""
    now, *before = answer["editions"]
    kept = {rule["name"] for rule in now["rules"]}
    gone = [rule["name"] for rule in before[0]["rules"] if rule["name"] not in kept] if before else []
    if gone:
        yield f"no longer in force: {', '.join(map(safe, gone))}"
        yield f"  have them again with: {cli.again('policy', 'restore', str(before[0]['number']))}"


def _standing(rule: Mapping[str, Json]) -> str:
    on = "on" if rule.get("enabled", True) else "off"
    return f"{on}, learned" if rule.get("learned") else on


def _conditions(rule: Mapping[str, Json]) -> str:
    """As they would be written in a file, near enough to be read."""
    conditions = {name: value for name, value in rule.items() if name not in _OWN}
    return ", ".join(
        f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in conditions.items()
    )


def _trial(answer: Answer) -> Iterator[str]:
    yield answer["summary"]
    yield from (f"  {id}" for id in answer["sample"][:10])


def _editions(answer: Answer, restore: str) -> Iterator[str]:
    rows = [
        [str(one["number"]), moment(one["at"]), one["by"], ", ".join(rule["name"] for rule in one["rules"])]
        for one in answer["editions"]
    ]
    yield from table(["EDITION", "AT", "BY", "RULES"], rows, elastic="RULES", width=terminal_width())
    if rows:
        yield f"have one again: {restore}"


def _suggestions(answer: Answer, activate: str) -> Iterator[str]:
    if not answer["suggestions"]:
        yield "nothing was decided the same way often enough"
        return
    for one in answer["suggestions"]:
        rule = one["rule"]
        yield f"{rule['name']}: {rule['verdict']} when {_conditions(rule)}"
        yield f"  {safe(rule.get('note', ''))}: {', '.join(one['evidence'])}"
    yield f"activate one: {activate}"


def _reverted(answer: Answer) -> Iterator[str]:
    yield f"took back {len(answer['reverted_ids'])} that {answer['rule']} let pass; the rule is switched off"
    yield from (f"  ended {id}" for id in answer["ended_ids"])
    yield from (f"  not taken back, memory has moved since: {id}" for id in answer["kept_ids"])
