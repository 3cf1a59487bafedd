"""Reads what kind of fact a sentence states."""

import re
from functools import cache
from re import Pattern

from memorywire.model.label import Kind, Label

_SUBJECT = r"(?P<subject>I|The user|[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?)"
_VALUE = r"(?P<value>[^.!?;,\n]{2,120}?)(?=[.!?;,]|$| because | and | but )"
_FORMS: tuple[tuple[str, Kind, str | None, bool], ...] = (
    (rf"{_SUBJECT} (?:am|is|'m) allergic to {_VALUE}", Kind.CONSTRAINT, "allergy", True),
    (
        rf"{_SUBJECT} (?:am|is) (?:an? )?(?P<value>vegan|vegetarian|pescatarian)\b",
        Kind.CONSTRAINT,
        "diet",
        False,
    ),
    (rf"(?P<subject>)(?:Always|Never) {_VALUE}", Kind.CONSTRAINT, None, False),
    (rf"{_SUBJECT} (?:likes?|loves?|prefers?|enjoys?) {_VALUE}", Kind.PREFERENCE, "likes", False),
    (rf"{_SUBJECT} (?:lives?|is living) in {_VALUE}", Kind.IDENTITY, "home", False),
    (rf"{_SUBJECT} works? (?:at|for) {_VALUE}", Kind.IDENTITY, "employer", False),
)


@cache
def _forms() -> list[tuple[Pattern[str], Kind, str | None, bool]]:
    return [(re.compile(pattern), kind, slot, negative) for pattern, kind, slot, negative in _FORMS]


def label_text(text: str, *, at: int | None = None) -> Label | None:
    """The label of a text; None if it states no fact of a known kind."""
    for pattern, kind, slot, negative in _forms():
        match = pattern.match(text)
        if match is not None:
            subject = {"": None, "I": "user", "The user": "user"}.get(match["subject"], match["subject"])
            value = match["value"].strip()
            return Label(kind=kind, subject=subject, slot=slot, value=value, negative=negative)
    return None
