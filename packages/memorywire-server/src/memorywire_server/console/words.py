"""Sentences about ledger entries: actor, verb and objects."""

from collections.abc import Mapping

from memorywire.model.record import Json
from memorywire.model.text import counted

_PAST = {
    ("remember", "committed"): "wrote",
    ("forget", "committed"): "forgot",
    ("merge", "committed"): "merged",
    ("expire", "committed"): "let expire",
    ("undo", "committed"): "took back a change of",
    ("dream", "committed"): "consolidated",
    ("share", "committed"): "lent by a grant",
    ("unshare", "committed"): "revoked a grant",
    ("recall", "recalled"): "recalled",
}
_DECIDED = {
    "staged": "asked to {}",
    "approved": "approved: {}",
    "rejected": "rejected: {}",
    "refused": "was refused: {}",
    "expired": "let lapse: {}",
    "reopened": "reopened: {}",
}


def describe_entry(entry: Mapping[str, Json]) -> str:
    """Return the verb and the objects of an entry, for a sentence that begins with its actor."""
    operation, kind, details = entry["operation"], entry["kind"], entry.get("details", {})
    if operation == "rules":
        return f"put edition {details.get('edition', '')} of the rules in force"
    if operation in ("operator", "feedback"):
        return f"{operation}: {kind}"
    verb = _PAST.get((operation, kind)) or _DECIDED.get(kind, f"{kind}: {{}}").format(operation)
    if operation in ("share", "unshare") and kind == "committed":
        to = f" to {details['borrower']}" if "borrower" in details else ""
        return f"{verb}{to}"
    number = _count_memories(entry)
    return f"{verb} {counted(number, 'memory', 'memories')}" if number else str(verb)


def _count_memories(entry: Mapping[str, Json]) -> int:
    details = entry.get("details", {})
    lists = (details.get("hits"), details.get("memories"), details.get("erased"))
    named = next((len(ids) for ids in lists if isinstance(ids, list)), None)
    if named is not None:
        return named
    begun = {one["id"] for one in entry.get("commitments", ())}
    return len(begun | {ended[0] for ended in details.get("ended", ())})
