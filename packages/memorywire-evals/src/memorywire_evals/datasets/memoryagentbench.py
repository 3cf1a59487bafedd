"""MemoryAgentBench: one long context per row and many questions; four competencies, a table each.

The source of a row determines its memories: documents, labelled examples, dialogues, chat turns, numbered
facts, or pieces of a book. Evidence is scored where the data name it or it can be derived; for other
sources only `eval answer` judges the answers.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from memorywire.model.clock import DAY_MS
from memorywire_evals.cases import STEP_MS, Case, Dataset, Item, Question
from memorywire_evals.datasets.facts import BEGAN, MINUTE_MS
from memorywire_evals.datasets.files import (
    ROW_FILES,
    NoData,
    cut_query,
    digest,
    find_tables,
    part,
    read_rows,
    unique,
    words,
)
from memorywire_evals.datasets.longmemeval import ABSTENTION, read_moment

COMPETENCIES = ("Accurate_Retrieval", "Test_Time_Learning", "Long_Range_Understanding", "Conflict_Resolution")

PIECE = 2_000
"""The maximum number of characters of a piece of a book."""

_DOCUMENT = re.compile(r"(?m)^(?=(?:Document|Dialogue) \d+:)")
_EXAMPLE = re.compile(r"(?s)(.+?\blabel: *(\S+))(?:\s+|$)")
_FACT = re.compile(r"(?m)^(\d+)\.\s+(.+)$")
_CHAT_TIME = re.compile(r"(\d{4}/\d\d/\d\d)(?: *\(\w+\))?(?: +(\d\d:\d\d))?")

Row: TypeAlias = Mapping[str, Any]


class Source(Struct, frozen=True, kw_only=True):
    """How to read the rows of a source: `items` yields memories, `gold` returns a question's evidence.

    With `holds`, an answer is a text that occurs in the evidence.
    """

    items: Callable[[Row], Iterator[Item]]
    gold: Callable[[Row, int, Sequence[Item]], tuple[str, ...]] | None = None
    holds: bool = False


def read(data: Path, *, split: str, roles: str) -> Dataset:
    rows: dict[str, tuple[str, Row]] = {}
    files = _find(data)
    for file in files:
        competency = next(name for name in COMPETENCIES if file.name.startswith(name))
        for number, row in enumerate(read_rows(file)):
            rows[f"{competency}:{row['metadata']['source']}:{number}"] = (competency, row)
    taken, ids = part(files[0], "memoryagentbench", split, list(rows))
    return Dataset(
        name="memoryagentbench",
        split=taken,
        digest=digest(*files),
        case_ids=ids,
        build=lambda id: _case(id, *rows[id]),
    )


def _find(data: Path) -> list[Path]:
    """Return the tables of all competencies that exist; `data` may name one."""
    if data.is_file() and data.name.startswith(COMPETENCIES):
        return [data]
    files = []
    for name in COMPETENCIES:
        try:
            files += find_tables(data, f"{name}*")
        except NoData:
            continue
    if not files:
        raise NoData(
            f"no {' or '.join(COMPETENCIES)} ({', '.join(ROW_FILES)}) in {data}",
            field="data",
            fix="pass --data FOLDER or --data FILE",
        )
    return files


def _case(id: str, competency: str, row: Row) -> Case:
    name = row["metadata"]["source"]
    source = next(source for start, source in SOURCES.items() if name.startswith(start))
    items = tuple(source.items(row))
    asked_at = max((item.occurred_at or 0 for item in items), default=BEGAN) + DAY_MS
    questions = tuple(
        _question(row, number, competency, source, items, asked_at) for number in range(len(row["questions"]))
    )
    return Case(id=id, items=items, questions=questions)


def _question(
    row: Row, number: int, competency: str, source: Source, items: Sequence[Item], asked_at: int
) -> Question:
    about = row["metadata"]
    answers = unique(map(str, row["answers"][number]))
    dates, ids = about.get("question_dates"), about.get("question_ids") or ()
    return Question(
        id=_at(about.get("qa_pair_ids"), number) or f"#{number}",
        text=cut_query(row["questions"][number]),
        category=f"{competency.replace('_', ' ').lower()}, {_family(about['source'])}",
        gold=source.gold(row, number, items) if source.gold else (),
        answers=answers if source.holds else (),
        answer=" or ".join(answers),
        asked_at=read_moment(dates[number]) if dates else asked_at,
        answerable=not (ids and str(ids[number]).endswith(ABSTENTION)),
    )


def _at(values: Sequence[Any] | None, number: int) -> Any:
    return values[number] if values else None


def _family(source: str) -> str:
    """Return the source without its length: `ruler_qa1` for `ruler_qa1_197K`."""
    return re.sub(r"(_\d+[kK]?|_full|_\d+shot_balance|_shots\d+|\*)+$", "", source)


def _told(texts: Sequence[str], type: str = "episodic") -> Iterator[Item]:
    for number, text in enumerate(texts):
        if content := words(text):
            yield Item(ref=str(number), content=content, type=type, occurred_at=BEGAN + number * MINUTE_MS)


def read_documents(row: Row) -> Iterator[Item]:
    """Yield each document or dialogue, long ones in pieces."""
    texts = [text for text in _DOCUMENT.split(row["context"]) if words(text)]
    yield from _told([piece for text in texts for piece in cut(text)], "semantic")


def read_book(row: Row) -> Iterator[Item]:
    yield from _told(list(cut(row["context"])))


def cut(text: str) -> Iterator[str]:
    """Yield pieces of whole paragraphs; split longer paragraphs between words."""
    piece = ""
    for paragraph in re.split(r"\n\s*\n", text):
        for span in _shorten(paragraph.strip()):
            if piece and len(piece) + len(span) + 2 > PIECE:
                yield piece
                piece = ""
            piece = f"{piece}\n\n{span}" if piece else span
    if piece:
        yield piece


def _shorten(paragraph: str) -> Iterator[str]:
    while len(paragraph) > PIECE:
        end = paragraph.rfind(" ", 1, PIECE)
        end = end if end > 0 else PIECE
        yield paragraph[:end]
        paragraph = paragraph[end:].strip()
    yield paragraph


def read_examples(row: Row) -> Iterator[Item]:
    """Yield each labelled example."""
    yield from _told([text for text, _ in _EXAMPLE.findall(row["context"])], "semantic")


def find_same_label(row: Row, number: int, items: Sequence[Item]) -> tuple[str, ...]:
    """Return the examples with the label of the answer."""
    wanted = {str(answer) for answer in row["answers"][number]}
    return tuple(item.ref for item in items if item.content.rpartition("label:")[2].strip() in wanted)


def read_facts(row: Row) -> Iterator[Item]:
    """Yield numbered facts; later ones are newer."""
    for serial, text in _FACT.findall(row["context"]):
        if content := words(text):
            moment = BEGAN + int(serial) * MINUTE_MS
            yield Item(ref=serial, content=content, type="semantic", occurred_at=moment)


def read_chats(row: Row) -> Iterator[Item]:
    """Yield the turns of dated chats; the context is a Python list of times and lists of turns."""
    began, session = BEGAN, 0
    for entry in ast.literal_eval(row["context"].strip()):
        if isinstance(entry, str):
            moment = _CHAT_TIME.search(entry)
            began = read_moment(f"{moment[1]} {moment[2] or '00:00'}") if moment else began + DAY_MS
            continue
        for position, turn in enumerate(entry):
            if content := words(turn["content"]):
                yield Item(
                    ref=f"{session}:{position}",
                    content=content,
                    session=str(session),
                    occurred_at=began + position * STEP_MS,
                    metadata={"role": turn["role"]},
                )
        session += 1


def find_marked_turns(row: Row, number: int, items: Sequence[Item]) -> tuple[str, ...]:
    """Return the turns that the question's sessions mark as containing the answer."""
    marked = {
        (turn["role"], words(turn["content"]))
        for session in (row["metadata"].get("haystack_sessions") or [[]] * (number + 1))[number]
        for turn in session
        if turn.get("has_answer")
    }
    return tuple(item.ref for item in items if (item.metadata["role"], item.content) in marked)


SOURCES = {
    "ruler": Source(items=read_documents, holds=True),
    "longmemeval": Source(items=read_chats, gold=find_marked_turns),
    "icl": Source(items=read_examples, gold=find_same_label),
    "factconsolidation": Source(items=read_facts, holds=True),
    "recsys": Source(items=read_documents),
    "": Source(items=read_book),
}
"""By prefix of the source name; the last is for books: eventqa, detective_qa, infbench_sum."""
