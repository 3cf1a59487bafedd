"""The default reader of clauses about the speaker, for verbs that no frame covers.

A clause of the first person in the indicative is a statement about the speaker. It is ignored if it is about
this moment or the conversation, or if it mentions nothing with a name, a number, a time or an owner.
"""

import re

from memorywire.facts.clauses import Clause, Voice, Who, bare
from memorywire.facts.phrases import ACCESS, DATED, PASSING, RECURRING, Reading, is_specific, phrase
from memorywire.facts.words import (
    CONDITIONS,
    CONFIGURED,
    EVENTS,
    FOODS,
    ILLNESSES,
    KIN,
    MEETINGS,
    PEOPLE,
    PETS,
    RULES_OF_FOOD,
    THINGS,
    TOOLS,
    VAGUE,
    WEEKDAYS,
)
from memorywire.model.label import Kind

_MOMENT = re.compile(
    r"\b(?:today|tonight|right now|just now|this (?:morning|afternoon|evening|minute|second|one|time|thing)"
    r"|at the moment|yet|again|anyway|so far|for (?:\w+ ){0,2}(?:minutes?|mins|hours?|ages|now)|a bit|on hold"
    r"|all (?:day|morning|night)|so much|too much|enough|you|your|yours|u|wtf|somehow|question|idea|clue"
    r"|doubt"
    r"|feeling|issue|problem|error|trouble|sniffle|headache|mess|luck|fun|joke|pet rock)\b"
    r"|^(?:this|that|these|those)\b|\b(?:this|that|these|those|it)[.!]*$",
    re.I,
)
_NUMBERS = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh"
    r"|nine)te?en|hundred"
    r"|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|thousand|half|first|second|third|fourth|fifth)\b"
)
_MENTAL = frozenset(
    """
    think guess hope wonder mean know see feel find want need try look ask say tell wait forget remember
    appreciate agree understand suppose bet care mind hear thank figure notice believe doubt imagine wish
    swear promise apologise apologize assume reckon seem happen let like love hate enjoy adore stand prefer
    bear dislike detest hold have be do sound look appear recommend suggest put deserve laugh cry
    miss regret expect dread end finish break lose scream die feel hurt crash fail change
    send attach paste copy click press type upload download install follow check fix leave
    """.split()
)
"""Verbs of thought, speech and temporary states, and verbs with a frame in another module."""

_LASTING = KIN | PETS | EVENTS | ILLNESSES | MEETINGS | CONDITIONS | RULES_OF_FOOD
_NOUNS = _LASTING | THINGS | TOOLS | PEOPLE
_OWN = frozenset({"my", "our"})
_AMOUNTS = frozenset("a an two three four five six one no".split())


def read_general(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """Return what the clause states about the speaker, related people or their things; None if nothing."""
    if not _is_real(clause, words):
        return None
    is_about_user = clause.subject.who is not Who.THING or clause.subject.is_own
    reading = (_read_own if is_about_user else _read_work)(clause, rest, words)
    return None if reading is None or is_of_moment(rest) else reading


def is_of_moment(rest: str) -> bool:
    """Whether the words are about this moment or the conversation."""
    return _MOMENT.search(rest) is not None


def _read_own(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    subject = clause.subject
    is_person = subject.who is not Who.THING
    is_barred = clause.modal == "can" and clause.negative and words[0] == "anything"
    if words[0] in VAGUE and not is_barred and not (words[0] in _OPEN and has_substance(rest, words)):
        return None
    if (
        clause.lemma in ("agree", "decide")
        and clause.voice is not Voice.PRESENT
        and {"that", "to"} & {*words}
    ):
        return Reading(Kind.DECISION, None, phrase(rest), clause.negative)
    if clause.lemma == "want" and subject.who not in (Who.USER, Who.GROUP) and has_substance(rest, words):
        return Reading(Kind.PREFERENCE, None, phrase(rest), clause.negative)
    is_diet = clause.negative and is_person and FOODS.intersection(words[:4])
    if is_diet and clause.voice is Voice.PRESENT and clause.lemma not in ("be", "want", "like"):
        return Reading(Kind.CONSTRAINT, "diet", phrase(rest), True)
    if is_person and clause.voice is Voice.PRESENT and ACCESS.search(rest):
        return Reading(Kind.CONSTRAINT, "access", phrase(rest), clause.negative)
    if clause.lemma in ("be", "have"):
        return _read_state(clause, rest, words)
    is_barred = clause.modal == "can" and clause.negative and clause.lemma == "do"
    is_mental = clause.lemma in _MENTAL and is_person and not is_barred
    is_hobby = clause.lemma == "take" and words[0] == "up"
    if is_mental or (clause.lemma in _LIGHT and not (is_hobby or has_substance(rest, words))):
        return None
    return _read_deed(clause, rest, words)


def _is_real(clause: Clause, words: list[str]) -> bool:
    """Whether the clause states a past, present or future fact."""
    if clause.adverbs & {"almost", "nearly"}:
        return False
    is_barred = clause.negative and clause.modal == "may"
    if clause.modal not in (None, "will", "can", "must") and not is_barred:
        return False
    is_state = clause.voice is Voice.PASSIVE and bare(clause.words[clause.rest_at - 1]) in PASSING
    return not is_state and not (clause.lemma == "keep" and words[0].endswith("ing"))


def _read_deed(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """Read an action: a habit, a past event or a plan."""
    if clause.lemma == "take" and words[0] == "up" and not clause.negative:
        return Reading(Kind.PREFERENCE, "hobby", phrase(rest[3:]))
    if clause.voice is Voice.PRESENT:
        if clause.modal is None and (clause.subject.who is not Who.THING or has_substance(rest, words)):
            is_routine = clause.subject.who is Who.GROUP or RECURRING.search(rest)
            kind = Kind.PROCEDURE if is_routine else Kind.PREFERENCE
            return Reading(kind, _find_slot(clause, kind), phrase(rest), clause.negative)
        is_rule = (clause.modal == "must" or clause.negative) and has_substance(rest, words)
        return Reading(Kind.CONSTRAINT, None, phrase(rest), clause.negative) if is_rule else None
    if (clause.negative and clause.voice is not Voice.PERFECT) or not has_substance(rest, words):
        return None
    is_to_come = clause.voice in (Voice.PROGRESSIVE, Voice.FUTURE)
    kind = Kind.PLAN if is_to_come else Kind.EVENT
    return Reading(kind, _find_slot(clause, kind), phrase(rest))


def read_effect(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """Read an effect on the speaker: `penicillin brings me out in hives`, `jazz bores me`."""
    cause = phrase(clause.subject.text)
    if clause.lemma == "put" and words[1:2] == ["on"]:
        return Reading(Kind.EVENT, "medication", phrase(rest[5:]))
    is_effect = clause.lemma in _EFFECTS and len(words) > 1 and clause.voice is Voice.PRESENT
    if is_effect and clause.subject.who is Who.THING:
        return Reading(Kind.CONSTRAINT, "reaction", cause, True)
    is_dull = clause.lemma == "bore" and clause.voice in (Voice.PRESENT, Voice.PAST)
    return Reading(Kind.PREFERENCE, "likes", cause, True) if is_dull else None


_EFFECTS = frozenset("bring give make keep put send".split())
_SLOTS = {
    **dict.fromkeys("fly travel visit go head sail stay come".split(), "trip"),
    **dict.fromkeys(
        """
        play sing dance paint knit sew crochet draw hike cycle swim ski surf sail jog climb meditate bake cook
        grow collect practise practice volunteer ride watch read
        """.split(),
        "hobby",
    ),
    "eat": "food",
    "drink": "food",
    "speak": "languages",
    "learn": "skill",
    "study": "education",
    "teach": "job",
    "pay": "payment",
    "take": "routine",
    "wear": "clothes",
    "expire": "end",
}
"""The slot of a fact by its verb; a plan with `fly` is a trip, a habit with it is not."""


def _find_slot(clause: Clause, kind: Kind) -> str | None:
    slot = _SLOTS.get(clause.lemma)
    return None if slot == "trip" and kind is not Kind.PLAN else slot


def has_substance(rest: str, words: list[str]) -> bool:
    """Whether the words have a name, a number, a time, a possessive or a word for something permanent."""
    return bool(
        is_specific(rest)
        or DATED.search(rest)
        or RECURRING.search(rest)
        or _NUMBERS.search(rest)
        or _OWN.intersection(words)
        or _LASTING.intersection(words)
    )


def _read_state(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """Read `be` or `have`: the words after it must name something permanent, or have a name or a number."""
    is_person = clause.subject.who is not Who.THING
    if clause.voice in (Voice.PAST, Voice.FUTURE, Voice.PROGRESSIVE):
        return _read_other_time(clause, rest, words)
    if clause.voice not in (Voice.PRESENT, Voice.PERFECT) or clause.modal is not None:
        return None
    if clause.adverbs & {"already", "just", "still"} or (is_person and PASSING.intersection(words[:2])):
        return None
    is_named = words[0] not in ("the", "not", "in", "so", "at") and is_specific(rest)
    if clause.lemma == "have":
        is_thing = (words[0] in _AMOUNTS or words[0].isdigit()) and is_person and " to " not in rest
        is_named = is_named and " to " not in rest
        is_thing = is_thing or (clause.subject.who is Who.PERSON and words[0] in _OWN)
        if (is_thing and len(words) > 1) or _LASTING.intersection(words[:6]) or is_named:
            kind = Kind.POSSESSION if is_person else Kind.CONFIGURATION
            return Reading(kind, None, phrase(rest), clause.negative or words[0] == "no")
        return None
    if clause.subject.who is Who.THING:
        is_place = words[0] in _PLACES or _NUMBERS.match(rest) or clause.subject.head in CONFIGURED
        is_attribute = is_named or is_place or RECURRING.search(rest) or _NOUNS.intersection(words[:4])
        if not is_attribute or words[0] in _PASSING_OR_FAULTS:
            return None
        return Reading(Kind.IDENTITY, None, phrase(rest), clause.negative)
    is_named = is_named or (words[:2] == ["in", "my"] and _NUMBERS.search(rest) is not None)
    is_only = words[0] == "the" and words[1:2] and words[1] in _RANKS
    is_role = is_only or (words[0] in ("a", "an") and len(words) > 2 and _has_noun(words))
    if is_role or _LASTING.intersection(words[:5]) or is_named:
        kind = Kind.IDENTITY if clause.subject.who is not Who.PERSON else Kind.RELATION
        return Reading(kind, None, phrase(rest), clause.negative)
    return None


_PLACES = frozenset("on at in under with from by near called named made based kept".split())
_FAULTS = frozenset(
    "down broken slow late gone off dead killing acting full empty open stuck loud cold hot".split()
)
_RANKS = frozenset("only lead head main sole primary eldest oldest youngest first".split())
_OPEN = frozenset({"all", "everything", "one", "to"})
_LIGHT = frozenset("go call come do get keep turn read make take give run bring show pay start".split())
_CODES = frozenset("code codes password pin number id key combination".split())


def _read_work(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """Read a rule or a fact about the work: a duty, a recurring event, a meeting, a code."""
    first = clause.subject.text.split()[0].lower()
    if clause.subject.who is not Who.THING or first in _NOBODY:
        return None
    is_duty = clause.lemma in ("need", "have") and words[0] == "to"
    is_duty = is_duty or (clause.lemma in ("need", "require") and first in ("every", "each", "all", "any"))
    if clause.modal == "must" or (clause.modal == "may" and clause.negative) or is_duty:
        return Reading(Kind.CONSTRAINT, None, phrase(rest), clause.negative)
    is_habit = clause.voice is Voice.PRESENT and clause.modal is None
    if is_habit and clause.lemma not in _MENTAL and first == "the" and RECURRING.search(rest):
        return Reading(Kind.PROCEDURE, None, phrase(rest), clause.negative)
    is_rule = clause.adverbs & {"always", "never", "only"} and is_specific(rest)
    is_day = clause.lemma == "be" and words[0] in WEEKDAYS
    if is_habit and (is_rule or is_day):
        return Reading(Kind.PROCEDURE, None, phrase(rest), clause.negative)
    if clause.subject.head in MEETINGS and DATED.search(rest) and clause.voice is not Voice.PAST:
        return Reading(Kind.PLAN, clause.subject.head, phrase(rest))
    is_code = _CODES.intersection(clause.subject.text.lower().split()) and any(map(str.isdigit, rest))
    return Reading(Kind.CONFIGURATION, clause.subject.head, phrase(rest)) if is_code else None


_NOBODY = frozenset("you people one it this that what everyone everybody nobody someone anyone".split())


def _read_other_time(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """Read other tenses: `I had my gallbladder out in 2021`, `Grandad was a miner`, `I will be in Rome`."""
    if clause.voice is Voice.PROGRESSIVE and not _LASTING.intersection(words):
        return None
    if clause.voice is not Voice.PAST:
        return Reading(Kind.PLAN, None, phrase(rest)) if DATED.search(rest) and not clause.negative else None
    if clause.lemma == "have":
        is_event = words[0] in _OWN | {"a", "an"} and DATED.search(rest) is not None
        return Reading(Kind.EVENT, None, phrase(rest)) if is_event else None
    is_role = clause.subject.who is Who.PERSON and (rest[:1].isupper() or words[0] in ("a", "an"))
    return Reading(Kind.RELATION, None, phrase(rest)) if is_role else None


_WEAK = frozenset(
    """
    bit mess fan fool disaster legend monster zombie saint angel
    god goddess hero idiot moron wreck failure genius loser joke pain
    """.split()
)


def _has_noun(words: list[str]) -> bool:
    return not _WEAK.intersection(words[:5])


_PASSING_OR_FAULTS = PASSING | _FAULTS
