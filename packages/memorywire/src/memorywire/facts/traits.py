"""Frames for traits of people: what they are, like, eat and can do."""

import re
from itertools import pairwise

from memorywire.facts.clauses import Clause, Voice, Who
from memorywire.facts.phrases import (
    DATED,
    PASSING,
    RECURRING,
    Reading,
    find_word,
    is_person,
    is_specific,
    is_vague,
    phrase,
    tool_slot,
)
from memorywire.facts.words import (
    CONDITIONS,
    JOB_ENDINGS,
    JOBS,
    MONTHS,
    NATIONS,
    NOT_JOBS,
    PEOPLE,
    RULES_OF_FOOD,
    SLOT_OF_NOUN,
    STATES,
    TOOLS,
    VAGUE,
    WEEKDAYS,
)
from memorywire.model.label import Kind

_AGE = re.compile(
    r"(?:nearly |almost )?(?:1[0-9]|[2-9][0-9]|1[01][0-9]|[3-9])(?: years? old)?(?=$|[.,!;]| (?:on|in"
    r"|and|now|next|today|years|this|yesterday|last))"
)


_HEIGHT = re.compile(r"(?:about |around )?(?:\d'\d|\d{3} ?cm|\d\.\d+ ?m\b|\d feet|\d foot)")


_ALLERGIC = frozenset("allergic intolerant sensitive hypersensitive anaphylactic".split())


_SMALL = frozenset("one two three four five six seven eight nine ten eleven twelve".split())


_EMPLOYED = frozenset("retired unemployed self-employed freelance".split())


_FOND = frozenset("into keen fond mad crazy obsessed passionate nuts hooked partial".split())


_SCARED = frozenset("scared afraid terrified frightened petrified sick tired".split())


def read_bare(clause: Clause) -> Reading | None:
    """Read a verb without an object: `I smoke`, `my partner doesn't drink`, `I don't drive`."""
    is_habit = clause.voice is Voice.PRESENT and clause.modal in (None, "can") and is_person(clause)
    if not is_habit or clause.lemma not in _HABITS:
        return None
    kind = Kind.CONSTRAINT if clause.negative else Kind.PREFERENCE
    return Reading(kind, clause.lemma, clause.lemma, clause.negative)


_HABITS = frozenset("rent drink smoke drive fly swim cook ski cycle".split())


def read_health(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    allergic = find_word(words, _ALLERGIC, 3)
    if allergic is not None:
        _, _, cause = rest.partition(" to ")
        value = phrase(cause) if cause else "" if words[0] == allergic else words[0]
        vague = not value or value.split()[0].lower() in VAGUE
        return None if vague else Reading(Kind.CONSTRAINT, "allergy", value, clause.negative)
    words = [*words[:4], *map("-".join, pairwise(words[:4]))]
    rule = find_word(words, RULES_OF_FOOD, 8)
    if rule is not None:
        return Reading(Kind.CONSTRAINT, "diet", rule, clause.negative)
    condition = find_word(words, CONDITIONS, 8)
    if condition is not None or rest.startswith("hard of hearing"):
        return Reading(Kind.CONSTRAINT, "health", phrase(rest), clause.negative)
    return None


def _read_trait(rest: str, negative: bool) -> Reading | None:
    """Read a trait after `be`: a medicine, a diet, a size, a taste, a duty or leave."""
    if re.match(
        r"(?:in charge of|responsible for|on (?:maternity|paternity|parental|sick|annual) leave"
        r"|self-taught)\b",
        rest,
    ):
        return Reading(Kind.IDENTITY, "job", phrase(rest), negative)
    if re.match(r"more of an? [\w ]+ person", rest):
        return Reading(Kind.PREFERENCE, "likes", phrase(rest), negative)
    if re.match(r"on an? [\w-]+ diet\b", rest):
        return Reading(Kind.CONSTRAINT, "diet", phrase(rest[3:]), negative)
    if re.match(
        r"on (?:[a-z]+ )?(?:antidepressants|medication|insulin|statins|antibiotics"
        r"|blood thinners|chemo|hrt|steroids|the pill)\b",
        rest,
    ):
        return Reading(Kind.CONSTRAINT, "medication", phrase(rest[3:]), negative)
    if re.match(r"an? size \w+", rest):
        return Reading(Kind.IDENTITY, "size", phrase(rest.partition("size ")[2]), negative)
    if re.match(r"an? [\w' ]{2,30} (?:fan|lover|enthusiast|addict|buff|nerd)\b", rest):
        return Reading(Kind.PREFERENCE, "likes", phrase(rest), negative)
    return None


def read_identity(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    first, negative = words[0], clause.negative
    if first in ("on", "in") and (
        set(words[:7]) & {"plan", "tier", "subscription", "tariff", "package", "timezone"}
    ):
        slot = "timezone" if "timezone" in words[:7] else "plan"
        return Reading(Kind.CONFIGURATION, slot, phrase(rest.partition(" ")[2]), negative)
    trait = _read_trait(rest, negative)
    if trait is not None:
        return trait
    if first in ("from", "based") and is_specific(rest):
        slot = "origin" if first == "from" else "home"
        return Reading(
            Kind.IDENTITY, slot, phrase(rest.split(" ", 1 if first == "from" else 2)[-1]), negative
        )
    if first in _FOND and len(words) > 2 and words[1] in ("on", "of", "about", "with", "to"):
        return (
            None
            if words[2] in VAGUE
            else Reading(Kind.PREFERENCE, "likes", phrase(rest.split(" ", 2)[2]), negative)
        )
    if first == "into" and not is_vague(words[1:] or ["it"]):
        return Reading(Kind.PREFERENCE, "likes", phrase(rest[5:]), negative)
    if first in _SCARED and len(words) > 2 and words[1] == "of" and words[2] not in VAGUE:
        return Reading(Kind.PREFERENCE, "dislikes", phrase(rest.split(" ", 2)[2]), not negative)
    if clause.subject.who is not Who.USER and words[0] in _SMALL and len(words) < 3:
        return Reading(Kind.RELATION, "age", words[0], negative)
    if first == "on" and find_word(words, TOOLS, 3) and clause.subject.who is not Who.PERSON:
        return Reading(Kind.CONFIGURATION, tool_slot(words) or "tool", phrase(rest[3:]), negative)
    if _AGE.match(rest):
        return Reading(Kind.IDENTITY, "age", re.findall(r"\d+", rest)[0], negative)
    if _HEIGHT.match(rest):
        return Reading(Kind.IDENTITY, "height", phrase(rest), negative)
    return _read_role(clause, rest, words)


def _read_role(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """Read a noun after `be`: a job, a relation, a nationality, a name."""
    negative = clause.negative
    if words[0] in ("my", "our") and find_word(words, PEOPLE, 4) and clause.subject.who is Who.PERSON:
        relation = find_word(words, PEOPLE, 4) or ""
        return Reading(Kind.RELATION, SLOT_OF_NOUN.get(relation, relation), clause.subject.text, negative)
    state = find_word([*words[:2], "-".join(words[:2])], STATES, 3)
    if (
        state is not None
        and (words[:2][-1] != "to" or is_specific(rest))
        and not re.match(r"\w+ to (?:my|the)", rest)
    ):
        return Reading(
            Kind.IDENTITY, "employment" if state in _EMPLOYED else "marital_status", state, negative
        )
    if words[0] in NATIONS or (
        words[0] in ("half", "a", "an") and words[1:2] and words[1] in NATIONS and not _find_job(words)
    ):
        return Reading(Kind.IDENTITY, "nationality", phrase(rest), negative)
    if _is_job(rest, words):
        return Reading(Kind.IDENTITY, "job", phrase(rest), negative)
    if re.match(
        r"(?:an? )?(?:only child|twin|identical twin|member of|mother of|father of|mum of|dad of|parent of"
        r"|single (?:mum|mom|dad|parent|mother|father)|night owl|early (?:bird|riser)|morning person"
        r"|(?:big |huge )?fan of"
        r"|dog person|cat person|vegetarian|smoker|non-smoker|citizen|resident|homeowner|native"
        r"|(?:the )?(?:eldest|oldest|youngest|middle) )",
        rest,
    ):
        if "fan of" in rest[:14]:
            return Reading(Kind.PREFERENCE, "likes", phrase(rest.partition(" of ")[2]), negative)
        return Reading(Kind.IDENTITY, "membership" if "member" in words[:3] else None, phrase(rest), negative)
    if clause.subject.who is Who.PERSON and clause.subject.is_own and rest[:1].isupper():
        slot = SLOT_OF_NOUN.get(clause.subject.head, clause.subject.head)
        return Reading(Kind.RELATION, slot, phrase(rest), negative)
    if clause.subject.who is Who.USER and _is_own_name(rest, words):
        return Reading(Kind.IDENTITY, "name", phrase(rest), negative)
    return None


def _is_own_name(rest: str, words: list[str]) -> bool:
    name = phrase(rest)
    return (
        0 < len(name.split()) < 4
        and rest[0].isupper()
        and all(part[0].isupper() and part.isalpha() for part in name.split())
        and words[0] not in _NATIONS_OR_MONTHS_ETC
        and not rest.isupper()
    )


def _find_job(words: list[str]) -> str | None:
    for word in words[:6]:
        if word in ("at", "for", "in", "of", "with", "who", "and"):
            return None
        if word in JOBS or (word.endswith(JOB_ENDINGS) and word not in NOT_JOBS):
            return word
    return None


def _is_job(rest: str, words: list[str]) -> bool:
    """Whether these words name a job: `a nurse`, `the only UX researcher`, `head of sales`, `CTO at Acme`."""
    job = _find_job(words)
    if job is None:
        return False
    if words[0] in ("a", "an", "the"):
        return True
    return (
        words[0] == job
        or rest[:1].isupper()
        or words[0] in ("head", "retired", "currently", "chief", "senior")
    )


def read_schedule(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    if clause.voice is Voice.PERFECT and words[0] == "to" and is_specific(rest):
        return Reading(Kind.EVENT, "trip", phrase(rest[3:]), clause.negative)
    if words[0] == "due" and DATED.search(rest):
        return Reading(Kind.PLAN, "due", phrase(rest), clause.negative)
    if words[0] in ("free", "available", "busy") and "this" in words[1:3]:
        return None
    if words[0] in ("out", "off", "away", "free", "available", "busy", "unavailable", "on", "in", "at"):
        if RECURRING.search(rest) and words[0] != "in":
            return Reading(Kind.PROCEDURE, "schedule", phrase(rest), clause.negative)
        if (
            DATED.search(rest)
            and words[0] in ("out", "off", "away", "unavailable", "on")
            and clause.voice is not Voice.PAST
        ):
            return Reading(Kind.PLAN, "schedule", phrase(rest), clause.negative)
    return None


_NATIONS_OR_MONTHS_ETC = NATIONS | MONTHS | WEEKDAYS | TOOLS | PASSING
