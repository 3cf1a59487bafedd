"""Compares a fact from a conversation with stored facts: add it, replace an older one, or end one.

The comparison uses the labels of memories. A known fact is not stored again; a newer value of a slot with a
single value supersedes the older one; retracted facts are forgotten.
"""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from memorywire.facts import MARK, Label, label_text, read_label, replaces
from memorywire.model.layer import MARK as LAYER
from memorywire.model.layer import Conversation, Fact
from memorywire.model.layer import Kind as LayerKind
from memorywire.model.query import Compare, Filter, Operator, Or, Where
from memorywire.model.record import Record, Scope
from memorywire.model.requests import Remember
from memorywire.pipeline.context import Context

_PAGE = 500
_MOST_CHARS = 300
_CLEAR_SHARE = 0.5
_LEAST_SHARE = 0.3
_USER = "user"
_OPPOSITES = {"likes": "dislikes", "dislikes": "likes"}


def drop_unsupported(facts: Sequence[Fact], conversation: Conversation) -> tuple[Fact, ...]:
    """Drop the facts of a model that the conversation does not state.

    A model may turn a question, a quotation or a retraction into a fact.
    """
    from memorywire.facts.evidence import Evidence  # only models need it

    evidence = Evidence()
    for turn in conversation.turns:
        evidence.add(turn.content)
    return tuple(fact for fact in facts if fact.retracts or evidence.supports(fact.text))


async def find_place(request: Remember, context: Context) -> Remember | Record:
    """Return the request with the memories that it supersedes, or the memory that already has the fact."""
    text = str(request.content)
    moment = context.clock() if request.occurred_at is None else request.occurred_at
    label = label_text(text, at=moment)
    if label is None:
        return request
    older: list[str] = []
    async for record in _list_facts(request.scope, _select_alike(label), context):
        known = read_label(record)
        if known is None:
            continue
        if record.words == text or _is_same(label, known):
            return record
        if replaces(label, known) and record.moment <= moment and not _is_pinned(record):
            older.append(record.id)
    return replace(request, supersedes=tuple(older))


class Meant(NamedTuple):
    """The ids of retracted facts, and of facts that may be meant but need a decision."""

    ids: tuple[str, ...] = ()
    doubtful_ids: tuple[str, ...] = ()


async def find_meant(scope: Scope, target: str, context: Context) -> Meant:
    """Find the facts that the text `target` retracts.

    A fact with all of the words matches first, then the fact of a slot that the words name, else the one that
    shares most words. A first-person text never retracts a fact about another person. The match is doubtful
    if several facts share as many words, the best shares few, or it is about another person.
    """
    from memorywire.facts.retractions import find_slots, is_about, measure_match

    is_fact = Or(
        (
            Compare(("metadata", MARK, "kind"), Operator.EXISTS, True),
            Compare(("metadata", LAYER, "kind"), Operator.EQ, LayerKind.FACT.value),
        )
    )
    facts = [one async for one in _list_facts(scope, is_fact, context) if _can_be_meant(one)]
    whole = [record for record in facts if is_about(record.words, target)]
    if whole:
        ids = tuple(record.id for record in whole if not _is_of_another(record, target))
        return Meant(ids) if ids else Meant(doubtful_ids=tuple(record.id for record in whole))
    slots = find_slots(target)
    named = tuple(record.id for record in facts if _has_slot(record, slots))
    if named:
        return Meant(named) if len(named) == 1 else Meant(doubtful_ids=named)
    shares = [(measure_match(record.words, target), record) for record in facts]
    best = max((share for share, _ in shares), default=0.0)
    alike = [record for share, record in shares if share == best]
    if best < _LEAST_SHARE:
        return Meant()
    ids = tuple(record.id for record in alike)
    is_clear = best >= _CLEAR_SHARE and len(alike) == 1 and not _is_of_another(alike[0], target)
    return Meant(ids=ids) if is_clear else Meant(doubtful_ids=ids)


def _can_be_meant(record: Record) -> bool:
    """Whether the record is a short fact; turns are never retracted, not even the retracting one."""
    layer = record.metadata.get(LAYER)
    is_turn = isinstance(layer, dict) and layer.get("kind") == LayerKind.TURN.value
    return not is_turn and len(record.words) <= _MOST_CHARS


def _is_of_another(record: Record, target: str) -> bool:
    """Whether the speaker retracts something of their own, but the fact is about another person."""
    own, known = label_text(target, weigh=False), read_label(record)
    return own is not None and own.subject == _USER and known is not None and known.subject != _USER


def _has_slot(record: Record, slots: frozenset[str]) -> bool:
    known = read_label(record)
    return known is not None and known.subject == _USER and known.slot in slots


async def _list_facts(scope: Scope, condition: Filter, context: Context) -> AsyncIterator[Record]:
    """Yield the memories of exactly this scope that match the condition."""
    where = Where(scope=scope, alive_at=context.clock(), filter=condition)
    after: str | None = None
    while True:
        records: Sequence[Record] = await context.store.find(where, after, _PAGE)
        for record in records:
            if record.scope == scope:
                yield record
        if len(records) < _PAGE:
            return
        after = records[-1].id


def _select_alike(label: Label) -> Filter:
    if label.slot is None:
        return Compare(("metadata", MARK, "kind"), Operator.EQ, label.kind.value)
    slots = [label.slot, *([_OPPOSITES[label.slot]] if label.slot in _OPPOSITES else ())]
    return Or(tuple(Compare(("metadata", MARK, "slot"), Operator.EQ, slot) for slot in slots))


def _is_same(label: Label, known: Label) -> bool:
    """Whether two facts fill the same slot of the same subject with the same value."""
    if label.slot is None or label.value is None or known.value is None:
        return False
    fields = (label.kind, label.subject, label.slot, label.negative, label.value.casefold())
    return fields == (known.kind, known.subject, known.slot, known.negative, known.value.casefold())


def _is_pinned(record: Record) -> bool:
    mark = record.metadata.get(MARK)
    return isinstance(mark, dict) and bool(mark.get("pinned"))
