"""REALTALK: two real people chat for weeks; evidence is given by turn."""

import re
from collections.abc import Container, Iterator, Sequence
from pathlib import Path

from memorywire.model.clock import DAY_MS
from memorywire.model.record import Json
from memorywire_evals.cases import Case, Dataset, Item, Question, epoch_ms
from memorywire_evals.datasets.files import digest, find, part, read_json, unique, words

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "commonsense"}

_DATE = "%d.%m.%Y, %H:%M:%S"
_SESSION = re.compile(r"session_(\d+)")
_TURNS = re.compile(r"D(\d+):0*(\d+)(?:\s*-\s*D\1:0*(\d+))?")


def read(data: Path, *, split: str, roles: str) -> Dataset:
    file = find(data, "realtalk*.json.xz", "realtalk*.json")
    chats = {chat["id"]: chat for chat in read_json(file)}
    taken, ids = part(file, "realtalk", split, list(chats))
    return Dataset(
        name="realtalk",
        split=taken,
        digest=digest(file),
        case_ids=ids,
        build=lambda id: _case(chats[id]),
    )


def _case(chat: Json) -> Case:
    turns = tuple(_items(chat))
    items = tuple(item for item in turns if item.content)
    sessions = {item.ref: item.session or "" for item in items}
    last = max((item.occurred_at or 0 for item in items), default=0)
    questions = tuple(
        _question(f"{chat['id']}#{position}", qa, sessions, last + DAY_MS)
        for position, qa in enumerate(chat["qa"])
    )
    return Case(id=chat["id"], items=items, questions=questions, skipped=len(turns) - len(items))


def _items(chat: Json) -> Iterator[Item]:
    """Yield the turns in order with increasing times: several may have the same minute."""
    numbers = sorted(int(match[1]) for key in chat if (match := _SESSION.fullmatch(key)))
    moment = 0
    for number in numbers:
        for turn in chat[f"session_{number}"]:
            moment = max(epoch_ms(turn["date_time"], _DATE), moment + 1)
            yield Item(
                ref=turn["dia_id"],
                content=words(turn["clean_text"]),
                session=str(number),
                occurred_at=moment,
                metadata={"speaker": turn["speaker"]},
            )


def _question(name: str, qa: Json, sessions: dict[str, str], asked_at: int) -> Question:
    gold = read_evidence(qa["evidence"], sessions)
    return Question(
        id=name,
        text=qa["question"],
        category=CATEGORIES[qa["category"]],
        gold=gold,
        gold_sessions=unique(sessions[ref] for ref in gold),
        answer=str(qa["answer"]),
        asked_at=asked_at,
    )


def read_evidence(evidence: Sequence[str], known: Container[str]) -> tuple[str, ...]:
    """Return the cited turns, with those between for "D12:3-D12:5"; skip other entries."""
    cited = [
        f"D{session}:{turn}"
        for text in evidence
        for session, first, last in _TURNS.findall(text)
        for turn in range(int(first), int(last or first) + 1)
    ]
    return unique(ref for ref in cited if ref in known)
