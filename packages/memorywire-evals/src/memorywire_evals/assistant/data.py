"""The lines of the sets as values; labels are checked when a part is read."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from memorywire.model.errors import InvalidRequest

PARTS = ("dev", "test")
TRAIN = "train"
"""A part for development; only some sets have one."""

FOLDER = Path(__file__).with_name("data")

Words = tuple[tuple[str, ...], ...]
"""In each group, one word must occur in a text."""


class GoldFact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fact in a message. An optional one may be missed; `kind` and `slot` only describe it."""

    kind: str
    slot: str
    words: Words
    negative: bool = False
    optional: bool = False


class Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message of a person. A retraction ends (`ended`) a fact that the person stated in `before`."""

    id: str
    group: str
    text: str
    facts: tuple[GoldFact, ...] = ()
    domain: str = ""
    before: str | None = None
    ended: Words = ()


class Note(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A memory to store. A shared one belongs to the agent; a later note replaces an outdated one."""

    id: str
    text: str
    outdated: bool = False
    shared: bool = False
    constraint: bool = False  # labelled in the part train only


class Prompt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task, with the ids of the helpful memories and of the relevant constraints."""

    text: str
    helps: tuple[str, ...] = ()
    constrains: tuple[str, ...] = ()


class Person(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person with memories and tasks; `unrelated` prompts have nothing to do with any memory."""

    id: str
    domain: str
    memories: tuple[Note, ...]
    prompts: tuple[Prompt, ...]
    unrelated: tuple[str, ...] = ()


class Query(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question; without `gold` it has no answer. `older` is the value that `gold` replaces."""

    text: str
    gold: str | None = None
    older: str | None = None


class Store(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Memories in order of time, and questions about them."""

    id: str
    group: str
    memories: tuple[Note, ...]
    questions: tuple[Query, ...]


Line = TypeVar("Line", Message, Person, Store)


def read_messages(part: str) -> tuple[Message, ...]:
    return _read("reading", part, Message)


def read_people(part: str) -> tuple[Person, ...]:
    people = _read("tasks", part, Person)
    for person in people:
        for prompt in person.prompts:
            _check_ids(person.id, person.memories, (*prompt.helps, *prompt.constrains))
    return people


def read_stores(part: str) -> tuple[Store, ...]:
    stores = _read("facts", part, Store)
    for store in stores:
        names = [name for one in store.questions for name in (one.gold, one.older) if name is not None]
        _check_ids(store.id, store.memories, names)
    return stores


def digest(set_name: str, part: str) -> str:
    """Return a digest of the data of a part."""
    return hashlib.sha256(_file(set_name, part).read_bytes()).hexdigest()[:16]


def _file(set_name: str, part: str) -> Path:
    files = {one: FOLDER / f"{set_name}-{one}.jsonl" for one in (TRAIN, *PARTS)}
    parts = [one for one, file in files.items() if file.exists()]
    if part not in parts:
        raise InvalidRequest(f"there is no part {part}", field="part", fix=f"there are: {', '.join(parts)}")
    return files[part]


def _read(set_name: str, part: str, kind: type[Line]) -> tuple[Line, ...]:
    file = _file(set_name, part)
    lines = tuple(msgspec.json.decode(line, type=kind) for line in file.read_bytes().splitlines())
    names = [(line.group if isinstance(line, Store) else "", line.id) for line in lines]
    if len(set(names)) != len(names):
        raise InvalidRequest(f"{file.name} has an id twice", field="part")
    return lines


def _check_ids(owner: str, memories: Sequence[Note], names: Sequence[str]) -> None:
    known = {note.id for note in memories}
    missing = [name for name in names if name not in known]
    if missing or len(known) != len(memories):
        raise InvalidRequest(f"{owner} names {missing or 'a memory twice'}", field="part")
