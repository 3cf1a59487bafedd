"""What people have and how things are: possessions, attributes, configuration."""

import re

from memorywire.facts.clauses import Clause, Voice, Who, bare
from memorywire.facts.phrases import (
    ACCESS,
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
    CONFIGURED,
    EVENTS,
    FOODS,
    ILLNESSES,
    KIN,
    MEETINGS,
    PAPERS,
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
"""Things whose state says nothing that lasts."""


def read_thing_is(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """A thing is something: its owner's possession or attribute, a configuration, or ruled out."""
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
    """A thing is something by name or number: whose thing it is and its noun decide the kind."""
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
    """What should or must be so: a rule of the work."""
    subject = clause.subject
    if subject.who is not Who.THING or is_vague(words):
        return None
    is_rule = subject.head in _CONFIGURED_OR_TASTES_ETC and subject.head.endswith("s")
    if is_rule or subject.is_own or subject.head == "address":
        slot = SLOT_OF_NOUN.get(subject.head, "address" if subject.head == "address" else subject.head)
        kind = Kind.IDENTITY if slot == "address" else Kind.CONSTRAINT
        return Reading(kind, slot, phrase(rest), clause.negative)
    return None


def read_have(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    if words[0] == "to":
        if (
            clause.subject.who is Who.THING
            and clause.subject.head in _CONFIGURED_OR_TASTES
            and is_specific(rest)
        ):
            return Reading(Kind.PROCEDURE, clause.subject.head, phrase(rest))
        if is_person(clause) and RECURRING.search(rest) and not clause.negative:
            return Reading(Kind.PROCEDURE, "routine", phrase(rest))
        return None
    if words[0] in VAGUE or clause.modal in ("will", "must", "should"):
        return None
    if clause.modal == "can":
        return None
    if clause.voice is Voice.PROGRESSIVE:
        return None
    if clause.voice in (Voice.PAST, Voice.PERFECT):
        return Reading(Kind.EVENT, "health", phrase(rest)) if find_word(words, _HEALTH_EVENTS) else None
    return _read_owned(clause, rest, words)


def _read_owned(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    if words[0] == "the" and not is_specific(rest):
        return None
    negative = clause.negative or words[0] == "no"
    value = phrase(rest)
    head_words = [
        bare(word)
        for word in re.split(
            r"\b(?:in|with|at|for|on|called|named|from|who|that|about|and|of)\b", value.lower()
        )[0].split()
    ]
    if find_word(head_words, ILLNESSES, 7) and not set(head_words) & {
        "up",
        "ache",
        "question",
        "issue",
        "idea",
    }:
        slot = "allergy" if any(word.startswith(("allerg", "intoleran")) for word in head_words) else "health"
        return Reading(Kind.CONSTRAINT, slot, value, negative)
    if find_word(head_words, MEETINGS) and find_word(head_words, MEETINGS) == (head_words[-1:] or [""])[0]:
        is_dated = DATED.search(rest) or RECURRING.search(rest)
        return (
            Reading(Kind.PLAN, head_words[-1], phrase(rest))
            if is_dated and not re.search(r"\b(?:today|tonight|now)\b", rest)
            else None
        )
    last = head_words[-1] if head_words else ""
    if last in PETS or find_word(head_words, PETS, 4):
        return Reading(Kind.POSSESSION, "pet", value, negative)
    if last in KIN:
        return Reading(Kind.RELATION, SLOT_OF_NOUN.get(last, last), value, negative)
    if last in THINGS or (find_word(head_words, THINGS) and is_specific(value)):
        thing = last if last in THINGS else find_word(head_words, THINGS) or last
        kind = Kind.CONFIGURATION if thing in CONFIGURED else Kind.POSSESSION
        return Reading(kind, SLOT_OF_NOUN.get(thing, thing), value, negative)
    if (
        clause.subject.who is Who.THING
        and clause.subject.head in _THINGS_OR_CONFIGURED
        and (clause.subject.is_own or is_specific(rest))
    ):
        return Reading(Kind.POSSESSION, clause.subject.head, value, negative)
    if last in ("hair", "eyes", "skin"):
        return Reading(Kind.IDENTITY, last, value, negative)
    return None


def read_use(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    if (
        words[0] in VAGUE
        or words[0] == "your"
        or clause.modal is not None
        or clause.voice in (Voice.PAST, Voice.PASSIVE)
    ):
        return None
    negative = clause.negative
    if ACCESS.search(rest) and is_person(clause):
        return Reading(Kind.CONSTRAINT, "access", phrase(rest), negative)
    tool = find_word(words, TOOLS, 5)
    is_known = tool is not None or (is_specific(rest) and words[:2] != ["the", "same"])
    if clause.subject.who is Who.GROUP or clause.subject.who is Who.THING:
        if clause.subject.who is Who.THING and not is_known:
            return None
        return (
            Reading(Kind.CONFIGURATION, tool_slot(words) or "tool", phrase(rest), negative)
            if is_known or words[0] in ("a", "an", "two", "our")
            else None
        )
    if not is_known and (clause.voice is not Voice.PRESENT or words[0] == "the"):
        return None
    return Reading(Kind.PREFERENCE, tool_slot(words) or "tool", phrase(rest), negative)


def read_owning(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """`own`, `drive`, `ride`, `hold`, `rent`: a thing of one's own."""
    if is_vague(words) or clause.voice not in (Voice.PRESENT, Voice.PERFECT) or not is_person(clause):
        return None
    if clause.modal is not None:
        return None
    if clause.lemma == "hold" and not find_word(words, _PAPERS_OR_THINGS, 7):
        return None
    if clause.lemma == "own" and clause.subject.who is Who.PERSON:
        return Reading(Kind.DECISION, "owner", phrase(rest), clause.negative)
    if clause.lemma == "drive" and words[0] in ("to", "me", "home", "there", "in", "on", "us"):
        return (
            Reading(Kind.PROCEDURE, "transport", phrase(rest))
            if RECURRING.search(rest) or words[:2] == ["to", "work"]
            else None
        )
    thing = find_word(words, _THINGS_OR_PETS_ETC, 5)
    slot = "car" if clause.lemma == "drive" else SLOT_OF_NOUN.get(thing or "", thing)
    return Reading(Kind.POSSESSION, slot, phrase(rest), clause.negative)


def read_thing_does(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """`CI runs on ARM`, `the server listens on 8443`, `dates are stored in UTC`."""
    subject = clause.subject
    if subject.who is not Who.THING:
        if clause.lemma == "listen" and words[0] == "to" and clause.voice is Voice.PRESENT:
            is_taste = clause.modal is None and not is_vague(words[1:] or ["it"])
            return Reading(Kind.PREFERENCE, "likes", phrase(rest[3:]), clause.negative) if is_taste else None
        if clause.lemma == "host" and clause.subject.who is Who.GROUP and is_specific(rest):
            return Reading(Kind.CONFIGURATION, "hosting", phrase(rest), clause.negative)
        return None
    if clause.negative or clause.voice in (Voice.PAST, Voice.PERFECT, Voice.PROGRESSIVE):
        return None
    if clause.modal in ("should", "must"):
        return _read_rule(clause, rest, words)
    if clause.modal is not None or words[0] not in (
        "on",
        "in",
        "at",
        "to",
        "out",
        "up",
        "under",
        "with",
        "by",
        "behind",
        "from",
        "as",
        "over",
        "off",
        "until",
    ):
        return None
    if RECURRING.search(rest):
        return Reading(Kind.PROCEDURE, subject.head, phrase(rest))
    if is_specific(rest):
        kind = (
            Kind.POSSESSION
            if subject.head in THINGS and subject.head not in CONFIGURED
            else Kind.CONFIGURATION
        )
        slot = tool_slot(words) if subject.head not in SLOT_OF_NOUN else None
        return Reading(kind, slot or SLOT_OF_NOUN.get(subject.head, subject.head), phrase(rest))
    return None


def _is_named(word: str) -> bool:
    return word[0].isupper() or any(char.isdigit() or char in '/`"' for char in word)


def read_call(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    if clause.voice is not Voice.PASSIVE or not _is_named(rest.split()[0]) or clause.negative:
        return None
    subject = clause.subject
    if subject.who is Who.USER:
        return Reading(Kind.IDENTITY, "name", phrase(rest))
    slot = SLOT_OF_NOUN.get(subject.head, subject.head)
    if subject.who is Who.PERSON:
        return Reading(Kind.RELATION, slot, phrase(rest))
    kind = Kind.POSSESSION if subject.head in _PETS_OR_THINGS else Kind.CONFIGURATION
    return (
        Reading(kind, slot, phrase(rest)) if subject.is_own or subject.head in _PETS_OR_THINGS_ETC else None
    )


_VAGUE_OR_PASSING = VAGUE | PASSING
_CONFIGURED_OR_TASTES_ETC = CONFIGURED | TASTES | MEETINGS
_CONFIGURED_OR_TASTES = CONFIGURED | TASTES
_THINGS_OR_CONFIGURED = THINGS | CONFIGURED
_PAPERS_OR_THINGS = PAPERS | THINGS
_THINGS_OR_PETS_ETC = THINGS | PETS | PAPERS
_PETS_OR_THINGS = PETS | THINGS
_PETS_OR_THINGS_ETC = PETS | THINGS | CONFIGURED
_HEALTH_EVENTS = EVENTS | ILLNESSES - {"back", "knee", "knees", "heart", "hip", "shoulder"}
