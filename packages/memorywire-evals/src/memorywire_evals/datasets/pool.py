"""LongMemEval's haystacks as one: every session of every question in a single memory.

The people of those haystacks contradict each other and a question may fit several: this measures how well
recall stands many memories, not how well one person is known. A session that haystacks share is held once, on
the date it has in the first. What one haystack cannot answer another might, and is not asked.
"""

from pathlib import Path

from msgspec.structs import replace

from memorywire_evals.cases import Case, Dataset, Item, Question
from memorywire_evals.datasets import longmemeval

NAME = "pool"


def read(data: Path, *, split: str, roles: str) -> Dataset:
    haystacks = longmemeval.read(data, split=split, roles=roles)
    return replace(haystacks, name=NAME, case_ids=(NAME,), build=lambda _: _pooled(haystacks))


def _pooled(haystacks: Dataset) -> Case:
    items: dict[str, Item] = {}
    questions: list[Question] = []
    skipped = 0
    for id in haystacks.case_ids:
        case = haystacks.build(id)
        for item in case.items:
            items.setdefault(item.ref, item)
        skipped += case.skipped
        questions += [replace(question, ages=()) for question in case.questions if question.answerable]
    return Case(id=NAME, items=tuple(items.values()), questions=tuple(questions), skipped=skipped)
