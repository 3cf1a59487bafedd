"""Held changes as a person reads them: the queue, and one proposal word by word."""

from collections.abc import Iterator, Mapping, Sequence

from memorywire.cli.context import Answer
from memorywire.cli.recall import content_words
from memorywire.cli.terminal import entries, moment, safe, styled, terminal_width
from memorywire.model.counting import counted
from memorywire.model.record import Json

_SPANS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"))
_MARKS = {"=": ("", "", None), "-": ("[-", "-]", "red"), "+": ("{+", "+}", "green")}


def queue(answer: Answer, show: str | None) -> Iterator[str]:
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


def page_of(answer: Answer, approve: str) -> Iterator[str]:
    """Everything needed to decide one proposal."""
    proposal = answer["proposal"]
    yield f"proposal {proposal['id']}: {proposal['state']}, {age(answer['age_ms'])} old"
    whose = f"agent {proposal['agent_id']}"
    whose += f", user {proposal['user_id']}" if "user_id" in proposal else ""
    yield f"  {proposal['operation']} by {safe(proposal['caller'])} for {safe(whose)}"
    yield f"  held by rule {safe(proposal['rule'])}: {safe(proposal['why'])}"
    yield from _findings("secrets taken out", proposal["secrets"])
    yield from _findings("speaks to the model", proposal["instructions"])
    yield from _decision(proposal.get("decision"))
    yield from _difference(answer["diff"])
    if answer["similar"]:
        yield "similar memories:"
        yield from (f"  {one['id']}  {safe(content_words(one['content']))}" for one in answer["similar"])
    if proposal["state"] == "pending":
        yield f"approve with: {approve}"


def age(span_ms: int) -> str:
    """A span in its largest unit."""
    return next((f"{span_ms // unit}{name}" for unit, name in _SPANS if span_ms >= unit), "0s")


def _findings(label: str, found: Sequence[Mapping[str, str]]) -> Iterator[str]:
    if found:
        named = ", ".join(f"{one['kind']} in {one['place']}" for one in found)
        yield f"  {label}: {safe(named)}"


def _decision(decision: Mapping[str, Json] | None) -> Iterator[str]:
    if decision is not None:
        why = f": {safe(decision['reason'])}" if "reason" in decision else ""
        yield f"  decided by {safe(decision['by'])} at {moment(decision['at'])}{why}"


def _difference(diff: Mapping[str, Json]) -> Iterator[str]:
    """The difference as lines; a sign before each says what it means, with or without colours."""
    for one in diff["added"]:
        yield styled(f"+ {one['id']} (new)", colour="green")
        yield from _fields("+", one["fields"])
    for one in diff["removed"]:
        into = f" into {one['into']}" if "into" in one else ""
        yield styled(f"- {one['id']} ({one['reason']}{into})", colour="red")
        yield from _fields("-", one["fields"])
    for one in diff["modified"]:
        yield f"~ {one['id']} ({_step(one['from_version'], one['version'])})"
        yield from _fields("-", one["removed"])
        yield from _fields("+", one["added"])
        yield from (f"  ~ {safe(change['field'])}: {_words(change)}" for change in one["modified"])


def _step(current: int, planned: int) -> str:
    """From which version to which; a plan that memory has overtaken leads nowhere."""
    if planned > current:
        return f"version {current} to {planned}"
    return f"version {planned} was planned, and memory is at version {current} already"


def _fields(sign: str, fields: Mapping[str, Json]) -> Iterator[str]:
    colour = {"+": "green", "-": "red"}[sign]
    for path, value in fields.items():
        yield styled(f"  {sign} {safe(path)}: {_value(value)}", colour=colour)


def _words(change: Mapping[str, Json]) -> str:
    segments = change.get("segments") or [["-", _value(change["before"])], ["+", _value(change["after"])]]
    return "".join(_segment(mark, _value(text)) for mark, text in segments)


def _segment(mark: str, text: str) -> str:
    opening, closing, colour = _MARKS[mark]
    marked = f"{opening}{text}{closing}"
    return marked if colour is None else styled(marked, colour=colour)


def _value(value: Json) -> str:
    """In one line, the spaces kept: they may be what changed."""
    text = content_words(value) if isinstance(value, str | dict | list) else str(value)
    return "".join(c if c.isprintable() else "⏎" if c == "\n" else " " for c in text)
