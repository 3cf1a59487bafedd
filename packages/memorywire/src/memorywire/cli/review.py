"""`memorywire review`: decide on proposals, the changes that a rule holds for a person."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.forget import ask_erase_word
from memorywire.cli.ids import resolve_memory_id, resolve_proposal_id
from memorywire.cli.inputs import option, parse_json_object, read_text
from memorywire.cli.ledger_file import other_tenants, tenants_note
from memorywire.cli.problems import REFUSED
from memorywire.cli.recall import format_content
from memorywire.cli.terminal import clean, format_entries, format_time, style
from memorywire.model.errors import InvalidRequest
from memorywire.model.proposal import WAITING, State
from memorywire.model.record import Json
from memorywire.model.text import counted

_SPANS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"))
_MARKS = {"=": ("", "", None), "-": ("[-", "-]", "red"), "+": ("{+", "+}", "green")}


def render_queue(answer: Answer, show: str | None) -> Iterator[str]:
    """Yield the proposals, a line each; `show` is the command that shows one."""
    if not answer["items"]:
        yield "nothing is waiting"
        return
    rows = [
        [
            *(
                one["state"],
                one["operation"],
                one["id"],
                format_time(one["at"]),
                one["agent_id"],
                one["rule"],
            ),
            format_quorum(one) + (one.get("preview") or counted(len(one["memories"]), "memory")),
        ]
        for one in answer["items"]
    ]
    headers = ["STATE", "OPERATION", "PROPOSAL", "SINCE", "AGENT", "RULE", "CONTENT"]
    yield from format_entries(headers, rows, lead=2)
    if show is not None:
        yield f"show one with: {show}"


def render_proposal(answer: Answer, approve: str) -> Iterator[str]:
    """Yield everything that is needed to decide on a proposal."""
    proposal = answer["proposal"]
    yield f"proposal {proposal['id']}: {proposal['state']}, {format_age(answer['age_ms'])} old"
    whose = f"agent {proposal['agent_id']}"
    whose += f", user {proposal['user_id']}" if "user_id" in proposal else ""
    yield f"  {proposal['operation']} by {clean(proposal['caller'])} for {clean(whose)}"
    yield f"  held by rule {clean(proposal['rule'])}: {clean(proposal['why'])}"
    for one in proposal.get("approvals", ()):
        why = f": {clean(one['reason'])}" if "reason" in one else ""
        yield f"  approved by {clean(one['by'])} at {format_time(one['at'])}{why}"
    if "reviewers" in proposal and proposal["state"] == "pending":
        yield f"  {format_quorum(proposal)}people have approved it"
    if "reasoning" in proposal:
        yield f"  reasoning: {clean(proposal['reasoning'])}"
    if proposal["operation"] == "recall" and "preview" in proposal:
        yield f"  query: {clean(proposal['preview'])}"
    labels = {"secrets": "secrets removed", "instructions": "instructions to the model"}
    for name, label in labels.items():
        if proposal[name]:
            places = ", ".join(f"{one['kind']} in {one['place']}" for one in proposal[name])
            yield f"  {label}: {clean(places)}"
    if "decision" in proposal:
        decision = proposal["decision"]
        why = f": {clean(decision['reason'])}" if "reason" in decision else ""
        yield f"  decided by {clean(decision['by'])} at {format_time(decision['at'])}{why}"
    yield from _diff_lines(answer["diff"])
    if answer["similar"]:
        yield "similar memories:"
        yield from (f"  {one['id']}  {clean(format_content(one['content']))}" for one in answer["similar"])
    if proposal["state"] == "pending":
        yield f"approve with: {approve}"


def format_quorum(proposal: Answer) -> str:
    """Return how many of the reviewers have approved, and a space; nothing if one is enough."""
    needed = proposal.get("reviewers", 1)
    return f"{len(proposal['approvals'])} of {needed} " if needed > 1 else ""


def format_age(span_ms: int) -> str:
    """Return a span in its largest unit."""
    return next((f"{span_ms // unit}{name}" for unit, name in _SPANS if span_ms >= unit), "0s")


def _diff_lines(diff: Mapping[str, Json]) -> Iterator[str]:
    """Yield the difference, a sign before each line, with or without colours."""
    for one in diff["added"]:
        yield style(f"+ {one['id']} (new)", colour="green")
        yield from _field_lines("+", one["fields"])
    for one in diff["removed"]:
        into = f" into {one['into']}" if "into" in one else ""
        yield style(f"- {one['id']} ({one['reason']}{into})", colour="red")
        yield from _field_lines("-", one["fields"])
    for one in diff["modified"]:
        current, target = one["from_version"], one["version"]
        versions = f"version {current} to {target}"
        if target <= current:  # memory has moved on since the proposal
            versions = f"planned as version {target}, but the memory is at version {current} already"
        yield f"~ {one['id']} ({versions})"
        yield from _field_lines("-", one["removed"])
        yield from _field_lines("+", one["added"])
        yield from (f"  ~ {clean(change['field'])}: {_format_change(change)}" for change in one["modified"])


def _field_lines(sign: str, fields: Mapping[str, Json]) -> Iterator[str]:
    colour = {"+": "green", "-": "red"}[sign]
    for path, value in fields.items():
        yield style(f"  {sign} {clean(path)}: {_format_value(value)}", colour=colour)


def _format_change(change: Mapping[str, Json]) -> str:
    whole: list[list[Json]] = [["-", change.get("before")], ["+", change.get("after")]]
    text = ""
    for mark, part in change.get("segments") or whole:
        opening, closing, colour = _MARKS[mark]
        segment = f"{opening}{_format_value(part)}{closing}"
        text += segment if colour is None else style(segment, colour=colour)
    return text


def _format_value(value: Json) -> str:
    """Return the value in one line with its spaces, because they may have changed."""
    text = format_content(value) if isinstance(value, str | dict | list) else str(value)
    return "".join(c if c.isprintable() else "⏎" if c == "\n" else " " for c in text)


_STATES = click.Choice([state.value for state in State])
_PAGE = 1000
_SAMPLE = 5

_ids = click.argument("ids", nargs=-1, metavar="[PROPOSAL]...")
_id = click.argument("id_", metavar="PROPOSAL")
_reason = option("--reason TEXT", "The reason, which the decision records.")
_seen = option("--seen DIGEST", "What was looked at, as `show` printed it; else nothing is decided.")
_all = option("--all", "Everything that waits, or with --rule matches.", name="everything")
_rule = option("--rule NAME", "With --all: only proposals of this rule.")
_yes = option("--yes", "Do not ask before applying --all.")
_confirm_word = option("--confirm WORD", "The word `erase`, to approve an erase.")


@click.group("review")
def review_command() -> None:
    """Decide on changes that wait for a person (proposals).

    Of all agents and users, unless --agent or --user selects one. The beginning of a PROPOSAL id is enough.
    """


@review_command.command("list")
@option("--state", "Only these states; default: waiting.", name="states", type=_STATES, multiple=True)
@option("--rule NAME", "Only proposals of this rule.")
@shared
def list_(cli: CliContext, states: tuple[str, ...], rule: str | None) -> None:
    """List waiting proposals, oldest first."""
    cli.readable_memory()
    proposals = _list_proposals(cli, states or sorted(WAITING), rule)
    cli.show({"items": proposals, "total": len(proposals)}, lambda answer: _render_list(cli, answer))


def _render_list(cli: CliContext, answer: Answer) -> Iterator[str]:
    yield from render_queue(answer, cli.suggest("review", "show", "PROPOSAL"))
    if cli.tenant_option is None and cli.server is None:
        yield from tenants_note(other_tenants(cli))
    elif cli.tenant_option is None:
        yield "  of one tenant; name another one with --tenant"


@review_command.command("show")
@_id
@shared
def show(cli: CliContext, id_: str) -> None:
    """Show a proposal, word by word, with similar memories."""
    cli.readable_memory()
    id_ = resolve_proposal_id(cli, id_)
    answer = _ask(cli, "proposal", proposal_id=id_)
    approve = cli.suggest("review", "approve", id_, "--seen", answer["seen"])
    cli.show(answer, lambda answer: render_proposal(answer, approve))


@review_command.command("approve")
@_ids
@option("--forget MEMORY", "Also forget this similar memory.", name="target")
@_seen
@_reason
@_all
@_rule
@_yes
@_confirm_word
@shared
def approve(cli: CliContext, ids: tuple[str, ...], target: str | None, **options: Json) -> None:
    """Approve proposals: all of them, or none."""
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
    """Reject proposals: all of them, or none."""
    _decide(cli, "reject", ids, **options)


@review_command.command("reopen")
@click.argument("ids", nargs=-1, required=True, metavar="PROPOSAL...")
@_reason
@shared
def reopen(cli: CliContext, ids: tuple[str, ...], reason: str | None) -> None:
    """Take decisions back, with their changes: the proposals wait again."""
    _decide_and_show(cli, ids, verb="reopen", reason=reason)


@review_command.command("edit")
@_id
@click.argument("content", required=False)
@_reason
@shared
def edit(cli: CliContext, id_: str, content: str | None, reason: str | None) -> None:
    """Approve a proposal with other content.

    CONTENT, `-` for standard input, or else $EDITOR opens.
    """
    id_ = resolve_proposal_id(cli, id_)
    proposal = _ask(cli, "proposal", proposal_id=id_)
    if "request" not in proposal:
        raise InvalidRequest("this proposal has no content to edit", field="verb", fix="approve or reject it")
    before = proposal["request"]["content"]
    is_text = isinstance(before, str)
    if content is None:
        text = click.edit(format_content(before), extension=".txt" if is_text else ".json")
        text = None if text is None else text.removesuffix("\n")
    else:
        text = read_text(content, field="content")
    after = before if text is None else text if is_text else parse_json_object(text)
    if after == before:
        click.echo("the content is unchanged: nothing was decided", err=True)
        raise click.exceptions.Exit(REFUSED)
    fields = {"edit": {"content": after}, "seen": proposal["seen"], "reason": reason}
    _decide_and_show(cli, [id_], verb="edit", **fields)


@review_command.command("merge")
@_id
@click.argument("memory_id", metavar="MEMORY")
@_seen
@_reason
@shared
def merge(cli: CliContext, id_: str, memory_id: str, **fields: Json) -> None:
    """Approve a proposal by merging it into MEMORY."""
    _decide_and_show(cli, [id_], verb="merge", target=resolve_memory_id(cli, memory_id), **fields)


@review_command.command("supersede")
@_id
@click.argument("memory_id", metavar="MEMORY")
@_seen
@_reason
@shared
def supersede(cli: CliContext, id_: str, memory_id: str, **fields: Json) -> None:
    """Approve a proposal that replaces MEMORY."""
    _decide_and_show(cli, [id_], verb="supersede", target=resolve_memory_id(cli, memory_id), **fields)


def _decide_and_show(cli: CliContext, ids: Sequence[str], **fields: Json) -> None:
    ids = [resolve_proposal_id(cli, id) for id in ids]
    answer = _carry_out(cli, proposal_ids=ids, **fields)
    if answer.get("change_id") and not cli.as_json:  # so that the suggested undo names the agent
        cli = cli.for_agent(_ask(cli, "proposal", proposal_id=ids[0])["proposal"]["agent_id"])
    cli.show(answer, _render_decision)


def _carry_out(cli: CliContext, **fields: Json) -> Answer:
    """Decide; an erase asks the person at the terminal for the word `erase`, unless it was given."""
    try:
        return _ask(cli, "decide", **fields)
    except InvalidRequest as problem:
        if problem.field != "confirm" or fields.get("confirm") is not None or not sys.stdin.isatty():
            raise
        click.echo(problem.detail, err=True)
    return _ask(cli, "decide", **{**fields, "confirm": ask_erase_word()})


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
    """Decide on these, or after confirmation on all: one atomic batch per agent, recalls separately."""
    if bool(ids) is everything or (rule is not None and not everything):
        raise click.UsageError("name PROPOSALs, or give --all, optionally with --rule")
    if not everything:
        _decide_and_show(cli, ids, verb=verb, **fields)
        return
    states = sorted(WAITING) if verb == "reject" else [State.PENDING.value]
    items = _list_proposals(cli, states, rule)
    if not items:
        click.echo("no such proposal is waiting", err=True)
        raise click.exceptions.Exit(REFUSED)
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("without a terminal, --all needs --yes")
        for line in render_queue({"items": items[:_SAMPLE]}, None):
            click.echo(line, err=True)
        if len(items) > _SAMPLE:
            click.echo(f"  and {len(items) - _SAMPLE} more", err=True)
        click.confirm(f"{verb} {counted(len(items), 'proposal')}?", abort=True, err=True)
    decisions = [_carry_out(cli, proposal_ids=batch, verb=verb, **fields) for batch in _batches(items)]
    agents = {one["id"]: one["agent_id"] for one in items}
    lines: list[str] = []
    for answer in decisions:
        lines += _render_decision(answer)
        if answer.get("change_id") and not answer.get("erased"):
            agent_cli = cli.for_agent(agents[answer["proposal_ids"][0]])
            lines.append(f"  undo with: {agent_cli.suggest('undo', answer['change_id'])}")
    cli.show({"decisions": decisions}, lines)


def _batches(items: Sequence[Answer]) -> Iterator[list[str]]:
    """Yield ids that can be decided together: of one agent, and either recalls or changes."""

    def kind(one: Answer) -> tuple[str, bool]:
        return one["agent_id"], one["operation"] == "recall"

    for _, group in groupby(sorted(items, key=kind), key=kind):
        ids = [one["id"] for one in group]
        yield from (ids[start : start + _PAGE] for start in range(0, len(ids), _PAGE))


def _list_proposals(cli: CliContext, states: Sequence[str], rule: str | None) -> list[Answer]:
    """Return all proposals in these states, or those of one rule."""
    items: list[Answer] = []
    after: str | None = None
    while True:
        page = _ask(cli, "proposals", states=list(states), after=after, limit=_PAGE)
        items += [one for one in page["items"] if rule in (None, one["rule"])]
        after = page.get("next")
        if after is None:
            return items


def _ask(cli: CliContext, operation: str, **fields: Json) -> Answer:
    """Send a request about all agents and users, unless one was typed."""
    request = {name: value for name, value in fields.items() if value is not None}
    return cli.memory().call(operation, {**cli.typed_scope(), **request})


def _render_decision(answer: Answer) -> Iterator[str]:
    yield f"{answer['state']} {len(answer['proposal_ids'])}, by {answer['by']}"
    waiting = {one["proposal_id"]: one for one in answer.get("waiting", ())}
    for id in answer["proposal_ids"]:
        one = waiting.get(id)
        state = "" if one is None else f"  waits: {one['approvals']} of {one['reviewers']} approved"
        yield f"  {id}{state}"
    yield from (f"  {one['store']}: {one['error']}" for one in answer["outcomes"] if one.get("error"))
