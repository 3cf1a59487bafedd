"""LongMemEval: a haystack of dated chat sessions per question; original and de-duplicated releases."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from memorywire.model.record import Json
from memorywire_evals.cases import STEP_MS, Case, Dataset, Item, Question, epoch_ms
from memorywire_evals.datasets.files import digest, find, part, read_json, unique, words

ABSTENTION = "_abs"
USER_GOLD = "user-gold"
"""Marks a question for which the user, not only the assistant, said some of the evidence."""

Turn: TypeAlias = tuple[str, str]

_FILES = (
    "longmemeval_s*.json.xz",
    "longmemeval_s*.json",
    "longmemeval_s",  # the first release had no file suffix
    "longmemeval*.json.xz",
    "longmemeval*.json",
    "longmemeval_m",
    "longmemeval_oracle",
)
"""Small haystacks first, then large ones and those with evidence only; `_cleaned` is the 2025 release."""

_WEEKDAY = re.compile(r"\s*\(\w+\)\s*")
_ROLES = {"u": "user", "a": "assistant", "user": "user", "assistant": "assistant"}


def read(data: Path, *, split: str, roles: str) -> Dataset:
    file = find(data, *_FILES)
    document = read_json(file)
    raw, sessions = _split_session(document)
    questions = {question["question_id"]: question for question in raw}
    taken, ids = part(file, "longmemeval_s", split, list(questions))
    wanted = {name for id in ids for name in questions[id]["haystack_session_ids"]}
    kept = {name: session for name, session in sessions.items() if name in wanted}
    return Dataset(
        name="longmemeval",
        split=taken,
        digest=digest(file),
        case_ids=ids,
        build=lambda id: _case(questions[id], kept, roles),
    )


def _split_session(document: Json) -> tuple[list[Json], dict[str, Sequence[Turn]]]:
    """Return questions and sessions; the original release repeats the sessions in every question."""
    if isinstance(document, dict):
        return document["questions"], document["sessions"]
    sessions: dict[str, Sequence[Turn]] = {}
    for question in document:
        question["gold_turns"] = []
        haystack = zip(question["haystack_session_ids"], question.pop("haystack_sessions"), strict=True)
        for name, turns in haystack:
            sessions[name] = [(turn["role"], turn["content"]) for turn in turns]
            question["gold_turns"] += [
                [name, position] for position, turn in enumerate(turns) if turn.get("has_answer")
            ]
    return document, sessions


def _case(question: Json, sessions: Mapping[str, Sequence[Turn]], roles: str) -> Case:
    dates = _dates(question)
    items = [item for name, date in dates.items() for item in _items(name, date, sessions[name])]
    kept = tuple(item for item in items if item.content and roles in ("all", item.metadata["role"]))
    return Case(
        id=question["question_id"],
        items=kept,
        questions=(_question(question, dates, kept),),
        skipped=sum(not item.content for item in items),
    )


def _dates(question: Json) -> dict[str, int]:
    """Return the time of each session; of repetitions in a haystack the first counts."""
    dates: dict[str, int] = {}
    for name, text in zip(question["haystack_session_ids"], question["haystack_dates"], strict=True):
        dates.setdefault(name, read_moment(text))
    return dates


def read_moment(text: str) -> int:
    """Parse a time such as "2023/05/30 (Tue) 23:40"."""
    return epoch_ms(_WEEKDAY.sub(" ", text), "%Y/%m/%d %H:%M")


def _items(name: str, began: int, turns: Sequence[Turn]) -> Iterator[Item]:
    for position, (role, said) in enumerate(turns):
        yield Item(
            ref=f"{name}:{position}",
            content=words(said),
            session=name,
            occurred_at=began + position * STEP_MS,
            metadata={"role": _ROLES[role]},
        )


def _question(question: Json, dates: Mapping[str, int], items: Sequence[Item]) -> Question:
    kept = {item.ref: item for item in items}
    gold = unique(ref for name, turn in question["gold_turns"] if (ref := f"{name}:{turn}") in kept)
    sessions = unique(name for name in question["answer_session_ids"] if name in dates)
    dated = sorted(sessions, key=lambda name: dates[name])
    ages = tuple(tuple(item.ref for item in items if item.session == name) for name in dated)
    update = question["question_type"] == "knowledge-update"
    said_by_user = any(kept[ref].metadata["role"] == "user" for ref in gold)
    return Question(
        id=question["question_id"],
        text=question["question"],
        category=question["question_type"],
        gold=gold,
        gold_sessions=sessions,
        ages=ages if update and len(ages) > 1 and _answerable(question) else (),
        asked_at=read_moment(question["question_date"]),
        answer=str(question["answer"]),
        answerable=_answerable(question),
        marks=(USER_GOLD,) if said_by_user else (),
    )


def _answerable(question: Json) -> bool:
    return not question["question_id"].endswith(ABSTENTION)


_POOL = "pool"


def read_pool(data: Path, *, split: str, roles: str) -> Dataset:
    """Read all haystacks as one memory, with the sessions of all questions.

    The haystacks contradict each other and several may answer a question: this measures recall with many
    memories, not with one person. A session in several haystacks is stored once, with its first date.
    Questions without an answer in their haystack are left out: another haystack may answer them.
    """
    haystacks = read(data, split=split, roles=roles)
    return replace(haystacks, name=_POOL, case_ids=(_POOL,), build=lambda _: _join_haystacks(haystacks))


def _join_haystacks(haystacks: Dataset) -> Case:
    items: dict[str, Item] = {}
    questions: list[Question] = []
    skipped = 0
    for id in haystacks.case_ids:
        case = haystacks.build(id)
        for item in case.items:
            items.setdefault(item.ref, item)
        skipped += case.skipped
        questions += [replace(question, ages=()) for question in case.questions if question.answerable]
    return Case(id=_POOL, items=tuple(items.values()), questions=tuple(questions), skipped=skipped)
