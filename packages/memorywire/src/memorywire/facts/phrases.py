"""Functions on phrases: their end, whether they name something specific, and the classes of their words."""

import re
from typing import NamedTuple

from memorywire.facts.clauses import Clause, Who, bare
from memorywire.facts.words import (
    DATABASES,
    EDITORS,
    LANGUAGES_OF_CODE,
    MONTHS,
    QUEUES,
    SYSTEMS,
    TOOLS,
    VAGUE,
    WEEKDAYS,
)
from memorywire.model.label import Kind

RECURRING = re.compile(
    r"\b(?:every|each|daily|weekly|monthly|nightly|fortnightly|twice a|once a|times a"
    r"|in the (?:mornings?|evenings?)"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun|week)days?(?: nights?| mornings?| evenings?)?|weekends?"
    r"|at (?:\d|six|seven|eight|nine|ten|eleven|five|noon|midnight|half|quarter)|\d ?[ap]m)\b",
    re.I,
)


DATED = re.compile(
    r"\b(?:\d{1,2}(?:st|nd|rd|th)|\d{4}-\d\d-\d\d|(?:on|in|by|until|before|after|from"
    r"|since) (?:the )?\d{1,4}|tomorrow"
    r"|next (?:week|month|year|spring|summer|autumn|winter|fall|\w+day)|(?:mon|tues|wednes|thurs|fri"
    r"|satur|sun)day"
    r"|this (?:summer|spring|autumn|winter|weekend|year|month|week)|(?i:january|february|march|april"
    r"|june|july|august"
    r"|september|october|november|december|easter|christmas|spring|summer|autumn|winter)|May)\b",
    re.I,
)


ACCESS = re.compile(
    r"\b(?:wheelchair|step-free|ramp|lift access|large (?:print|text|fonts?)|subtitles|captions"
    r"|screen[- ]reader|braille"
    r"|sign language|interpreter|hearing (?:aids?|loop)|crutches|walking (?:stick|frame)|cane|guide dog"
    r"|service dog"
    r"|quiet (?:room|place)|high contrast|gluten[- ]free|dairy[- ]free|nut[- ]free|pacemaker|oxygen"
    r"|prosthe\w+)\b",
    re.I,
)


PASSING = frozenset(
    """
    sorry tired sure bored sick happy sad glad here back done ready late lost stuck confused curious
    afraid angry excited hungry thirsty busy fine ok okay good great well right wrong not trying looking
    wondering thinking hoping waiting having getting doing asking talking about
    """.split()
)


_STARTS_OF_TALK = frozenset(
    "idea way second first third last sound look other one result design answer".split()
)


class Reading(NamedTuple):
    """The fact that a clause states."""

    kind: Kind
    slot: str | None
    value: str | None
    negative: bool = False


def phrase(text: str) -> str:
    """Return the words up to the end of the phrase, without articles and punctuation."""
    text = _PHRASE_END.split(text, maxsplit=1)[0]
    text = _LATE.sub("", text.rstrip(" .,;:!?"))
    return _ARTICLE.sub("", text).strip(" .,;:!?\"'`")[:120]


_PHRASE_END = re.compile(
    r"[.!?](?:\s|$)|[,;:]|\s(?:because|since|but|so|when|if|and (?:I|we|my|it|they|he|she)|which"
    r"|although|though|until)\s"
)


_LATE = re.compile(
    r"\s+(?:now|currently|these days|nowadays|at the moment|again|too|as well|though|instead|already)$"
)
_ARTICLE = re.compile(r"^(?:a|an|the|some|any|about|my|our)\s+", re.I)


def is_specific(text: str) -> bool:
    """Whether the text has a name, a number, a date, a path, a quoted word or a known tool."""
    return any(
        (word[0].isupper() and word not in ("I", "I'm", "I've", "I'd"))
        or word[0] in "`\"'/"
        or "://" in word
        or any(char.isdigit() or char in "@/_" for char in word)
        for word in text.split()
    ) or any(bare(word) in WEEKDAYS or bare(word) in MONTHS or bare(word) in TOOLS for word in text.split())


def find_word(words: list[str], classes: frozenset[str], count: int = 6) -> str | None:
    """Return the first of these words that is in the class; None if there is none."""
    return next((word for word in words[:count] if word in classes), None)


def is_vague(words: list[str]) -> bool:
    return words[0] in VAGUE or (words[0] == "the" and len(words) > 1 and words[1] in _STARTS_OF_TALK)


def is_person(clause: Clause) -> bool:
    return clause.subject.who is not Who.THING


def tool_slot(words: list[str]) -> str | None:
    for word in words:
        for slot, names in (
            ("database", DATABASES),
            ("editor", EDITORS),
            ("system", SYSTEMS),
            ("queue", QUEUES),
        ):
            if word in names:
                return slot
    return "skill" if find_word(words, LANGUAGES_OF_CODE) else None
