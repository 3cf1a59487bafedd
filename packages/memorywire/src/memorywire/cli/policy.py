"""`memorywire policy`: show, test and change the rules."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from memorywire.cli.context import Answer, CliContext, scoped, shared, without_scope
from memorywire.cli.inputs import EXISTING_FILE, option, parse_json_object
from memorywire.cli.terminal import clean, format_table, format_time
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.model.record import Json
from memorywire.model.text import counted

_OWN = ("name", "verdict", "enabled", "note", "learned", "reviewers")
_file = click.argument("file", type=EXISTING_FILE)
_name = click.argument("name", metavar="RULE")


@click.group("policy")
def policy_command() -> None:
    """Show, test and change the rules for memory."""


@policy_command.command("show")
@scoped("tenant")
def show(cli: CliContext) -> None:
    """Show the policy in force."""
    cli.show(_rules(cli), _render_policy)


@policy_command.command("check")
@_file
@without_scope
def check(cli: CliContext, file: Path) -> None:
    """Check the policy FILE and change nothing."""
    from memorywire.app.container import load_policy
    from memorywire.policy.documents import policy_to_dict

    answer = policy_to_dict(load_policy(str(file)))
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    own, total = len(document.get("rule", ())), len(answer["rule"])
    base = "" if document.get("complete") else f" of its own, {total - own} of profile {answer['profile']}"
    cli.show(answer, [f"sound: {counted(own, 'rule')}{base}"])


@policy_command.command("test")
@click.argument("rule", metavar="RULE")
@option("--days N", "How many days back; default: 30.", type=int)
@shared
def test(cli: CliContext, rule: str, days: int | None) -> None:
    """Show what RULE would have done in the past.

    Nothing changes. RULE is the name of an active or suggested rule, or a JSON object such as
    {"name": "x", "verdict": "hold", "source": ["web*"]}.
    """
    document = parse_json_object(rule) if rule.lstrip().startswith("{") else _find_rule(rule, _rules(cli))
    answer = cli.call("test_rule", rule=document, days=days)
    cli.show(answer, [answer["summary"], *(f"  {id}" for id in answer["sample"][:10])])


@policy_command.command("set")
@_file
@option("--if-edition N", "Only if edition N is active; 0: none.", type=int)
@option("--none", "Remove all rules: FILE has none.", name="drop_all")
@scoped("tenant")
def set_(cli: CliContext, file: Path, if_edition: int | None, drop_all: bool) -> None:
    """Activate the [[rule]] tables of FILE in place of the current ones.

    Names the rules that are no longer active, and how to restore them. A FILE without rules needs --none.
    """
    tables = _read_tables(file)
    if not tables and not drop_all:
        reason = f"{file} has no [[rule]] tables: this would remove all rules"
        raise InvalidRequest(reason, field="file", fix="give --none to remove them")
    edition = {} if if_edition is None else {"if_edition": if_edition}
    answer = _call(cli, "set_rules", rules=tables, **edition)
    cli.show(answer, lambda answer: [*_render_policy(answer), *_render_dropped(answer, cli)])


@policy_command.command("editions")
@scoped("tenant")
def editions(cli: CliContext) -> None:
    """List the editions of the rules, newest first."""
    restore = cli.suggest("policy", "restore", "EDITION")
    cli.show(_rules(cli), lambda answer: _render_editions(answer, restore))


@policy_command.command("restore")
@click.argument("number", type=int, metavar="EDITION")
@scoped("tenant")
def restore(cli: CliContext, number: int) -> None:
    """Activate the rules of EDITION again, as a new edition."""
    rules = _rules(cli)
    edition = next((one for one in rules["editions"] if one["number"] == number), None)
    if edition is None:
        raise NotFound(f"there is no edition {number}", field="edition", fix="see memorywire policy editions")
    cli.show(_call(cli, "set_rules", rules=edition["rules"], if_edition=rules["edition"]), _render_policy)


@policy_command.command("suggestions")
@scoped("tenant")
def suggestions(cli: CliContext) -> None:
    """Show rules suggested by past decisions."""
    activate = cli.suggest("policy", "activate", "RULE")
    cli.show(_rules(cli), lambda answer: _render_suggestions(answer, activate))


@policy_command.command("activate")
@_name
@scoped("tenant")
def activate(cli: CliContext, name: str) -> None:
    """Activate a suggested rule."""
    cli.show(_call(cli, "activate_rule", name=name), _render_policy)


@policy_command.command("revert")
@_name
@scoped("tenant")
def revert(cli: CliContext, name: str) -> None:
    """Undo everything that a learned rule allowed, and disable it."""
    answer = _call(cli, "revert_rule", name=name)
    lines = [f"undid {len(answer['reverted_ids'])} that {answer['rule']} allowed; the rule is disabled"]
    lines += [f"  ended {id}" for id in answer["ended_ids"]]
    cli.show(answer, [*lines, *(f"  not undone, changed since: {id}" for id in answer["kept_ids"])])


def _rules(cli: CliContext) -> Answer:
    return _call(cli, "rules")


def _call(cli: CliContext, operation: str, **fields: Json) -> Answer:
    return cli.memory().call(operation, fields)


def _read_tables(file: Path) -> list[Json]:
    from memorywire.policy.documents import rules_from

    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"the policy is not TOML: {error}", field="policy") from error
    rules_from(document.get("rule", []))  # fails with the messages of `check`, before anything is sent
    if set(document) - {"rule"}:
        fix = "put the rest into the file of the setting `policy`"
        raise InvalidRequest(f"{file} has more than [[rule]] tables", field="file", fix=fix)
    return list(document.get("rule", []))


def _find_rule(name: str, policy: Answer) -> Mapping[str, Json]:
    rules = [*policy["given"], *policy["base"], *(one["rule"] for one in policy["suggestions"])]
    match = next((rule for rule in rules if rule["name"] == name), None)
    if match is None:
        fix = "see memorywire policy show"
        raise NotFound(f"no rule {name} is active or suggested", field="rule", fix=fix)
    return {**match, "enabled": True}


def _render_policy(answer: Answer) -> Iterator[str]:
    edition = f"edition {answer['edition']}" if answer["edition"] else "no rules of your own"
    yield f"profile {answer['profile']}, {edition}; default: {answer['default']}"
    rows = [
        [rule["name"], rule["verdict"], _format_state(rule), origin, _format_conditions(rule)]
        for origin, rules in (("given", answer["given"]), (answer["profile"], answer["base"]))
        for rule in rules
    ]
    yield from format_table(["RULE", "VERDICT", "STATE", "FROM", "WHEN"], rows)
    yield f"held changes wait at most {counted(answer['pending_days'], 'day')}"
    if answer.get("four_eyes"):
        yield "the author of a change cannot approve it (four_eyes)"
    yield from (f"secrets in {clean(scope)}: {action}" for scope, action in answer["secrets"].items())
    for subject, budget in answer["budget"].items():
        limits = " and ".join(f"{limit} {name.replace('_', ' ')}" for name, limit in budget.items())
        yield f"budget of {clean(subject)}: {limits}"
    if answer["suggestions"]:
        yield f"{len(answer['suggestions'])} suggested: see memorywire policy suggestions"


def _render_dropped(answer: Answer, cli: CliContext) -> Iterator[str]:
    """Yield the rules of the previous edition that are no longer active, and how to restore them."""
    now, *before = answer["editions"]
    names = {rule["name"] for rule in now["rules"]}
    missing = [rule["name"] for rule in before[0]["rules"] if rule["name"] not in names] if before else []
    if missing:
        yield f"no longer active: {', '.join(map(clean, missing))}"
        yield f"  restore them with: {cli.suggest('policy', 'restore', str(before[0]['number']))}"


def _format_state(rule: Mapping[str, Json]) -> str:
    on = "on" if rule.get("enabled", True) else "off"
    on += f", {rule['reviewers']} reviewers" if rule.get("reviewers", 1) > 1 else ""
    return f"{on}, learned" if rule.get("learned") else on


def _format_conditions(rule: Mapping[str, Json]) -> str:
    """Return the conditions in a form close to the TOML file."""
    conditions = {name: value for name, value in rule.items() if name not in _OWN}
    texts = {name: json.dumps(value, ensure_ascii=False) for name, value in conditions.items()}
    return ", ".join(f"{name} = {text}" for name, text in texts.items())


def _render_editions(answer: Answer, restore: str) -> Iterator[str]:
    rows = [
        [one["number"], format_time(one["at"]), one["by"], ", ".join(rule["name"] for rule in one["rules"])]
        for one in answer["editions"]
    ]
    yield from format_table(["EDITION", "AT", "BY", "RULES"], rows)
    if rows:
        yield f"restore one with: {restore}"


def _render_suggestions(answer: Answer, activate: str) -> Iterator[str]:
    if not answer["suggestions"]:
        yield "no suggestions: there are too few similar decisions"
        return
    for one in answer["suggestions"]:
        rule = one["rule"]
        yield f"{rule['name']}: {rule['verdict']} when {_format_conditions(rule)}"
        yield f"  {clean(rule.get('note', ''))}: {', '.join(one['evidence'])}"
    yield f"activate one with: {activate}"
