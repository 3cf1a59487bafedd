"""The timeline of one memory: its changes with actor and reason, newest first."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from memorywire.model.record import Json
from memorywire.policy.diff import segments, visible
from memorywire_server.console.render import plain

_ENDS = {
    "forgotten": "forgotten",
    "merged": "merged into another memory",
    "superseded": "replaced by another memory",
    "expired": "expired",
    "erased": "erased",
    "archived": "archived",
}
_OPERATIONS = {
    "merge": "took in another memory",
    "dream": "kept while others were merged into it",
    "undo": "restored",
}
_TONES = {"approved": "good", "rejected": "bad", "refused": "bad", "staged": "warn", "recalled": "still"}
_KEEPS = ("tags", "source", "standing", "confidence", "expires_at", "merged_from")


class Moment(Struct, frozen=True, kw_only=True):
    """An event of a timeline; for a new version, with its number and the words that changed."""

    at: int
    tone: str
    what: str
    actor: str | None = None
    why: str | None = None
    seq: int | None = None
    proposal: str | None = None
    recall: str | None = None
    version: int | None = None
    words: Sequence[tuple[str, str]] | None = None
    fields: tuple[str, ...] = ()
    is_erased: bool = False


def tell_life(
    id: str, chain: Sequence[Mapping[str, Json]], entries: Sequence[Mapping[str, Json]]
) -> list[Moment]:
    """Build the events of the versions, with the ledger's details, and of the other ledger entries."""
    by_change = {one["subject"]: one for one in entries if one["kind"] == "committed" and "subject" in one}
    moments, before = [], None
    for version in chain:
        moments.append(_begin(id, version, before, by_change.get(version.get("began_by"))))
        before = version.get("record")
    last = chain[-1]
    if "ended_at" in last:
        moments.append(_end(id, last, by_change.get(last.get("ended_by"))))
    moments += [_hear(one) for one in entries if one["kind"] != "committed"]
    return sorted(moments, key=lambda one: one.at, reverse=True)


def _begin(
    id: str, version: Mapping[str, Json], before: Mapping[str, Json] | None, entry: Mapping[str, Json] | None
) -> Moment:
    number, record = version["number"], version.get("record")
    shared: dict[str, Any] = {"at": version["began_at"], "version": number, **_say(id, entry)}
    if record is None:
        return Moment(**shared, tone="still", what="written, and erased since", is_erased=True)
    now = visible(plain(record["content"]))
    if before is None:
        return Moment(**shared, tone="good", what="written", words=[("=", now)])
    then = visible(plain(before["content"]))
    changed = [name for name in _KEEPS if record.get(name) != before.get(name)]
    if record.get("metadata") != before.get("metadata"):
        changed.append("label or metadata")
    operation = "" if entry is None else entry["operation"]
    what = _OPERATIONS.get(str(operation), "changed" if now != then else "updated")
    words = None if now == then else segments(then, now)
    names = tuple(name.replace("_", " ") for name in changed)
    return Moment(**shared, tone="good", what=what, words=words, fields=names)


def _end(id: str, version: Mapping[str, Json], entry: Mapping[str, Json] | None) -> Moment:
    reason = str(version.get("reason", "ended"))
    return Moment(at=version["ended_at"], tone="bad", what=_ENDS.get(reason, reason), **_say(id, entry))


def _say(id: str, entry: Mapping[str, Json] | None) -> dict[str, Any]:
    """Return the actor and the reason that the ledger records."""
    if entry is None:
        return {}
    details = entry.get("details", {})
    steps = (one["why"] for one in details.get("steps", ()) if id in one["ids"] or id == one.get("kept"))
    rule = details.get("rule")
    why = next(steps, None) or (None if rule in (None, "default") else f"allowed by the rule {rule}")
    return {"actor": entry["actor"], "why": why, "seq": entry["seq"]}


def _hear(entry: Mapping[str, Json]) -> Moment:
    kind, operation, details = entry["kind"], entry["operation"], entry.get("details", {})
    shared: dict[str, Any] = {
        "at": entry["at"],
        "actor": entry["actor"],
        "seq": entry["seq"],
        "tone": _TONES.get(kind, "still"),
    }
    if kind == "recalled":
        what = {"match": "recalled", "weak": "recalled, as a weak match"}.get(
            details.get("verdict"), "recalled"
        )
        return Moment(**shared, what=what, recall=entry["subject"])
    if operation == "feedback":
        return Moment(**shared, what=f"marked as {kind}", why=details.get("reason"))
    rule, subject = details.get("rule"), entry.get("subject")
    what = f"a {operation} of it was {'held' if kind == 'staged' else kind}"
    return Moment(**shared, what=what, why=None if rule is None else f"rule {rule}", proposal=subject)
