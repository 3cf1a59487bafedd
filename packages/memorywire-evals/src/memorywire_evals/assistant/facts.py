"""Measures questions about a user's facts: exact words, identifiers, newest state, paraphrase, no match."""

from collections.abc import Sequence

from msgspec import Struct

from memorywire.client.memory import Memory
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.model.requests import MinRelevance
from memorywire_evals.assistant.data import Query, Store

_BEGIN_MS = 1_780_000_000_000


class Answer(Struct, frozen=True, kw_only=True):
    """A question and the returned ids, best first, with the floor and without it."""

    store: Store
    question: Query
    ids: tuple[str, ...]
    all_ids: tuple[str, ...] = ()


def score(answers: Sequence[Answer]) -> dict[str, float]:
    """Return the figures of the set."""
    groups = {name: [one for one in answers if one.store.group == name] for name in _GROUPS}
    own = [one for one in groups["paraphrase"] if one.question.gold is not None]
    foreign = [one for one in groups["paraphrase"] if one.question.gold is None]
    figures = {f"{name} first": _share([_is_first(one) for one in groups[name]]) for name in _GROUPS[:3]}
    return {
        **figures,
        "updated, newest above older": _share([_is_above_older(one) for one in groups["updated"]]),
        "wrongly left empty": _share([not one.ids for one in own]),
        "no match left empty": _share([not one.ids for one in foreign]),
        "paraphrase first": _share([_is_first(one) for one in own]),
        "paraphrase among the hits": _share([one.question.gold in one.ids for one in own]),
        "paraphrase among the first five without a floor": _share(
            [one.question.gold in one.all_ids[:5] for one in own]
        ),
        "exact first without a floor": _share([_leads(one) for one in groups["exact"]]),
        "lookup first without a floor": _share([_leads(one) for one in groups["lookup"]]),
        "updated first without a floor": _share([_leads(one) for one in groups["updated"]]),
        "questions": len(answers),
    }


_GROUPS = ("exact", "lookup", "updated", "paraphrase")


def rows(answers: Sequence[Answer]) -> list[dict[str, Json]]:
    """Return each question with its hits, and whether they are right."""
    return [
        {
            "group": one.store.group,
            "store": one.store.id,
            "question": one.question.text,
            "gold": one.question.gold,
            "hits": list(one.ids[:5]),
            "right": _is_right(one),
        }
        for one in answers
    ]


def _is_right(answer: Answer) -> bool:
    if answer.question.gold is None:
        return not answer.ids
    return bool(answer.ids) if answer.store.group == "paraphrase" else _is_first(answer)


def _is_first(answer: Answer) -> bool:
    return answer.ids[:1] == (answer.question.gold,)


def _leads(answer: Answer) -> bool:
    return answer.all_ids[:1] == (answer.question.gold,)


def _is_above_older(answer: Answer) -> bool:
    """Return whether the newer memory is a hit, and not ranked below the older one."""
    gold, older = answer.question.gold, answer.question.older
    if gold not in answer.ids:
        return False
    return older not in answer.ids or answer.ids.index(gold) < answer.ids.index(older)


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 0.0


async def store_notes(store: Store, memory: Memory) -> None:
    """Remember the memories one by one, a day apart."""
    for place, note in enumerate(store.memories):
        id = f"{store.id}:{note.id}"
        receipt = await memory.remember(note.text, id=id, occurred_at=_BEGIN_MS + place * DAY_MS)
        if receipt.id != id:
            raise InvalidRequest(f"{id} was not stored: it repeats {receipt.id}", field="part")


def moment_after(store: Store) -> int:
    """Return the time a day after the newest memory."""
    return _BEGIN_MS + len(store.memories) * DAY_MS


async def ask_all(store: Store, memory: Memory) -> list[Answer]:
    return [
        Answer(
            store=store,
            question=question,
            ids=await _recall(memory, question.text, "auto"),
            all_ids=await _recall(memory, question.text, "off"),
        )
        for question in store.questions
    ]


async def _recall(memory: Memory, text: str, floor: MinRelevance) -> tuple[str, ...]:
    answer = await memory.recall(text, min_relevance=floor)
    return tuple(hit.id.rpartition(":")[2] for hit in answer)
