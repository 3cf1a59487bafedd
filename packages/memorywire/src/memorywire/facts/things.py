"""Frames for things: possessions, attributes, configuration."""

import re

from memorywire.facts.clauses import Clause, Who, bare
from memorywire.facts.phrases import (
    PASSING,
    RECURRING,
    Reading,
    find_word,
    is_specific,
    is_vague,
    phrase,
    tool_slot,
)
from memorywire.facts.words import (
    CONFIGURED,
    FOODS,
    MEETINGS,
    PEOPLE,
    PETS,
    SLOT_OF_NOUN,
    TASTES,
    THINGS,
    TOOLS,
    VAGUE,
    WEEKDAYS,
)
from memorywire.model.label import Kind

_OUT = re.compile(
    r"(?:strictly |completely |all |both )?(?:out(?: of the question)?|off(?: the (?:table|menu)"
    r"|[- ]limits)|a no-?go|a (?:hard|firm|big|definite) no|a no (?:from|for) me|no good for me"
    r"|not an option|not for me|banned|forbidden|prohibited|too much for me)(?=$|[.,;!]| (?:for|since"
    r"|because|until|while|to|me|these|on|in|at))"
)


_PASSING_THINGS = frozenset(
    """
    screen battery code build page question answer problem issue point guess error result output package
    delivery connection internet signal message request response mood brain life bad
    """.split()
)
"""Things whose states are temporary."""


def read_thing_is(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """Read `be` with a thing: a possession or attribute of its owner, a configuration, or an exclusion."""
    subject = clause.subject
    if _OUT.match(rest) or (clause.negative and words[0] in ("for", "an") and "option" in words[:3]):
        return _read_ruled_out(clause, rest)
    if re.match(r"(?:gone|off|cancelled|canceled|history|dead|down|broken|slow|late)\b", rest):
        return None
    if "favourite" in subject.text.lower() or "favorite" in subject.text.lower():
        return (
            None if words[0] in VAGUE else Reading(Kind.PREFERENCE, "favourite_" + subject.head, phrase(rest))
        )
    head = subject.head
    taste = re.match(
        r"my (?:absolute |all-time )?favou?rite|the best way to reach me|my (?P<rank>first"
        r"|native) language",
        rest,
    )
    if taste is not None:
        is_language = taste["rank"] is not None
        slot = "language" if is_language else "favourite" if "fav" in taste.group() else "contact"
        kind = Kind.IDENTITY if is_language else Kind.PREFERENCE
        return Reading(kind, slot, phrase(subject.text), clause.negative)
    if (
        words[0] in ("on", "at", "every")
        and RECURRING.search(rest)
        and not clause.negative
        and head not in _PASSING_THINGS
    ):
        return Reading(Kind.PROCEDURE, head, phrase(rest))
    if head in WEEKDAYS and words[0] == "for":
        return Reading(Kind.PROCEDURE, "schedule", phrase(rest[4:]))
    if re.search(r"\bfor me$", subject.text) and words[0] not in VAGUE:
        return Reading(Kind.PREFERENCE, _first_word(subject.text), phrase(rest))
    if clause.modal in ("should", "must") or (clause.modal is None and words[0] == "to"):
        return _read_rule(clause, rest, words)
    return None if clause.negative else _read_attribute(clause, rest, words)


def _read_attribute(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """Read an attribute with a name or number; the owner and the noun of the thing determine the kind."""
    subject, head = clause.subject, clause.subject.head
    slot = SLOT_OF_NOUN.get(head)
    is_attribute = slot in ("pronouns", "language", "religion", "job", "diet", "size") and subject.is_own
    if head in _PASSING_THINGS or "%" in rest:
        return None
    if not is_specific(rest) and not (is_attribute and words[0] not in _VAGUE_OR_PASSING):
        return None
    owner = next((word for word in map(_genitive, subject.text.split()) if word in PEOPLE), None)
    if owner is not None:
        return Reading(Kind.RELATION, SLOT_OF_NOUN.get(owner, owner), phrase(rest))
    if head in MEETINGS and head not in ("birthday", "anniversary"):
        return Reading(Kind.PLAN, head, phrase(rest))
    if head in PETS or (head in THINGS and head not in CONFIGURED):
        return Reading(Kind.POSSESSION, slot or head, phrase(rest))
    if head == "number" or (subject.is_own and slot is not None and head not in CONFIGURED):
        return Reading(Kind.IDENTITY, slot or _noun_slot(subject.text, head), phrase(rest))
    if head in CONFIGURED or find_word([bare(word) for word in subject.text.split()], CONFIGURED):
        return Reading(Kind.CONFIGURATION, slot or head, phrase(rest))
    if slot is not None or subject.is_own:
        return Reading(Kind.IDENTITY, slot or _noun_slot(subject.text, head), phrase(rest))
    if head in TOOLS:
        return Reading(Kind.CONFIGURATION, tool_slot([head]) or head, phrase(rest))
    return None


def _first_word(text: str) -> str:
    return bare(text.split()[0])


def _genitive(word: str) -> str:
    return bare(word).removesuffix("'s") if word.endswith(("'s", "'")) else ""


def _noun_slot(text: str, head: str) -> str:
    if head == "number":
        before = next(
            (bare(word) for word in text.split() if bare(word) in ("phone", "mobile", "cell", "telephone")),
            None,
        )
        return "phone" if before else f"{_first_word(text.split(' ', 1)[-1])}_number"
    known = next((SLOT_OF_NOUN[word] for word in map(bare, text.split()) if word in SLOT_OF_NOUN), None)
    return known or re.sub(r"\W+", "_", head).strip("_")


def _read_ruled_out(clause: Clause, rest: str) -> Reading | None:
    thing = phrase(clause.subject.text)
    if (
        re.match(r"off(?:$|[.!,])|out(?:$|[.!,])", rest)
        and clause.subject.head not in FOODS
        and not re.search(r"\b(?:for me|with|place|any)\b", f"{clause.subject.text} {rest}")
    ):
        return None
    return Reading(Kind.CONSTRAINT, "ruled_out", thing, True)


def _read_rule(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """Read a rule of the work: `should`, `must` or `is to`."""
    subject = clause.subject
    if subject.who is not Who.THING or is_vague(words):
        return None
    is_rule = subject.head in _CONFIGURED_OR_TASTES_ETC and subject.head.endswith("s")
    if is_rule or subject.is_own or subject.head == "address":
        slot = SLOT_OF_NOUN.get(subject.head, "address" if subject.head == "address" else subject.head)
        kind = Kind.IDENTITY if slot == "address" else Kind.CONSTRAINT
        return Reading(kind, slot, phrase(rest), clause.negative)
    return None


_VAGUE_OR_PASSING = VAGUE | PASSING
_CONFIGURED_OR_TASTES_ETC = CONFIGURED | TASTES | MEETINGS
