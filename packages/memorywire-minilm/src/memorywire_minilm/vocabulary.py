"""The word pieces of the model and their ids, in a hash table stored ready to use.

Building a dict of the 30,522 pieces took 7.6 ms of every start, most of the time of a short command. So
`tools/pack_vocabulary.py` builds an open-addressing hash table once: `vocab.bin` has the slots, and the
offset of each piece in `vocab.txt`. A lookup is slower than in a dict, but a word is looked up only once: the
tokenizer caches the pieces of words.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from struct import Struct
from zlib import crc32

SLOTS = 1 << 16  # twice the number of pieces, so most probes end at the first slot
_HEADER = Struct("<8s3I")
_MAGIC = b"MWVOCAB1"


class Vocabulary:
    """Looks up word pieces. `text` is the content of vocab.txt, `table` that of vocab.bin.

    Raises ValueError if the two do not match.
    """

    def __init__(self, text: bytes, table: bytes) -> None:
        magic, size, pieces, unreadable = _HEADER.unpack(table[: _HEADER.size].ljust(_HEADER.size, b"\0"))
        length = _HEADER.size + 2 * SLOTS + 4 * (pieces + 1) + 2 * unreadable + 1
        if magic != _MAGIC or (size, length) != (len(text), len(table)):
            raise ValueError("the vocabulary and its table do not match")
        self._text = text
        start = _HEADER.size
        self._slots, start = _read("H", table, start, SLOTS)
        self._starts, start = _read("I", table, start, pieces + 1)
        ids, start = _read("H", table, start, unreadable)
        self.unreadable = frozenset(ids)
        """The ids of [UNK] and of single letters of scripts whose words the vocabulary lacks."""
        self.longest = table[start]  # in characters

    def get(self, piece: str) -> int | None:
        """Return the id of a piece, or None."""
        key = piece.encode("utf-8", "surrogatepass")
        slot = crc32(key) % SLOTS
        while found := self._slots[slot]:
            if self._text[self._starts[found - 1] : self._starts[found] - 1] == key:
                return found - 1
            slot = (slot + 1) % SLOTS
        return None

    def __getitem__(self, piece: str) -> int:
        index = self.get(piece)
        if index is None:
            raise KeyError(piece)
        return index


def build_table(text: bytes) -> bytes:
    """Build the table of a vocabulary with one piece per line, in the order of their ids."""
    pieces = text.decode().splitlines()
    slots, starts = array("H", bytes(2 * SLOTS)), array("I", [0])
    for index, piece in enumerate(pieces):
        key = piece.encode()
        slot = crc32(key) % SLOTS
        while slots[slot]:
            slot = (slot + 1) % SLOTS
        slots[slot] = index + 1
        starts.append(starts[-1] + len(key) + 1)
    unreadable = array("H", [index for index, piece in enumerate(pieces) if _is_unreadable(piece)])
    head = _HEADER.pack(_MAGIC, len(text), len(pieces), len(unreadable))
    return b"".join([head, *map(_to_bytes, (slots, starts, unreadable)), bytes([max(map(len, pieces))])])


def _is_unreadable(piece: str) -> bool:
    letter = piece.removeprefix("##")
    return piece == "[UNK]" or (len(letter) == 1 and not letter.isascii())


def _read(kind: str, table: bytes, start: int, count: int) -> tuple[Sequence[int], int]:
    values = array(kind)
    end = start + count * values.itemsize
    values.frombytes(table[start:end])
    if sys.byteorder == "big":
        values.byteswap()
    return values, end


def _to_bytes(values: array[int]) -> bytes:
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()
