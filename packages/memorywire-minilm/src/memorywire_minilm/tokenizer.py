"""Converts a text to the WordPiece token ids that BERT's uncased models were trained on."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from unicodedata import normalize

from memorywire_minilm.characters import DROPPED, IDEOGRAPHS, MARKS, PUNCTUATION
from memorywire_minilm.vocabulary import Vocabulary

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
    """A table for `str.translate` that computes the entry of a character on its first use."""

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
        """Return the words of `text`, in order."""
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


class Tokenizer:
    """Encodes texts with a fixed vocabulary; safe to share between threads."""

    def __init__(self, vocabulary: Vocabulary, limit: int) -> None:
        """`limit` is the maximum number of ids of a text."""
        self._vocabulary = vocabulary
        self._limit = limit
        self._words = Normaliser().words
        self._pieces = lru_cache(CACHED_WORDS)(self._split)
        self._unreadable = vocabulary.unreadable
        self._first, self._last = vocabulary["[CLS]"], vocabulary["[SEP]"]
        self._unknown = (vocabulary["[UNK]"],)

    def is_readable(self, ids: Sequence[int]) -> bool:
        """Return whether the model understands at least half of the pieces of an encoded text."""
        if self._unreadable.isdisjoint(ids):  # the usual case
            return True
        pieces = ids[1:-1]
        return 2 * sum(index in self._unreadable for index in pieces) <= len(pieces)

    def encode(self, text: str) -> list[int]:
        """Return the ids of `text`, starting with [CLS] and ending with [SEP], cut to the limit."""
        ids = [self._first]
        for index, part in enumerate(SPECIAL.split(text) if "[" in text else (text,)):
            if index % 2:
                ids.append(self._vocabulary[part])
            else:
                self._extend(ids, part)
        del ids[self._limit - 1 :]
        ids.append(self._last)
        return ids

    def words(self, text: str) -> list[str]:
        """Return the word of each id of `text`, in order, without [CLS] and [SEP]."""
        words: list[str] = []
        for index, part in enumerate(SPECIAL.split(text) if "[" in text else (text,)):
            split = (part,) if index % 2 else self._words(part)
            words += [word for word in split for _ in (range(1) if index % 2 else self._pieces(word))]
            if len(words) >= self._limit:
                break
        return words[: self._limit - 2]

    def _extend(self, ids: list[int], part: str) -> None:
        for word in self._words(part):
            ids += self._pieces(word)
            if len(ids) >= self._limit:
                return

    def _split(self, word: str) -> tuple[int, ...]:
        """Return the longest pieces of `word` from left to right, or [UNK] if one is missing."""
        if len(word) > LONGEST_WORD:
            return self._unknown
        pieces: list[int] = []
        start, prefix = 0, ""
        while start < len(word):
            longest = self._find_longest(word, start, prefix)
            if longest is None:
                return self._unknown
            piece, start = longest
            pieces.append(piece)
            prefix = "##"
        return tuple(pieces)

    def _find_longest(self, word: str, start: int, prefix: str) -> tuple[int, int] | None:
        for end in range(min(len(word), start + self._vocabulary.longest), start, -1):
            piece = self._vocabulary.get(prefix + word[start:end])
            if piece is not None:
                return piece, end
        return None
