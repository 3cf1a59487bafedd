"""The label of a memory: the kind of the fact, its subject, and its slot."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from memorywire.model.record import Json

MARK = "fact"
"""The metadata key of the label."""

SLOT_CHARS_MAX = 64


class Kind(StrEnum):
    """The kind of a fact."""

    CONSTRAINT = "constraint"
    PREFERENCE = "preference"
    IDENTITY = "identity"
    RELATION = "relation"
    POSSESSION = "possession"
    PLAN = "plan"
    EVENT = "event"
    PROCEDURE = "procedure"
    DECISION = "decision"
    CONFIGURATION = "configuration"


class Label(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The label that was read from a memory's text, or that a caller gave (`given`).

    `subject` is `user` for the person the memory is about, a name for others, None for general facts. A newer
    memory replaces an older one with the same subject and slot if the slot has one value at a time.
    """

    kind: Kind
    subject: str | None = None
    slot: str | None = None
    value: str | None = None
    negative: bool = False
    valid_until: int | None = None
    given: bool = False


MANY_VALUED = frozenset({"allergy", "likes", "dislikes", "pet", "child", "friend", "hobby", "possession"})
"""Slots that hold several values at a time: a newer value does not replace the older ones."""


def read_state(metadata: Mapping[str, Json]) -> tuple[str, str] | None:
    """Return the subject and the single-valued slot that a memory fills; None for other memories."""
    mark = metadata.get(MARK) if metadata else None
    if not isinstance(mark, Mapping) or mark.get("kind") is None:
        return None
    return build_state(mark.get("subject"), mark.get("slot"), mark.get("given"))


def build_state(subject: Json, slot: Json, given: Json) -> tuple[str, str] | None:
    """Return the state, a subject and a slot, if the slot holds one value at a time; else None.

    Without a subject, only a slot that a caller gave is a state: the ports of two hosts are two states.
    """
    if not isinstance(slot, str) or slot in MANY_VALUED:
        return None
    if isinstance(subject, str):
        return subject, slot
    return ("", slot) if given is True else None


_READ = frozenset(Label.__struct_fields__) - {"given"}


def strip_label(metadata: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the metadata without a label that was read from the text, which can be derived again."""
    mark = metadata.get(MARK)
    if not isinstance(mark, Mapping) or "kind" not in mark or not _READ.issuperset(mark):
        return metadata
    return {name: value for name, value in metadata.items() if name != MARK}
