"""The store contract as messages: what each verb is sent with, and what comes back."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from memorywire.model.change import Change, Footprint, Version
from memorywire.model.query import Query, Scored
from memorywire.model.record import Json, Record, Scope
from memorywire.model.space import Space
from memorywire.model.where import Where

PATH = "/v0/store"


class About(Struct, frozen=True, kw_only=True):
    """What stands behind the address: its name there, its features by name, the space of its vectors.

    `abilities` are the verbs it answers beyond those that every store has.
    """

    name: str
    features: tuple[str, ...]
    space: Space
    abilities: tuple[str, ...] = ()


class Verb(Struct, frozen=True):
    """The types of a verb's arguments, in order, and of its answer."""

    takes: tuple[Any, ...]
    gives: Any


_IDS = tuple[str, ...]
_RECORDS = tuple[Record, ...]

VERBS: Mapping[str, Verb] = {
    "about": Verb((), About),
    "health": Verb((), Mapping[str, Json]),
    "write": Verb((Change,), int),
    "get": Verb((Scope, _IDS), _RECORDS),
    "find": Verb((Where, str | None, int), _RECORDS),
    "count": Verb((Where,), int),
    "search": Verb((Query, int), tuple[Scored, ...]),
    "duplicate": Verb((Record, int), Record | None),
    "history": Verb((Scope, str), tuple[Version, ...]),
    "footprint": Verb((Scope, str), Footprint | None),
    "committed": Verb((Scope, str), Footprint | None),
    "changes": Verb((Scope, int), tuple[Change, ...]),
    "touch": Verb((Scope, _IDS, int), None),
    "recalls": Verb((_RECORDS,), tuple[int, ...]),
}

HISTORIAN = ("history", "footprint", "committed", "changes")
TRACKER = ("touch",)
COUNTER = ("recalls",)
