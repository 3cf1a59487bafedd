"""PrefEval: people state preferences; later each makes a request for which one of them matters.

The memory has up to 20 preferences of one person on mixed topics, and nothing else.
"""

from collections.abc import Sequence
from pathlib import Path

from memorywire.model.clock import DAY_MS
from memorywire.model.record import Json
from memorywire_evals.cases import STEP_MS, Case, Dataset, Item, Question
from memorywire_evals.datasets.files import digest, find, read_json

PREFERENCES = 20
_BEGAN = 1_735_689_600_000
"""1 January 2025, because the published set has no dates."""


def read(data: Path, *, split: str, roles: str) -> Dataset:
    file = find(data, "prefeval*.json.xz", "prefeval*.json")
    parts: dict[str, list[Json]] = read_json(file)
    chosen = [pair for name, pairs in parts.items() if split in (name, "all") for pair in pairs]
    count = -(-len(chosen) // PREFERENCES)
    people = {f"{split}-{number + 1}": chosen[number::count] for number in range(count)}
    return Dataset(
        name="prefeval",
        split=split,
        digest=digest(file),
        case_ids=tuple(people),
        build=lambda id: _case(id, people[id]),
    )


def _case(id: str, pairs: Sequence[Json]) -> Case:
    items = tuple(
        Item(
            ref=pair["id"],
            content=pair["preference"].strip(),
            type="semantic",
            occurred_at=_BEGAN + position * STEP_MS,
        )
        for position, pair in enumerate(pairs)
    )
    questions = tuple(
        Question(
            id=pair["id"],
            text=pair["question"],
            category=pair["topic"],
            gold=(pair["id"],),
            asked_at=_BEGAN + DAY_MS,
        )
        for pair in pairs
    )
    return Case(id=id, items=items, questions=questions)
