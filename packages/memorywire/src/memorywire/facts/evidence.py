"""Checks whether a conversation supports a fact that a model extracted from it."""

import re
from collections.abc import Iterator
from enum import Enum

from msgspec import Struct

from memorywire.facts.reader import Act, opens_supposition, read_turn
from memorywire.facts.retractions import find_key_words, is_about
from memorywire.facts.sentences import (
    has_quotation,
    is_hearsay,
    is_question,
    is_unreal,
    is_unserious,
    quotes_after_colon,
    split_sentences,
    takes_all_back,
)

_NEGATION = re.compile(r"\b(?:not|never|no|none|neither|nor|without|cannot)\b|n['’]t\b", re.I)


class _Bearing(Enum):
    """Whether a sentence asserts something, denies something, or does neither."""

    SAYS = "says"
    DENIES = "denies"
    NEITHER = "neither"


class _Sentence(Struct, frozen=True):
    bearing: _Bearing
    words: frozenset[str]


class Evidence:
    """The sentences of a conversation in order, classified as assertions, denials or neither."""

    def __init__(self) -> None:
        self._sentences: list[_Sentence] = []
        self._retractions: list[tuple[int, str]] = []

    def add(self, content: str) -> None:
        """Add the sentences and the retractions of one turn."""
        self._sentences += _read_sentences(content)
        targets = [one.text for one in read_turn(content) if one.act is Act.RETRACT]
        self._retractions += [(len(self._sentences), target) for target in targets]

    def supports(self, fact: str) -> bool:
        """Whether these turns support the fact.

        They do not if a person retracts or denies it, or if the most similar sentence is a question, a
        quotation, a hypothesis or a joke. Words that are in no sentence do not count against the fact,
        because the model may have translated them.
        """
        words = find_key_words(fact)
        if any(is_about(fact, target) for place, target in self._retractions if not self._said(words, place)):
            return False
        is_denial = _NEGATION.search(fact) is not None
        nearest = max((len(words & one.words) for one in self._sentences), default=0)
        for one in self._sentences:
            if one.bearing is _Bearing.NEITHER or len(words & one.words) < nearest:
                continue
            if one.bearing is _Bearing.SAYS or is_denial or not words <= one.words:
                return True
        return False

    def _said(self, words: frozenset[str], place: int) -> bool:
        """Whether a sentence from this index on asserts these words again."""
        later = self._sentences[place:]
        return any(one.bearing is _Bearing.SAYS and words and words <= one.words for one in later)


def _read_sentences(content: str) -> Iterator[_Sentence]:
    is_story = False
    for sentence in split_sentences(content):
        is_story = is_story or is_unserious(sentence) or opens_supposition(sentence)
        bearing = _Bearing.NEITHER if is_story or takes_all_back(sentence) else _weigh(sentence)
        yield _Sentence(bearing, find_key_words(sentence))


def _weigh(sentence: str) -> _Bearing:
    if is_question(sentence) or has_quotation(sentence) or quotes_after_colon(sentence):
        return _Bearing.NEITHER
    statements = read_turn(sentence)
    facts = [one.text for one in statements if one.act is Act.ASSERT]
    if not facts and (statements or is_unreal(sentence) or is_hearsay(sentence)):
        return _Bearing.NEITHER
    is_denial = all(_NEGATION.search(text) for text in facts or [sentence])
    return _Bearing.DENIES if is_denial else _Bearing.SAYS
