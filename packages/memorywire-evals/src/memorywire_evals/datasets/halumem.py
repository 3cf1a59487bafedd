"""HaluMem: a user's memory points over many sessions, with interference and contradictory twins.

The label of interference is not stored, because a memory system must detect it; it is only used in scoring.
"""

from collections.abc import Iterator
from pathlib import Path

from memorywire.model.clock import DAY_MS
from memorywire.model.record import Json
from memorywire_evals.cases import STEP_MS, Case, Dataset, Item, Pair, Question, epoch_ms
from memorywire_evals.datasets.files import digest, find_all, read_lines, unique

BOUNDARY = "Memory Boundary"
INTERFERENCE = "interference"

DATE = "%b %d, %Y, %H:%M:%S"
_TYPES = {"Event Memory": "episodic"}


def read(data: Path, *, split: str, roles: str) -> Dataset:
    own = ("*.jsonl",) if data.name.startswith("halumem") else ()  # in other folders these may be other data
    files = find_all(data, "halumem*/*.jsonl", "halumem*.jsonl", *own)
    users = {user["uuid"]: user for file in files for _, user in read_lines(file)}
    return Dataset(
        name="halumem",
        split="all",
        digest=digest(*files),
        case_ids=tuple(users),
        build=lambda id: _case(id, users[id]),
    )


def _case(name: str, user: Json) -> Case:
    items, untrusted = _items(user["sessions"])
    by_content = {item.content: item.ref for item in items}
    last = max(item.occurred_at or 0 for item in items) + DAY_MS
    return Case(
        id=name,
        items=items,
        questions=tuple(_questions(user["sessions"], by_content, last)),
        pairs=tuple(_pairs(user["sessions"])),
        untrusted=untrusted,
    )


def _items(sessions: Json) -> tuple[tuple[Item, ...], frozenset[str]]:
    """Return each memory point once, and the refs of those that are interference."""
    results: dict[str, Item] = {}
    untrusted = set()
    for number, session in enumerate(sessions):
        for position, point in enumerate(session["memory_points"]):
            item = Item(
                ref=f"{number}:{position}",
                content=point["memory_content"].strip(),
                type=_TYPES.get(point["memory_type"], "semantic"),
                session=str(number),
                occurred_at=epoch_ms(point["timestamp"], DATE) + position * STEP_MS,
            )
            if results.setdefault(item.content, item) is item and point["memory_source"] == INTERFERENCE:
                untrusted.add(item.ref)
    return tuple(results.values()), frozenset(untrusted)


def _questions(sessions: Json, by_content: dict[str, str], asked_at: int) -> Iterator[Question]:
    for number, session in enumerate(sessions):
        for position, question in enumerate(session.get("questions", ())):
            evidence = [one["memory_content"].strip() for one in question["evidence"]]
            yield Question(
                id=f"{number}#{position}",
                text=question["question"],
                category=question["question_type"],
                gold=unique(by_content[text] for text in evidence if text in by_content),
                answer=question["answer"],
                answerable=question["question_type"] != BOUNDARY,
                asked_at=asked_at,
            )


def _pairs(sessions: Json) -> Iterator[Pair]:
    """Yield each interference with the statement it contradicts, and with a copy of itself."""
    for number, session in enumerate(sessions):
        for position, point in enumerate(session["memory_points"]):
            said, name = point["memory_content"].strip(), f"{number}:{position}"
            if point.get("reference_memory_content"):
                against = point["reference_memory_content"].strip()
                yield Pair(id=f"{name}/contradiction", first=against, second=said, contradict=True)
                yield Pair(id=f"{name}/copy", first=said, second=copy_points(said), contradict=False)


def copy_points(text: str) -> str:
    """Return the statement in another spelling: spacing, case of the first letter, full stop."""
    again = text[:1].lower() + text[1:].replace(" ", "  ", 1)
    return again[:-1] if again.endswith(".") else f"{again}."
