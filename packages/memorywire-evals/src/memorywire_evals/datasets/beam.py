"""BEAM: long chats between a user and an assistant; evidence is given by message."""

from collections.abc import Iterator
from pathlib import Path

from memorywire.model.clock import DAY_MS
from memorywire.model.record import Json
from memorywire_evals.cases import STEP_MS, Case, Dataset, Item, Question, epoch_ms
from memorywire_evals.datasets.files import digest, find, part, read_json, unique

_ROLES = {"u": "user", "a": "assistant"}


def read(data: Path, *, split: str, roles: str) -> Dataset:
    file = find(data, "beam*.json.xz", "beam*.json")
    chats = {chat["id"]: chat for chat in read_json(file)["conversations"]}
    taken, ids = part(file, "beam_100k", split, list(chats))
    return Dataset(
        name="beam",
        split=taken,
        digest=digest(file),
        case_ids=ids,
        build=lambda id: _case(chats[id], roles),
    )


def _case(chat: Json, roles: str) -> Case:
    items = [item for item in _items(chat["messages"]) if roles in ("all", item.metadata["role"])]
    kept = tuple(item for item in items if item.content)
    known = {item.ref for item in kept}
    last = max((item.occurred_at or 0 for item in kept), default=0)
    return Case(
        id=chat["id"],
        items=kept,
        questions=tuple(_question(question, known, last + DAY_MS) for question in chat["questions"]),
        skipped=len(items) - len(kept),
    )


def _items(messages: Json) -> Iterator[Item]:
    anchor = None
    for position, message in enumerate(messages):
        anchor = message["time_anchor"] or anchor
        yield Item(
            ref=str(message["id"]),
            content=message["content"].strip(),
            session=str(message["batch"]),
            occurred_at=None if anchor is None else epoch_ms(anchor, "%B-%d-%Y") + position * STEP_MS,
            metadata={"role": _ROLES[message["role"]]},
        )


def _question(question: Json, known: set[str], asked_at: int) -> Question:
    groups = question.get("source_groups") or {}
    return Question(
        id=question["qid"],
        text=question["question"],
        category=question["type"],
        gold=_refs(question["source_ids"], known),
        ages=_ages(groups, known) if question["type"] == "knowledge_update" else (),
        answer=question["answer"],
        answerable=question["type"] != "abstention",
        asked_at=asked_at,
    )


def _ages(groups: Json, known: set[str]) -> tuple[tuple[str, ...], ...]:
    """Return the original and the updated statement, if they are different messages."""
    old = _refs(groups.get("original_info", ()), known)
    new = _refs(groups.get("updated_info", ()), known)
    return (old, new) if old and new and not set(old) & set(new) else ()


def _refs(ids: Json, known: set[str]) -> tuple[str, ...]:
    return unique(ref for id in ids if (ref := str(id)) in known)
