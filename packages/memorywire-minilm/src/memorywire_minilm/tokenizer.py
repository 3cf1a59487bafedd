"""Turns a text into the WordPiece token ids that BERT's uncased models were trained on."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from unicodedata import normalize

from memorywire_minilm.characters import DROPPED, IDEOGRAPHS, MARKS, PUNCTUATION

LONGEST_WORD = 100
CACHED_WORDS = 32_768
SPECIAL = re.compile(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")


class Ranges:
    """A set of code points, written as hexadecimal ranges."""

    def __init__(self, text: str) -> None:
        pairs = [part.partition("-") for part in text.split()]
        self._bounds = [
            bound for first, _, last in pairs for bound in (int(first, 16), int(last or first, 16) + 1)
        ]

    def __contains__(self, point: int) -> bool:
        return bisect_right(self._bounds, point) % 2 == 1


class Table(dict[int, str]):
    """A table for `str.translate` that is filled in by a rule as characters are met."""

    def __init__(self, rule: Callable[[int], str]) -> None:
        self._rule = rule

    def __missing__(self, point: int) -> str:
        self[point] = text = self._rule(point)
        return text


class Normaliser:
    """Splits a text into lower-case words without accents, each punctuation mark a word."""

    def __init__(self) -> None:
        self._dropped = Ranges(DROPPED)
        self._ideographs = Ranges(IDEOGRAPHS)
        self._marks = Ranges(MARKS)
        self._punctuation = Ranges(PUNCTUATION)
        self._cleaned = Table(self._clean)
        self._folded = Table(self._fold)

    def words(self, text: str) -> list[str]:
        """The words of `text`, in order."""
        if not text.isascii():
            text = normalize("NFD", text.translate(self._cleaned))
        return text.translate(self._folded).split()

    def _clean(self, point: int) -> str:
        character = chr(point)
        if character in "\t\n\r":
            return " "
        if point in self._dropped:
            return ""
        if character.isspace():
            return " "
        return f" {character} " if point in self._ideographs else character

    def _fold(self, point: int) -> str:
        if point in self._marks:
            return ""
        if point in self._punctuation:
            return f" {chr(point)} "
        return self._clean(point).lower()


def _is_mute(piece: str) -> bool:
    """The unknown piece, and single letters of scripts that the English vocabulary only spells."""
    letter = piece.removeprefix("##")
    return piece == "[UNK]" or (len(letter) == 1 and not letter.isascii())


class Tokenizer:
    """Encodes texts with a fixed vocabulary; safe to share between threads."""

    def __init__(self, vocabulary: Iterable[str], limit: int) -> None:
        """`vocabulary` in the order of its ids; `limit` is the most ids a text may have."""
        self._ids = {piece: index for index, piece in enumerate(vocabulary)}
        self._longest = max(map(len, self._ids))
        self._limit = limit
        self._words = Normaliser().words
        self._pieces = lru_cache(CACHED_WORDS)(self._split)
        self._mute = frozenset(index for piece, index in self._ids.items() if _is_mute(piece))
        self._first, self._last = self._ids["[CLS]"], self._ids["[SEP]"]

    def understood(self, ids: Sequence[int]) -> bool:
        """Whether at least half of the pieces of an encoded text mean something to the model."""
        if self._mute.isdisjoint(ids):  # as mostly
            return True
        pieces = ids[1:-1]
        return 2 * sum(index in self._mute for index in pieces) <= len(pieces)

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, opened by [CLS], closed by [SEP], cut to the limit."""
        ids = [self._first]
        for index, part in enumerate(SPECIAL.split(text) if "[" in text else (text,)):
            if index % 2:
                ids.append(self._ids[part])
            else:
                self._extend(ids, part)
        del ids[self._limit - 1 :]
        ids.append(self._last)
        return ids

    def _extend(self, ids: list[int], part: str) -> None:
        for word in self._words(part):
            ids += self._pieces(word)
            if len(ids) >= self._limit:
                return

    def _split(self, word: str) -> tuple[int, ...]:
        """The longest pieces of `word` from left to right, or [UNK] when one is missing."""
        unknown = (self._ids["[UNK]"],)
        if len(word) > LONGEST_WORD:
            return unknown
        pieces: list[int] = []
        start, prefix = 0, ""
        while start < len(word):
            found = self._longest_piece(word, start, prefix)
            if found is None:
                return unknown
            piece, start = found
            pieces.append(piece)
            prefix = "##"
        return tuple(pieces)

    def _longest_piece(self, word: str, start: int, prefix: str) -> tuple[int, int] | None:
        for end in range(min(len(word), start + self._longest), start, -1):
            piece = self._ids.get(prefix + word[start:end])
            if piece is not None:
                return piece, end
        return None
