"""`memorywire review`: work through what waits for a person."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.forget import ask_erase_word
from memorywire.cli.inputs import json_object, text_from
from memorywire.cli.ledger_file import left_out, other_tenants
from memorywire.cli.problems import REFUSED
from memorywire.cli.recall import content_words
from memorywire.cli.terminal import entries, moment, safe, styled, terminal_width
from memorywire.model.errors import InvalidRequest
from memorywire.model.proposal import WAITING, State
from memorywire.model.record import Json
from memorywire.model.text import counted

if TYPE_CHECKING:
    from memorywire.client.sync import Memory


_SPANS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"))
_MARKS = {"=": ("", "", None), "-": ("[-", "-]", "red"), "+": ("{+", "+}", "green")}


def render_queue(answer: Answer, show: str | None) -> Iterator[str]:
    """What waits, a line each; `show` is the command that shows one."""
    if not answer["items"]:
        yield "nothing waits"
        return
    rows = [
        [
            one["state"],
            one["operation"],
            one["id"],
            moment(one["at"]),
            one["agent_id"],
            one["rule"],
            one.get("preview") or counted(len(one["memories"]), "memory"),
        ]
        for one in answer["items"]
    ]
    headers = ["STATE", "OPERATION", "PROPOSAL", "SINCE", "AGENT", "RULE", "CONTENT"]
    yield from entries(headers, rows, lead=2, width=terminal_width())
    if show is not None:
        yield f"look at one: {show}"


def render_proposal(answer: Answer, approve: str) -> Iterator[str]:
    """Everything needed to decide one proposal."""
    proposal = answer["proposal"]
    yield f"proposal {proposal['id']}: {proposal['state']}, {format_age(answer['age_ms'])} old"
    whose = f"agent {proposal['agent_id']}"
    whose += f", user {proposal['user_id']}" if "user_id" in proposal else ""
    yield f"  {proposal['operation']} by {safe(proposal['caller'])} for {safe(whose)}"
    yield f"  held by rule {safe(proposal['rule'])}: {safe(proposal['why'])}"
    yield from _finding_line("secrets taken out", proposal["secrets"])
    yield from _finding_line("speaks to the model", proposal["instructions"])
    yield from _decision_line(proposal.get("decision"))
    yield from _diff_lines(answer["diff"])
    if answer["similar"]:
        yield "similar memories:"
        yield from (f"  {one['id']}  {safe(content_words(one['content']))}" for one in answer["similar"])
    if proposal["state"] == "pending":
        yield f"approve with: {approve}"


def format_age(span_ms: int) -> str:
    """A span in its largest unit."""
    return next((f"{span_ms // unit}{name}" for unit, name in _SPANS if span_ms >= unit), "0s")


def _finding_line(label: str, found: Sequence[Mapping[str, str]]) -> Iterator[str]:
    if found:
        named = ", ".join(f"{one['kind']} in {one['place']}" for one in found)
        yield f"  {label}: {safe(named)}"


def _decision_line(decision: Mapping[str, Json] | None) -> Iterator[str]:
    if decision is not None:
        why = f": {safe(decision['reason'])}" if "reason" in decision else ""
        yield f"  decided by {safe(decision['by'])} at {moment(decision['at'])}{why}"


def _diff_lines(diff: Mapping[str, Json]) -> Iterator[str]:
    """The difference as lines; a sign before each says what it means, with or without colours."""
    for one in diff["added"]:
        yield styled(f"+ {one['id']} (new)", colour="green")
        yield from _field_lines("+", one["fields"])
    for one in diff["removed"]:
        into = f" into {one['into']}" if "into" in one else ""
        yield styled(f"- {one['id']} ({one['reason']}{into})", colour="red")
        yield from _field_lines("-", one["fields"])
    for one in diff["modified"]:
        yield f"~ {one['id']} ({_format_versions(one['from_version'], one['version'])})"
        yield from _field_lines("-", one["removed"])
        yield from _field_lines("+", one["added"])
        yield from (f"  ~ {safe(change['field'])}: {_format_change(change)}" for change in one["modified"])


def _format_versions(current: int, planned: int) -> str:
    """From which version to which; a plan that memory has overtaken leads nowhere."""
    if planned > current:
        return f"version {current} to {planned}"
    return f"version {planned} was planned, and memory is at version {current} already"


def _field_lines(sign: str, fields: Mapping[str, Json]) -> Iterator[str]:
    colour = {"+": "green", "-": "red"}[sign]
    for path, value in fields.items():
        yield styled(f"  {sign} {safe(path)}: {_format_value(value)}", colour=colour)


def _format_change(change: Mapping[str, Json]) -> str:
    segments = change.get("segments") or [
        ["-", _format_value(change["before"])],
        ["+", _format_value(change["after"])],
    ]
    return "".join(_format_segment(mark, _format_value(text)) for mark, text in segments)


def _format_segment(mark: str, text: str) -> str:
    opening, closing, colour = _MARKS[mark]
    marked = f"{opening}{text}{closing}"
    return marked if colour is None else styled(marked, colour=colour)


def _format_value(value: Json) -> str:
    """In one line, the spaces kept: they may be what changed."""
    text = content_words(value) if isinstance(value, str | dict | list) else str(value)
    return "".join(c if c.isprintable() else "⏎" if c == "\n" else " " for c in text)


_STATES = click.Choice([state.value for state in State])
_PAGE = 1000
_SAMPLE = 5

_ids = click.argument("ids", nargs=-1, metavar="[PROPOSAL]...")
_id = click.argument("id_", metavar="PROPOSAL")
_reason = click.option("--reason", metavar="TEXT", help="Why; kept with the decision.")
_seen = click.option(
    "--seen", metavar="DIGEST", help="What was looked at, as `show` printed it; else nothing is decided."
)
_all = click.option(
    "--all", "everything", is_flag=True, help="Everything that waits, or with --rule matches."
)
_rule = click.option("--rule", metavar="NAME", help="With --all: only what this rule held.")
_yes = click.option("--yes", is_flag=True, help="Do not ask before --all is applied.")
_confirm_word = click.option(
    "--confirm", metavar="WORD", help="The word `erase`, to approve what erases for good."
)


@click.group("review")
def review_command() -> None:
    """Decide what was held: PROPOSALs wait until a person says yes or no.

    Everybody's, unless --agent or --user narrows it.
    """


@review_command.command("list")
@click.option("--state", "states", type=_STATES, multiple=True, help="Only these; else what waits.")
@click.option("--rule", metavar="NAME", help="Only what this rule held.")
@shared
def list_(cli: CliContext, states: tuple[str, ...], rule: str | None) -> None:
    """Show what waits, oldest first."""
    with cli.reading() as memory:
        found = _list_proposals(cli, memory, states or sorted(WAITING), rule)
    answer = {"items": found, "total": len(found)}
    cli.show(
        answer,
        lambda said: [
            *render_queue(said, cli.again("review", "show", "PROPOSAL")),
            *_other_tenants_note(cli),
        ],
    )


def _other_tenants_note(cli: CliContext) -> Iterator[str]:
    """Who else may have something waiting: whoever named no tenant may have meant everybody."""
    if cli.named is not None:
        return
    if cli.server is None:
        yield from left_out(other_tenants(cli))
    else:
        yield "  of one tenant; a token of several names another with --tenant"


@review_command.command("show")
@_id
@shared
def show(cli: CliContext, id_: str) -> None:
    """Show what PROPOSAL would do, word by word, and what is similar."""
    with cli.reading() as memory:
        answer = _ask(cli, memory, "proposal", proposal_id=id_)
    approve = cli.again("review", "approve", id_, "--seen", answer["seen"])
    cli.show(answer, lambda said: render_proposal(said, approve))


@review_command.command("approve")
@_ids
@click.option("--forget", "target", metavar="MEMORY", help="And this similar memory ends.")
@_seen
@_reason
@_all
@_rule
@_yes
@_confirm_word
@shared
def approve(cli: CliContext, ids: tuple[str, ...], target: str | None, **options: Json) -> None:
    """Let PROPOSALs into memory as they are: all of them, or none."""
    if target is not None and options["everything"]:
        raise click.UsageError("--forget is for one proposal, not for --all")
    verb = "approve" if target is None else "forget_similar"
    _decide(cli, verb, ids, target=target, **options)


@review_command.command("reject")
@_ids
@_seen
@_reason
@_all
@_rule
@_yes
@shared
def reject(cli: CliContext, ids: tuple[str, ...], **options: Json) -> None:
    """Keep PROPOSALs out of memory: all of them, or none."""
    _decide(cli, "reject", ids, **options)


@review_command.command("reopen")
@click.argument("ids", nargs=-1, required=True, metavar="PROPOSAL...")
@_reason
@shared
def reopen(cli: CliContext, ids: tuple[str, ...], reason: str | None) -> None:
    """Take a decision on PROPOSALs back, with what it did to memory: they wait again."""
    with cli.memory() as memory:
        _decide_and_show(cli, memory, ids, verb="reopen", reason=reason)


@review_command.command("edit")
@_id
@click.argument("content", required=False)
@_reason
@shared
def edit(cli: CliContext, id_: str, content: str | None, reason: str | None) -> None:
    """Approve PROPOSAL with other content: CONTENT, `-` for standard input, or what $EDITOR leaves."""
    with cli.memory() as memory:
        shown = _ask(cli, memory, "proposal", proposal_id=id_)
        if "request" not in shown:
            raise InvalidRequest("it has no content to edit", field="verb", fix="approve it or reject it")
        before = shown["request"]["content"]
        after = (
            _edit_content(before)
            if content is None
            else _parse_content(text_from(content, field="content"), before)
        )
        if after == before:
            click.echo("nothing was changed, so nothing was decided", err=True)
            raise click.exceptions.Exit(REFUSED)
        fields = {"edit": {"content": after}, "seen": shown["seen"], "reason": reason}
        _decide_and_show(cli, memory, [id_], verb="edit", **fields)


@review_command.command("merge")
@_id
@click.argument("memory_id", metavar="MEMORY")
@_seen
@_reason
@shared
def merge(cli: CliContext, id_: str, memory_id: str, **fields: Json) -> None:
    """Approve PROPOSAL as a part of MEMORY: the contents are joined."""
    _decide_one(cli, "merge", id_, memory_id, **fields)


@review_command.command("supersede")
@_id
@click.argument("memory_id", metavar="MEMORY")
@_seen
@_reason
@shared
def supersede(cli: CliContext, id_: str, memory_id: str, **fields: Json) -> None:
    """Approve PROPOSAL in place of MEMORY, which ends."""
    _decide_one(cli, "supersede", id_, memory_id, **fields)


def _decide_one(cli: CliContext, verb: str, id_: str, target: str, **fields: Json) -> None:
    with cli.memory() as memory:
        _decide_and_show(cli, memory, [id_], verb=verb, target=target, **fields)


def _decide_and_show(cli: CliContext, memory: "Memory", ids: Sequence[str], **fields: Json) -> None:
    answer = _carry_out(cli, memory, proposal_ids=list(ids), **fields)
    if answer.get("change_id") and not cli.as_json:  # whose change it is, so that the undo finds it
        cli = cli.of(_ask(cli, memory, "proposal", proposal_id=ids[0])["proposal"]["agent_id"])
    cli.show(answer, _render_decision)


def _carry_out(cli: CliContext, memory: "Memory", **fields: Json) -> Answer:
    """The decision; what erases for good asks the person at the terminal for the word, unless it is given."""
    try:
        return _ask(cli, memory, "decide", **fields)
    except InvalidRequest as problem:
        if problem.field != "confirm" or fields.get("confirm") is not None or not sys.stdin.isatty():
            raise
        click.echo(problem.detail, err=True)
    return _ask(cli, memory, "decide", **{**fields, "confirm": ask_erase_word()})


def _decide(
    cli: CliContext,
    verb: str,
    ids: tuple[str, ...],
    *,
    everything: bool,
    rule: str | None,
    yes: bool,
    **fields: Json,
) -> None:
    if bool(ids) is everything or (rule is not None and not everything):
        raise click.UsageError("name PROPOSALs, or give --all, which --rule can narrow")
    with cli.memory() as memory:
        if everything:
            _decide_all(cli, memory, verb, rule, yes=yes, **fields)
            return
        _decide_and_show(cli, memory, ids, verb=verb, **fields)


def _decide_all(
    cli: CliContext, memory: "Memory", verb: str, rule: str | None, *, yes: bool, **fields: Json
) -> None:
    """One atomic batch per agent, recalls apart, once the person at the terminal has agreed to the number."""
    states = sorted(WAITING) if verb == "reject" else [State.PENDING.value]
    found = _list_proposals(cli, memory, states, rule)
    if not found:
        click.echo("nothing like that waits", err=True)
        raise click.exceptions.Exit(REFUSED)
    if not yes:
        _confirm(found, verb)
    decided = [_carry_out(cli, memory, proposal_ids=batch, verb=verb, **fields) for batch in _batches(found)]
    agents = {one["id"]: one["agent_id"] for one in found}
    cli.show(
        {"decisions": decided},
        lambda said: (line for one in said["decisions"] for line in _render_batch(cli, one, agents)),
    )


def _confirm(found: Sequence[Mapping[str, Json]], verb: str) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("--all without a terminal to ask needs --yes")
    for line in render_queue({"items": found[:_SAMPLE]}, None):
        click.echo(line, err=True)
    if len(found) > _SAMPLE:
        click.echo(f"  and {len(found) - _SAMPLE} more", err=True)
    click.confirm(f"{verb} {counted(len(found), 'proposal')}?", abort=True, err=True)


def _batches(found: Sequence[Answer]) -> Iterator[list[str]]:
    """What can be decided together: of one agent, and recalls or changes."""

    def kind(one: Answer) -> tuple[str, bool]:
        return one["agent_id"], one["operation"] == "recall"

    for _, group in groupby(sorted(found, key=kind), key=kind):
        ids = [one["id"] for one in group]
        yield from (ids[start : start + _PAGE] for start in range(0, len(ids), _PAGE))


def _list_proposals(
    cli: CliContext, memory: "Memory", states: Sequence[str], rule: str | None
) -> list[Answer]:
    """Every page of the queue, narrowed to what one rule held."""
    found: list[Answer] = []
    after: str | None = None
    while True:
        page = _ask(cli, memory, "proposals", states=list(states), after=after, limit=_PAGE)
        found += [one for one in page["items"] if rule in (None, one["rule"])]
        after = page.get("next")
        if after is None:
            return found


def _ask(cli: CliContext, memory: "Memory", operation: str, **fields: Json) -> Answer:
    """A request about everybody's, unless an agent or a user was typed."""
    given = {name: value for name, value in fields.items() if value is not None}
    return memory.call(operation, {**cli.reach(), **given})


def _edit_content(before: Json) -> Json:
    text = click.edit(content_words(before), extension=".txt" if isinstance(before, str) else ".json")
    return before if text is None else _parse_content(text.removesuffix("\n"), before)


def _parse_content(text: str, before: Json) -> Json:
    return text if isinstance(before, str) else json_object(text)


def _render_batch(cli: CliContext, answer: Answer, agents: Mapping[str, str]) -> Iterator[str]:
    yield from _render_decision(answer)
    if answer.get("change_id") and not answer.get("erased"):
        whose = cli.of(agents[answer["proposal_ids"][0]])
        yield f"  undo with: {whose.again('undo', answer['change_id'])}"


def _render_decision(answer: Answer) -> Iterator[str]:
    yield f"{answer['state']} {len(answer['proposal_ids'])}, by {answer['by']}"
    yield from (f"  {id}" for id in answer["proposal_ids"])
    yield from (f"  {one['store']}: {one['error']}" for one in answer["outcomes"] if one.get("error"))
