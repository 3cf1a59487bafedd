"""Reads and writes the label in the metadata of a record."""

from collections.abc import Mapping

from msgspec import ValidationError, convert, to_builtins
from msgspec.structs import replace

from memorywire.facts.kinds import label_text
from memorywire.facts.words import DIETS, SINGLE
from memorywire.model.kv import MARK as KEYED
from memorywire.model.kv import is_mark
from memorywire.model.label import MARK, Kind, Label
from memorywire.model.layer import MARK as LAYER
from memorywire.model.layer import Kind as LayerKind
from memorywire.model.record import Json, MemoryType, Record

PINNED = "pinned"

_KEPT = (PINNED,)
"""Entries under the mark that labelling preserves."""


def read_label(record: Record) -> Label | None:
    """Return the label of a record; None without one, or if other metadata has that name."""
    mark = record.metadata.get(MARK) if record.metadata else None
    if not isinstance(mark, Mapping) or "kind" not in mark:
        return None
    try:
        return convert(mark, Label)
    except ValidationError:
        return None


def label_record(record: Record, kind: Kind | None, slot: str | None) -> Record:
    """Return the record with a label: of the given kind and slot, else as read from its text.

    A label that a caller gave earlier stays, and so does other metadata with the same name. A label that was
    read from an earlier text is replaced.
    """
    mark = record.metadata.get(MARK) if record.metadata else None
    if kind is None and (not isinstance(record.content, str) or not _is_readable(record, mark)):
        return record
    label = label_text(record.content, at=record.moment) if isinstance(record.content, str) else None
    if kind is not None:
        label = _choose(label, kind, slot)
    if label is None and mark is None:
        return record
    own = {name: mark[name] for name in _KEPT if name in mark} if isinstance(mark, Mapping) else {}
    own = own if label is None else {**to_builtins(label), **own}
    metadata = {name: value for name, value in record.metadata.items() if name != MARK}
    return replace(record, metadata={**metadata, MARK: own} if own else metadata)


def replaces(new: Label, old: Label) -> bool:
    """Whether a newer fact replaces an older one: another value of a single-valued slot, or its negation.

    A diet is only replaced by another one of the same family, or by its negation.
    """
    if new.subject != old.subject or new.slot is None or new.value is None or old.value is None:
        return False
    if new.slot != old.slot and {new.slot, old.slot} != {"likes", "dislikes"}:
        return False
    is_same = new.value.casefold() == old.value.casefold()
    if is_same or new.negative != old.negative:
        return is_same and new.negative != old.negative
    if new.slot == "diet":
        return new.value in DIETS and old.value in DIETS
    return new.slot in SINGLE and not new.negative


def is_pinned(record: Record) -> bool:
    """Whether the memory is pinned: every context block contains it."""
    mark = record.metadata.get(MARK) if record.metadata else None
    return isinstance(mark, Mapping) and mark.get(PINNED) is True


def pin_record(record: Record, *, pinned: bool) -> Record:
    """Set or remove the pin of a record; other metadata with the same name stays."""
    mark = record.metadata.get(MARK, {})
    if not isinstance(mark, Mapping):
        return record
    own = {name: value for name, value in mark.items() if name != PINNED}
    own = {**own, PINNED: True} if pinned else own
    metadata = {name: value for name, value in record.metadata.items() if name != MARK}
    return replace(record, metadata={**metadata, MARK: own} if own else metadata)


def _is_readable(record: Record, mark: Json) -> bool:
    """Whether to label by text: not a mood, a turn, a key-value entry or a memory with a given label."""
    if record.type is MemoryType.EMOTIONAL:
        return False
    metadata = record.metadata
    if not metadata:
        return True
    if mark is not None and (not isinstance(mark, Mapping) or mark.get("given") or not _is_ours(mark)):
        return False
    layer = metadata.get(LAYER)
    if isinstance(layer, Mapping) and layer.get("kind") == LayerKind.FACT.value:
        return True
    return record.speaker is None and not isinstance(layer, Mapping) and not is_mark(metadata.get(KEYED))


def _is_ours(mark: Mapping[str, Json]) -> bool:
    return set(mark) <= {*Label.__struct_fields__, *_KEPT}


def _choose(label: Label | None, kind: Kind, slot: str | None) -> Label:
    """Return a label with the given kind and slot, and the other fields as read from the text."""
    if label is None:
        return Label(kind=kind, slot=slot, given=True)
    same = slot in (None, label.slot) and kind is label.kind
    return replace(
        label,
        kind=kind,
        slot=label.slot if same else slot,
        value=label.value if same else None,
        given=True,
    )
