"""Own data as JSON lines (docs/reference/eval-data.md), and the built-in microbenchmark."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import END_OF_CALENDAR, Json
from memorywire.wire import validate
from memorywire_evals.cases import Case, Dataset, Item, Question
from memorywire_evals.datasets.files import digest, find_all, read_lines, unique, words

_KINDS = {
    str: "a string",
    int: "a whole number",
    bool: "true or false",
    dict: "an object",
    list: "a list of strings",
}

_MEMORY: Mapping[str, type] = {
    "case": str,
    "memory": str,
    "id": str,
    "type": str,
    "session_id": str,
    "occurred_at": int,
    "metadata": dict,
}
_KEPT = ("type", "session_id", "occurred_at", "metadata")

_PREFIX = f"own-{'0' * 16}"
"""A placeholder with the length of the prefix of memory ids."""

_QUESTION: Mapping[str, type] = {
    "case": str,
    "question": str,
    "id": str,
    "gold": list,
    "category": str,
    "asked_at": int,
    "answer": str,
    "answers": list,
    "answerable": bool,
}


def read(data: Path, *, split: str, roles: str) -> Dataset:
    file, *others = find_all(data, "*.jsonl")
    if others:
        raise InvalidRequest(
            f"there are {1 + len(others)} files of lines in {data}", field="data", fix="pass --data FILE"
        )
    return from_lines("own", file, read_lines(file))


def from_lines(name: str, file: Path, lines: list[tuple[int, Json]]) -> Dataset:
    """Build the cases of a file. Raises InvalidRequest for a faulty line before any case runs."""
    cases: dict[str, tuple[list[Item], list[Question]]] = {}
    for number, given in lines:
        where = f"{file.name} line {number}"
        line = _check_line(given, where)
        items, questions = cases.setdefault(line.get("case", "own"), ([], []))
        if "memory" in line:
            items.append(_item(line, where))
        else:
            questions.append(_question(line, number, where))
    if not any(questions for _, questions in cases.values()):
        raise InvalidRequest(
            f"{file.name} asks no question",
            field="data",
            fix='add lines such as {"question": ..., "gold": [...]}',
        )
    built = {id: _case(id, *held) for id, held in cases.items()}
    return Dataset(
        name=name,
        split="all",
        digest=digest(file),
        case_ids=tuple(built),
        build=built.__getitem__,
    )


def _check_line(given: Json, where: str) -> dict[str, Json]:
    """Return the fields of a line that are not null. Raises InvalidRequest if one is not valid."""
    if not isinstance(given, dict) or ("memory" in given) == ("question" in given):
        raise InvalidRequest(f"{where} is neither a memory nor a question", field="data")
    line = {name: value for name, value in given.items() if value is not None}
    fields = _MEMORY if "memory" in given else _QUESTION
    for name, value in line.items():
        if name not in fields:
            raise InvalidRequest(f"{where} has an unknown field {name!r}", field="data")
        if not _is(value, fields[name]):
            raise InvalidRequest(f"{where}: {name} is not {_KINDS[fields[name]]}", field="data")
    if not words(line.get("memory") or line.get("question") or ""):
        raise InvalidRequest(f"{where} has no words", field="data")
    return line


def _is(value: Json, kind: type) -> bool:
    if kind is list:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _item(line: dict[str, Json], where: str) -> Item:
    if not line.get("id"):
        raise InvalidRequest(f"{where} is a memory without an id", field="data")
    optional = {name: line[name] for name in _KEPT if name in line}
    id = f"{_PREFIX}:{line.get('case', '')}:{line['id']}"
    _check_allowed(where, "remember", {"id": id, "type": "semantic", "content": "words", **optional})
    return Item(
        ref=line["id"],
        content=line["memory"],
        type=line.get("type", "semantic"),
        session=line.get("session_id"),
        occurred_at=line.get("occurred_at"),
        metadata=line.get("metadata", {}),
    )


def _check_allowed(where: str, operation: str, fields: Mapping[str, Json]) -> None:
    """Check the fields against the wire schema before the run; errors name the line."""
    try:
        validate.check(operation, {"agent_id": "eval", **fields})
    except InvalidRequest as error:
        raise InvalidRequest(f"{where}: {error.detail}", field="data", fix=error.fix) from error


def _question(line: dict[str, Json], number: int, where: str) -> Question:
    _check_allowed(where, "recall", {"query": line["question"]})
    if not 0 <= line.get("asked_at", 0) < END_OF_CALENDAR:
        raise InvalidRequest(f"{where}: asked_at is not in the years 1970 to 9999", field="data")
    gold, answers = tuple(line.get("gold", ())), tuple(line.get("answers", ()))
    return Question(
        id=line.get("id", f"line-{number}"),
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
    for named in ([item.ref for item in items], [question.id for question in questions]):
        _once(named, id)
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
        questions=tuple(_place_line(question, known) for question in questions),
    )


def _once(names: list[str], id: str) -> None:
    name, count = max(Counter(names).items(), key=lambda one: one[1], default=("", 0))
    if count > 1:
        raise InvalidRequest(f"{name!r} is there {count} times in case {id!r}", field="data")


def _place_line(question: Question, known: dict[str, Item]) -> Question:
    """Return the question with the sessions of its evidence, if all of it has one."""
    sessions = [known[ref].session for ref in question.gold]
    named = unique(session for session in sessions if session is not None)
    return replace(question, gold_sessions=named) if None not in sessions else question


MICRO_FILE = Path(__file__).with_name("micro.jsonl")
OBLIQUE_FILE = Path(__file__).with_name("oblique.jsonl")


def read_micro(data: Path, *, split: str, roles: str) -> Dataset:
    """Read the built-in microbenchmark: 100 facts about ten people, 50 queries, 8 of them unanswerable."""
    return from_lines("micro", MICRO_FILE, read_lines(MICRO_FILE))


def read_oblique(data: Path, *, split: str, roles: str) -> Dataset:
    """Read the microbenchmark's facts with indirect questions, which share no words or names with them."""
    facts = [(number, line) for number, line in read_lines(MICRO_FILE) if "memory" in line]
    return from_lines("oblique", OBLIQUE_FILE, [*facts, *read_lines(OBLIQUE_FILE)])
