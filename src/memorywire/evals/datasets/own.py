"""One's own data: JSON lines, each a memory or a question of a case (docs/reference/eval-data.md)."""

from dataclasses import replace
from pathlib import Path

from memorywire.evals.cases import Case, Dataset, Item, Question
from memorywire.evals.datasets.files import digest, find, read_lines, unique
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json

_MEMORY = frozenset({"case", "memory", "id", "type", "session_id", "occurred_at", "metadata"})
_QUESTION = frozenset(
    {"case", "question", "id", "gold", "category", "asked_at", "answer", "answers", "answerable"}
)


def read(data: Path, *, split: str, roles: str) -> Dataset:
    file = find(data, "*.jsonl")
    return from_lines("own", file, read_lines(file))


def from_lines(name: str, file: Path, lines: list[tuple[int, Json]]) -> Dataset:
    cases: dict[str, tuple[list[Item], list[Question]]] = {}
    for number, line in lines:
        where = f"{file.name} line {number}"
        items, questions = cases.setdefault(str(_checked(line, where).get("case", "own")), ([], []))
        if "memory" in line:
            items.append(_item(line, where))
        else:
            questions.append(_question(line, number))
    return Dataset(
        name=name,
        split="all",
        digest=digest(file),
        case_ids=tuple(cases),
        build=lambda id: _case(id, *cases[id]),
    )


def _checked(line: Json, where: str) -> dict[str, Json]:
    if not isinstance(line, dict) or ("memory" in line) == ("question" in line):
        raise InvalidRequest(f"{where} is neither a memory nor a question", field="data")
    unknown = sorted(set(line) - (_MEMORY if "memory" in line else _QUESTION))
    if unknown:
        raise InvalidRequest(f"{where} has an unknown field {unknown[0]!r}", field="data")
    return line


def _item(line: dict[str, Json], where: str) -> Item:
    if not line.get("id"):
        raise InvalidRequest(f"{where} is a memory without an id", field="data")
    return Item(
        ref=str(line["id"]),
        content=line["memory"],
        type=line.get("type", "semantic"),
        session=line.get("session_id"),
        occurred_at=line.get("occurred_at"),
        metadata=line.get("metadata", {}),
    )


def _question(line: dict[str, Json], number: int) -> Question:
    gold, answers = tuple(line.get("gold", ())), tuple(line.get("answers", ()))
    return Question(
        id=str(line.get("id", f"line-{number}")),
        text=line["question"],
        category=line.get("category", "all"),
        gold=gold,
        answers=answers,
        answer=line.get("answer", " or ".join(answers) or None),
        asked_at=line.get("asked_at"),
        answerable=line.get("answerable", bool(gold or answers)),
    )


def _case(id: str, items: list[Item], questions: list[Question]) -> Case:
    known = {item.ref: item for item in items}
    for question in questions:
        missing = [ref for ref in question.gold if ref not in known]
        if missing:
            raise InvalidRequest(
                f"question {question.id!r} names {missing[0]!r}, which case {id!r} does not hold",
                field="data",
            )
    return Case(
        id=id,
        items=tuple(items),
        questions=tuple(_placed(question, known) for question in questions),
    )


def _placed(question: Question, known: dict[str, Item]) -> Question:
    """With the sessions of its evidence, when all of it has one."""
    sessions = [known[ref].session for ref in question.gold]
    named = unique(session for session in sessions if session is not None)
    return replace(question, gold_sessions=named) if None not in sessions else question
