"""Rows on their way to a shelf, as arrays: made of rows of the file, or read from a pack of them.

A batch stands for itself: its users and sessions are numbered by its own lists of names, its documents by
their place in it. Its rows are in order of id.
"""

import json
import math
import struct
from collections.abc import Hashable, Sequence
from dataclasses import fields
from operator import itemgetter
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from memorywire.model.record import MemoryType, Standing
from memorywire.model.values import dataclass
from memorywire.stores.sqlite.float16 import sound_vectors
from memorywire.stores.sqlite.quantized import Bytes, Floats, rounded
from memorywire.stores.sqlite.rows import Row

H = TypeVar("H", bound=Hashable)
Array: TypeAlias = NDArray[Any]
Halves: TypeAlias = NDArray[np.uint16]
Coded: TypeAlias = tuple[Bytes, Floats, float]

ENTRY = np.dtype([("term", "<i8"), ("count", "<u2")])
"""One index entry of a version: the hash of a term, and how often it occurs."""

NEVER = 2**63 - 1
UNSAID = -(2**63)
TYPES = {kind.value: code for code, kind in enumerate(MemoryType)}
STANDINGS = {standing.value: code for code, standing in enumerate(Standing)}

_SIZE = struct.Struct("<I")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """One value for each row; `session` is -1 where there is none."""

    position: Array
    user: Array
    type: Array
    standing: Array
    created: Array
    expires: Array
    length: Array
    occurred: Array
    moment: Array
    session: Array
    machine: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """The text index: which term which document holds, and how often; documents ascend for each term."""

    term: Array
    document: Array
    count: Array

    def by_term(self) -> "Entries":
        """The entries sorted by term, as a pack keeps them: sorted parts are quickly sorted as a whole."""
        order = np.argsort(self.term, kind="stable")
        return Entries(term=self.term[order], document=self.document[order], count=self.count[order])


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows on their way to a shelf: from the file with ids and exact vectors, from a pack with neither."""

    columns: Columns
    entries: Entries
    users: Sequence[str | None]
    sessions: Sequence[tuple[str | None, str]]
    first_id: str
    last_id: str
    vectors: Halves | Coded
    ids: Sequence[str] | None = None
    damaged: int = 0  # rows whose vector is not of length one, and is left out

    def __len__(self) -> int:
        return len(self.columns.position)

    @property
    def halves(self) -> Halves | None:
        """The vectors, unless they are rounded."""
        return None if isinstance(self.vectors, tuple) else self.vectors

    @classmethod
    def of(cls, rows: Sequence[Row], dimension: int) -> Self:
        # fmt: off
        (position, ids, user, type_, standing, created, expires, length, occurred, moment, session, machine,
         vector, terms) = zip(*sorted(rows, key=itemgetter(1)), strict=True)
        # fmt: on
        halves, _, damaged = sound_vectors(vector, dimension)
        pairs = [None if name is None else (who, name) for who, name in zip(user, session, strict=True)]
        users, by_user = _numbered(user)
        sessions, by_session = _numbered([pair for pair in pairs if pair is not None])
        numbers = iter(by_session)
        columns = Columns(
            position=np.array(position, "<i8"),
            user=np.array(by_user, "<i4"),
            type=np.array([TYPES[name] for name in type_], "i1"),
            standing=np.array([STANDINGS[name] for name in standing], "i1"),
            created=np.array(created, "<i8"),
            expires=np.array([NEVER if at is None else at for at in expires], "<i8"),
            length=np.array(length, "<i4"),
            occurred=np.array([UNSAID if at is None else at for at in occurred], "<i8"),
            moment=np.array(moment, "<i8"),
            session=np.array([-1 if pair is None else next(numbers) for pair in pairs], "<i4"),
            machine=np.array(machine, "?"),
        )
        return cls(
            columns=columns,
            entries=_entries(terms),
            users=users,
            sessions=sessions,
            first_id=ids[0],
            last_id=ids[-1],
            vectors=halves,
            ids=ids,
            damaged=int(np.count_nonzero(damaged)),
        )

    def packed(self) -> bytes:
        """All of it but ids and vectors, which the file has anyway."""
        codes, units, worst = self.vectors if isinstance(self.vectors, tuple) else rounded(self.vectors)
        arrays = [*_arrays(self.columns), codes, units, *_arrays(self.entries.by_term())]
        head = {
            "forms": [(array.dtype.str, array.shape) for array in arrays],
            "users": self.users,
            "sessions": self.sessions,
            "ids": (self.first_id, self.last_id),
            "worst": worst,
            "damaged": self.damaged,
        }
        written = json.dumps(head, ensure_ascii=False).encode()
        return b"".join([_SIZE.pack(len(written)), written, *(array.tobytes() for array in arrays)])

    @classmethod
    def unpacked(cls, data: bytes) -> Self:
        (size,) = _SIZE.unpack_from(data)
        start = _SIZE.size + size
        head = json.loads(data[_SIZE.size : start])
        arrays = []
        for form, shape in head["forms"]:
            arrays.append(np.frombuffer(data, form, math.prod(shape), start).reshape(shape))
            start += arrays[-1].nbytes
        columns = [arrays.pop(0) for _ in fields(Columns)]
        codes, units, *entries = arrays
        first_id, last_id = head["ids"]
        return cls(
            columns=Columns(**_named(Columns, columns)),
            entries=Entries(**_named(Entries, entries)),
            users=head["users"],
            sessions=[(user, session) for user, session in head["sessions"]],
            first_id=first_id,
            last_id=last_id,
            vectors=(codes, units, head["worst"]),
            damaged=head.get("damaged", 0),
        )


def _numbered(names: Sequence[H]) -> tuple[list[H], list[int]]:
    """The different names, and the number of each in that list."""
    numbers: dict[H, int] = {}
    numbered = [numbers.setdefault(name, len(numbers)) for name in names]
    return list(numbers), numbered


def _entries(blobs: Sequence[bytes]) -> Entries:
    found = np.frombuffer(b"".join(blobs), ENTRY)
    sizes = [len(blob) // ENTRY.itemsize for blob in blobs]
    documents = np.repeat(np.arange(len(blobs), dtype="<i4"), sizes)
    return Entries(term=found["term"], document=documents, count=found["count"])


def _arrays(part: Columns | Entries) -> list[Array]:
    return [getattr(part, field.name) for field in fields(part)]


def _named(kind: type, arrays: Sequence[Array]) -> dict[str, Array]:
    return {field.name: array for field, array in zip(fields(kind), arrays, strict=True)}
