"""A batch of rows to add to the index, as arrays, from rows of a table or from a stored segment.

A batch is self-contained: users and sessions are numbers into its lists of names, rows are numbered by their
offset in it. Rows are in order of id. `to_bytes` is the format of a segment; a change of it requires a new
`FORMAT` in `stores/sqlite/segments.py`.
"""

import json
import math
import struct
from collections.abc import Hashable, Sequence
from operator import itemgetter
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memorywire.index.vectors import Float16Bits, Quantized, decode_vectors, quantize
from memorywire.model.label import build_state
from memorywire.model.record import MemoryType, Standing

H = TypeVar("H", bound=Hashable)
Array: TypeAlias = NDArray[Any]
Row: TypeAlias = tuple[Any, ...]
"""position, id, user, type, standing, created_at, expires_at, length, occurred_at, moment, session, state (a
JSON list of subject and slot), whether an assistant said it, vector (float16), terms (of ENTRY)."""

State: TypeAlias = tuple[str | None, str, str]
"""A user, a subject and a slot that has one value at a time."""

ENTRY = np.dtype([("term", "<i8"), ("count", "<u2")])
"""One index entry of a version: the hash of a term and its frequency."""

NEVER = 2**63 - 1
UNKNOWN_TIME = -(2**63)
TYPES = {kind.value: code for code, kind in enumerate(MemoryType)}
STANDINGS = {standing.value: code for code, standing in enumerate(Standing)}

_SIZE = struct.Struct("<I")


class Columns(Struct, frozen=True, kw_only=True):
    """Columns with one value per row; `session` and `state` are -1 for none."""

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
    state: Array
    machine: Array


class Entries(Struct, frozen=True, kw_only=True):
    """Entries of the text index: term, row and frequency; rows ascend for each term."""

    term: Array
    row: Array
    count: Array

    def sort_by_term(self) -> "Entries":
        """Return the entries sorted by term, as stored in a segment: merging sorted parts is fast."""
        order = np.argsort(self.term, kind="stable")
        return Entries(term=self.term[order], row=self.row[order], count=self.count[order])


class Batch(Struct, frozen=True, kw_only=True):
    """Rows for the index; from a table with ids and exact vectors, from a segment without."""

    columns: Columns
    entries: Entries
    users: Sequence[str | None]
    sessions: Sequence[tuple[str | None, str]]
    states: Sequence[State]
    first_id: str
    last_id: str
    vectors: Float16Bits | Quantized
    ids: Sequence[str] | None = None
    damaged: int = 0  # number of rows whose vector is not of length one and is ignored

    def __len__(self) -> int:
        return len(self.columns.position)

    @classmethod
    def from_rows(cls, rows: Sequence[Row], dimension: int) -> Self:
        # fmt: off
        (position, ids, user, type_, standing, created, expires, length, occurred, moment, session, state,
         machine, vector, terms) = zip(*sorted(rows, key=itemgetter(1)), strict=True)
        # fmt: on
        bits, _, damaged = decode_vectors(vector, dimension)
        users, by_user = _number(user)
        sessions, by_session = _number_some(
            [None if name is None else (who, name) for who, name in zip(user, session, strict=True)]
        )
        states, by_state = _number_some(_read_states(user, state))
        columns = Columns(
            position=np.array(position, "<i8"),
            user=np.array(by_user, "<i4"),
            type=np.array([TYPES[name] for name in type_], "i1"),
            standing=np.array([STANDINGS[name] for name in standing], "i1"),
            created=np.array(created, "<i8"),
            expires=np.array([NEVER if at is None else at for at in expires], "<i8"),
            length=np.array(length, "<i4"),
            occurred=np.array([UNKNOWN_TIME if at is None else at for at in occurred], "<i8"),
            moment=np.array(moment, "<i8"),
            session=np.array(by_session, "<i4"),
            state=np.array(by_state, "<i4"),
            machine=np.array(machine, "?"),
        )
        return cls(
            columns=columns,
            entries=_read_entries(terms),
            users=users,
            sessions=sessions,
            states=states,
            first_id=ids[0],
            last_id=ids[-1],
            vectors=bits,
            ids=ids,
            damaged=int(np.count_nonzero(damaged)),
        )

    def to_bytes(self) -> bytes:
        """Serialise the batch without ids and exact vectors, which are stored in the rows."""
        quantized = self.vectors if isinstance(self.vectors, tuple) else quantize(self.vectors)
        quantized_rows, scales, error = quantized
        arrays = [*_arrays(self.columns), quantized_rows, scales, *_arrays(self.entries.sort_by_term())]
        head = {
            "forms": [(array.dtype.str, array.shape) for array in arrays],
            "users": self.users,
            "sessions": self.sessions,
            "states": self.states,
            "ids": (self.first_id, self.last_id),
            "worst": error,
            "damaged": self.damaged,
        }
        text = json.dumps(head, ensure_ascii=False).encode()
        return b"".join([_SIZE.pack(len(text)), text, *(array.tobytes() for array in arrays)])

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        (size,) = _SIZE.unpack_from(data)
        start = _SIZE.size + size
        head = json.loads(data[_SIZE.size : start])
        arrays = []
        for form, shape in head["forms"]:
            arrays.append(np.frombuffer(data, form, math.prod(shape), start).reshape(shape))
            start += arrays[-1].nbytes
        columns = [arrays.pop(0) for _ in Columns.__struct_fields__]
        quantized_rows, scales, *entries = arrays
        first_id, last_id = head["ids"]
        return cls(
            columns=Columns(**_by_field(Columns, columns)),
            entries=Entries(**_by_field(Entries, entries)),
            users=head["users"],
            sessions=[(user, session) for user, session in head["sessions"]],
            states=[(user, subject, slot) for user, subject, slot in head["states"]],
            first_id=first_id,
            last_id=last_id,
            vectors=(quantized_rows, scales, head["worst"]),
            damaged=head.get("damaged", 0),
        )


def _number(names: Sequence[H]) -> tuple[list[H], list[int]]:
    """Return the distinct names, and the index of each name in that list."""
    numbers: dict[H, int] = {}
    indexes = [numbers.setdefault(name, len(numbers)) for name in names]
    return list(numbers), indexes


def _number_some(names: Sequence[H | None]) -> tuple[list[H], list[int]]:
    """Like `_number`, with -1 for None, which is not in the list."""
    numbers: dict[H, int] = {}
    indexes = [-1 if name is None else numbers.setdefault(name, len(numbers)) for name in names]
    return list(numbers), indexes


def _read_states(users: Sequence[str | None], texts: Sequence[str | None]) -> list[State | None]:
    """Return the state of each row (user, subject, slot), from its JSON list of subject and slot."""
    states: list[State | None] = []
    for user, text in zip(users, texts, strict=True):
        state = None if text is None else build_state(*json.loads(text))
        states.append(None if state is None else (user, *state))
    return states


def _read_entries(blobs: Sequence[bytes]) -> Entries:
    entries = np.frombuffer(b"".join(blobs), ENTRY)
    sizes = [len(blob) // ENTRY.itemsize for blob in blobs]
    rows = np.repeat(np.arange(len(blobs), dtype="<i4"), sizes)
    return Entries(term=entries["term"], row=rows, count=entries["count"])


def _arrays(part: Columns | Entries) -> list[Array]:
    return [getattr(part, name) for name in part.__struct_fields__]


def _by_field(kind: type[Struct], arrays: Sequence[Array]) -> dict[str, Array]:
    return dict(zip(kind.__struct_fields__, arrays, strict=True))
