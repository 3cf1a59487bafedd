"""FactConsolidation: numbered facts; later facts contradict earlier ones."""

from collections.abc import Iterator
from pathlib import Path

from memorywire.model.clock import DAY_MS
from memorywire.model.record import Json
from memorywire_evals.cases import Case, Dataset, Item, Question
from memorywire_evals.datasets.files import digest, find, part, read_json

# The facts have serial numbers but no dates: use one per minute, from an arbitrary date.
BEGAN = 1_704_067_200_000
MINUTE_MS = 60_000

_HOPS = {"sh": "single-hop", "mh": "multi-hop"}


def read(data: Path, *, split: str, roles: str) -> Dataset:
    file = find(data, "factconsolidation*.json.xz", "factconsolidation*.json")
    document = read_json(file)
    taken, ids = part(file, "factconsolidation", split, list(document["corpora"]))
    return Dataset(
        name="factconsolidation",
        split=taken,
        digest=digest(file),
        case_ids=ids,
        build=lambda id: _case(id, document),
    )


def _case(corpus: str, document: Json) -> Case:
    facts = document["corpora"][corpus]
    items = tuple(
        Item(
            ref=str(serial),
            content=fact,
            type="semantic",
            occurred_at=BEGAN + serial * MINUTE_MS,
        )
        for serial, fact in enumerate(facts)
    )
    asked_at = BEGAN + len(facts) * MINUTE_MS + DAY_MS
    return Case(id=corpus, items=items, questions=tuple(_questions(corpus, document["sets"], asked_at)))


def _questions(corpus: str, sets: Json, asked_at: int) -> Iterator[Question]:
    for one in sets:
        if one["corpus"] == corpus:
            hops = next(name for mark, name in _HOPS.items() if f"_{mark}_" in one["name"])
            for position, (text, answers) in enumerate(zip(one["questions"], one["answers"], strict=True)):
                yield Question(
                    id=f"{one['name']}#{position}",
                    text=text,
                    category=f"{hops} {corpus}",
                    answers=tuple(answers),
                    answer=" or ".join(answers),
                    asked_at=asked_at,
                )
