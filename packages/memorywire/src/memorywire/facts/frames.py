"""What a clause states, by its verb: each verb has a frame that knows which objects make a lasting fact.

A frame answers with a kind, a slot and a value, or with nothing. Passing states (tired, waiting, an error)
match no frame, so that a clause counts only if its verb and its object together are of a class that lasts.
"""

import re

from memorywire.facts.clauses import Clause, Voice, Who, bare
from memorywire.facts.general import read_effect, read_general
from memorywire.facts.phrases import (
    DATED,
    DEEDS,
    LIKES,
    RECURRING,
    Frame,
    Reading,
    find_word,
    is_person,
    is_specific,
    is_vague,
    phrase,
    tool_slot,
)
from memorywire.facts.things import (
    read_call,
    read_have,
    read_owning,
    read_thing_does,
    read_thing_is,
    read_use,
)
from memorywire.facts.traits import (
    read_bare,
    read_health,
    read_identity,
    read_like,
    read_schedule,
    read_stand,
)
from memorywire.facts.words import (
    CONDITIONS,
    CONFIGURED,
    ILLNESSES,
    KIN,
    MEETINGS,
    PETS,
    SLOT_OF_NOUN,
    STATES,
    THINGS,
    TOOLS,
    VAGUE,
)
from memorywire.model.label import Kind

_NEAR = frozenset("in on at near with by alone next outside above off just".split())
_PLACE_END = re.compile(r"\s(?:with|and|since|for)\s")


def read_live(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """Where somebody lives and with whom; where a thing is kept."""
    if words[0] not in _NEAR or is_vague(words[1:] or ["x"]):
        return None
    if words[0] == "on" and not ((words[1:2] and words[1] in ("the", "a", "an")) or is_specific(rest)):
        return None
    if words[0] == "with" and find_word(words[1:], ILLNESSES, 3):
        return Reading(Kind.CONSTRAINT, "health", phrase(rest[5:]), clause.negative)
    place = phrase(_PLACE_END.split(rest.partition(" ")[2])[0])
    if clause.voice is Voice.PAST and is_specific(rest):
        return Reading(Kind.EVENT, "residence", place, clause.negative)
    is_now = clause.voice in (Voice.PRESENT, Voice.PROGRESSIVE, Voice.PERFECT)
    if is_now and is_person(clause):
        if words[0] in ("with", "alone"):
            return Reading(Kind.IDENTITY, "household", phrase(rest), clause.negative)
        return Reading(Kind.IDENTITY, "home", place, clause.negative)
    if clause.subject.who is Who.THING and (is_specific(rest) or clause.subject.head in CONFIGURED):
        return Reading(Kind.CONFIGURATION, clause.subject.head, phrase(rest))
    return None


def read_move(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    if clause.subject.who is Who.THING:
        return (
            Reading(Kind.PLAN, clause.subject.head, phrase(rest))
            if clause.subject.head in MEETINGS and is_specific(rest)
            else None
        )
    target = re.search(r"\b(?:to|into)\s+(?P<place>(?:the |a |an )?[^,.;!?]+)", rest)
    if (
        target is None
        or clause.negative
        or words[0] == "on"
        or not (
            is_specific(target["place"])
            or find_word(words, frozenset({"flat", "house", "apartment", "bungalow", "city"}))
        )
    ):
        return None
    if clause.subject.who is Who.GROUP and find_word(words[1:], TOOLS, 4):
        return Reading(Kind.DECISION, tool_slot(words) or "tool", phrase(target["place"]))
    if clause.voice in (Voice.PAST, Voice.PERFECT):
        return Reading(
            Kind.IDENTITY,
            "home",
            re.split(r" (?:in|at|on|from|last|with|two|three|a|and) ", phrase(target["place"]))[0],
        )
    return Reading(Kind.PLAN, "move", phrase(target["place"]))


def read_work(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    if not is_person(clause):
        return (
            Reading(Kind.CONSTRAINT, "ruled_out", phrase(clause.subject.text), True)
            if clause.negative and rest.startswith("for me")
            else None
        )
    is_now = clause.subject.who is Who.USER and clause.voice is Voice.PRESENT and is_specific(rest)
    if words[0] == "on" and not (RECURRING.search(rest) or is_now):
        return None
    if words[0] in ("now", "out", "fine", "well", "again", "yet", "this", "that", "here"):
        return None
    if clause.voice is Voice.PAST or is_vague(words[1:] or ["x"]):
        return None
    if words[0] in ("as", "at", "for", "in", "with"):
        slot = {"as": "job", "at": "employer", "for": "employer"}.get(words[0], "field")
        return Reading(Kind.IDENTITY, slot, phrase(rest.partition(" ")[2]), clause.negative)
    if RECURRING.search(rest) or re.search(
        r"\b(?:days|hours|nights?|shifts|part[- ]time|full[- ]time|remotely|from home|freelance|weekends)\b",
        rest,
    ):
        return Reading(Kind.PROCEDURE, "schedule", phrase(rest), clause.negative)
    return None


def read_get(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    if not is_person(clause):
        return (
            Reading(Kind.PLAN, clause.subject.head, phrase(rest))
            if clause.subject.head in MEETINGS
            and DATED.search(rest)
            and words[0] in ("moved", "postponed", "rescheduled")
            else None
        )
    if words[0] in (
        "married",
        "engaged",
        "divorced",
        "promoted",
        "diagnosed",
        "hired",
        "laid",
        "fired",
        "pregnant",
    ):
        if clause.voice is Voice.PROGRESSIVE or clause.voice is Voice.FUTURE:
            return Reading(Kind.PLAN, "wedding" if words[0] == "married" else words[0], phrase(rest))
        slot = {"promoted": "job", "hired": "employer", "diagnosed": "health"}.get(words[0], "marital_status")
        return Reading(Kind.EVENT, slot, phrase(rest), clause.negative)
    if clause.voice is Voice.PRESENT and (find_word(words, _ILLNESSES_OR_CONDITIONS, 4)) and not clause.modal:
        return Reading(Kind.CONSTRAINT, "health", phrase(rest), clause.negative)
    if (
        clause.voice in (Voice.PAST, Voice.PERFECT)
        and find_word(words, _PETS_OR_THINGS, 5)
        and words[0] in ("a", "an", "my", "our", "two", "three")
    ):
        return Reading(
            Kind.POSSESSION,
            "pet" if find_word(words, PETS, 5) else find_word(words, THINGS, 5),
            phrase(rest),
            clause.negative,
        )
    if clause.voice is Voice.PROGRESSIVE and find_word(words, _PETS_OR_THINGS_ETC, 5) and DATED.search(rest):
        return Reading(Kind.PLAN, find_word(words, _PETS_OR_THINGS_ETC, 5), phrase(rest))
    if clause.voice in (Voice.PAST, Voice.PERFECT) and re.match(
        r"(?:a|an|my|the) (?:new )?(?:job|role|position|degree|offer|place)\b", rest
    ):
        return Reading(Kind.EVENT, "job", phrase(rest))
    return None


def read_choice(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """`we decided to`, `we agreed that`, `we settled on`, `we switched to`."""
    if (
        clause.subject.who not in (Who.USER, Who.GROUP)
        or clause.negative
        or clause.voice not in (Voice.PAST, Voice.PERFECT)
    ):
        return None
    lemma = clause.lemma
    if lemma in ("decide", "agree", "vote") and words[0] in ("to", "that", "on", "against", "not"):
        return Reading(Kind.DECISION, tool_slot(words) or None, phrase(rest.partition(" ")[2]))
    if lemma in ("upgrade", "downgrade", "switch", "migrate") and " to " in f" {rest}":
        target = f" {rest}".partition(" to ")[2]
        if not target or bare(target.split()[0]) in VAGUE:
            return None
        if set(words[:8]) & {"plan", "tier", "subscription", "tariff", "package"}:
            return Reading(Kind.CONFIGURATION, "plan", phrase(target))
        return Reading(Kind.DECISION, tool_slot(words) or "tool", phrase(target))
    if (lemma in ("settle", "standardise", "standardize") and words[0] == "on") or (
        lemma == "go" and words[0] == "with"
    ):
        return (
            None
            if is_vague(words[1:] or ["it"])
            else Reading(Kind.DECISION, tool_slot(words) or "tool", phrase(rest.partition(" ")[2]))
        )
    if lemma in ("choose", "pick") and is_specific(rest) and not is_vague(words):
        return Reading(Kind.DECISION, tool_slot(words) or None, phrase(rest))
    return None


def read_go(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    reading = read_choice(clause, rest, words)
    if reading is not None:
        return reading
    if clause.subject.who is Who.THING:
        return read_thing_does(clause, rest, words)
    if clause.voice is Voice.PRESENT and words[:2] == ["everywhere", "by"]:
        return Reading(Kind.PREFERENCE, "transport", phrase(rest), clause.negative)
    if clause.voice is Voice.PRESENT and words[0] == "by" and rest[3:4].isupper():
        return Reading(Kind.IDENTITY, "name", phrase(rest[3:]))
    if (
        clause.voice is Voice.PRESENT
        and words[0] == "to"
        and re.search(r"\b(?:school|nursery|university|college|church|mosque|kindergarten)\b", rest, re.I)
        and clause.modal is None
    ):
        return Reading(Kind.IDENTITY, "school", phrase(rest[3:]), clause.negative)
    has_gone = clause.voice is Voice.PAST and bare(clause.words[clause.rest_at - 1]) == "went"
    if has_gone and words[0] == "to" and is_specific(rest):
        return Reading(Kind.EVENT, "trip", phrase(rest[3:]), clause.negative)
    return None


def read_deed(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """Something that was done once and matters later: bought, booked, returned, married."""
    if clause.subject.who is Who.THING:
        if clause.voice is Voice.PASSIVE and clause.lemma == "register" and is_specific(rest):
            slot = "email" if "@" in rest else "account"
            return Reading(Kind.CONFIGURATION, slot, phrase(rest.partition(" ")[2]))
        return None
    if clause.voice is Voice.PROGRESSIVE:
        return None
    if clause.voice is Voice.PRESENT and clause.lemma == "rent":
        return read_owning(clause, rest, words)
    is_done = clause.voice in (Voice.PAST, Voice.PERFECT) and clause.modal is None and not clause.negative
    if not is_done or words[0] in VAGUE or words[0] in ("your", "everything"):
        return None
    return _read_done(clause, rest, words)


_RISKY = frozenset("lose win finish build break pass leave quit replace".split())
"""Verbs that people use for small things, too: what they are about decides."""

_MATTERS = KIN | THINGS | MEETINGS | ILLNESSES
_BODY = frozenset("job leg arm ankle foot licence phd degree collarbone finger rib".split())


def _read_done(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    kind, slot = DEEDS[clause.lemma]
    if clause.lemma in _RISKY:
        is_own = words[0] in ("my", "our", "a", "an")
        if not is_own or not find_word(words, _MATTERS_OR_BODY, 5):
            return None
    thing = find_word(words, _PETS_OR_THINGS, 6)
    if clause.lemma == "adopt" and thing not in PETS:
        if find_word(words, TOOLS, 4):
            return Reading(Kind.DECISION, tool_slot(words), phrase(rest))
        return Reading(Kind.RELATION, "children", phrase(rest)) if find_word(words, KIN, 5) else None
    if clause.lemma == "buy" and thing is not None:
        slot = SLOT_OF_NOUN.get(thing, thing)
    return Reading(kind, slot, phrase(rest))


def read_routine(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """What people do again and again: with a recurring time, or always, or never."""
    if not is_person(clause) or clause.voice is not Voice.PRESENT:
        return None
    if clause.modal == "can" and "only" in clause.adverbs and RECURRING.search(rest):
        return Reading(Kind.CONSTRAINT, "schedule", phrase(rest))
    if clause.modal is not None:
        return None
    if words[0] in ("this", "that", "it", "you", "your"):
        return None
    is_group = clause.subject.who is Who.GROUP
    often = clause.adverbs & _OFTEN
    if RECURRING.search(rest) or often:
        is_rule = is_group and ("never" in clause.adverbs or clause.negative)
        kind = Kind.CONSTRAINT if is_rule else Kind.PROCEDURE
        slot = "deploy_day" if clause.lemma == "deploy" and RECURRING.search(rest) else clause.lemma
        return Reading(kind, slot, phrase(rest), clause.negative)
    if (
        is_group
        and clause.lemma
        in ("deploy", "release", "merge", "squash", "rebase", "review", "ship", "test", "lint", "format")
        and (is_specific(rest) or words[0] in ("to", "from", "with", "before", "after", "by"))
    ):
        return Reading(Kind.PROCEDURE, clause.lemma, phrase(rest), clause.negative)
    return None


_FOR_HOURS = re.compile(r"\b(?:for hours|all day|every day|forever|for days)\b")


_OFTEN = frozenset("always never usually only normally typically generally".split())
_ROUTINES = frozenset(
    """
    come water deploy release merge meet review ship squash rebase tag push test format lint document
    publish bill invoice back rotate run do have start close open hold pay order clean shop work walk go
    take drop pick visit call train eat drink cook commute get finish make look play teach attend skip
    sleep log host wake
    """.split()
)


def read_clause(clause: Clause) -> Reading | None:
    """What the clause states, if it is a fact that lasts."""
    rest = clause.rest
    if clause.modal == "could" and not clause.negative and _FOR_HOURS.search(rest):
        return Reading(Kind.PREFERENCE, "likes", phrase(_FOR_HOURS.split(rest)[0].removeprefix("to ")))
    if clause.modal in ("may", "might", "could", "would", "ought"):
        return None
    is_state = clause.voice is Voice.PASSIVE and (
        bare(clause.words[clause.rest_at - 1]) in STATES
        or "-".join(map(bare, clause.words[clause.rest_at - 1 : clause.rest_at + 1])) in CONDITIONS
    )
    if is_state:
        clause = clause._replace(lemma="be", voice=Voice.PRESENT, rest_at=clause.rest_at - 1)
        rest = clause.rest
    words = [bare(word) for word in clause.words[clause.rest_at : clause.rest_at + 14]]
    if not words:
        return read_bare(clause)
    if words[0] == "their":  # a fact that was told in the third person already
        words[0] = "my"
    if words[0] == "me" and clause.subject.who is not Who.USER:
        return read_effect(clause, rest, words)
    frame = _FRAMES.get(clause.lemma)
    reading = None if frame is None else frame(clause, rest, words)
    if reading is None and (clause.lemma in _ROUTINES or clause.adverbs & _OFTEN):
        reading = read_routine(clause, rest, words)
    return reading or read_general(clause, rest, words)


def _read_was(clause: Clause, rest: str) -> Reading | None:
    """When something was: `my exam was on 15 May`."""
    is_date = clause.subject.head in MEETINGS and clause.subject.is_own and DATED.search(rest)
    return Reading(Kind.EVENT, clause.subject.head, phrase(rest)) if is_date else None


def _read_be(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    if clause.voice is Voice.PAST:
        return _read_was(clause, rest)
    if is_person(clause) or clause.subject.head in PETS:
        reading = read_health(clause, rest, words) or read_identity(clause, rest, words)
        reading = reading or read_schedule(clause, rest, words)
        if reading is not None or is_person(clause):
            return reading
    return read_thing_is(clause, rest, words)


_FRAMES: dict[str, Frame] = {
    "be": _read_be,
    "have": read_have,
    **dict.fromkeys(LIKES, read_like),
    **dict.fromkeys(("stand", "bear"), read_stand),
    "live": read_live,
    "move": read_move,
    "work": read_work,
    "use": read_use,
    **dict.fromkeys(("own", "drive", "hold"), read_owning),
    "get": read_get,
    **dict.fromkeys(("run", "listen", "store", "pin", "host", "deploy", "sit", "maintain"), read_thing_does),
    "call": read_call,
    **dict.fromkeys(
        "decide agree settle choose pick switch migrate upgrade downgrade standardise vote".split(),
        read_choice,
    ),
    "go": read_go,
    **dict.fromkeys(DEEDS, read_deed),
}

_ILLNESSES_OR_CONDITIONS = ILLNESSES | CONDITIONS
_PETS_OR_THINGS = PETS | THINGS
_PETS_OR_THINGS_ETC = PETS | THINGS | KIN
_MATTERS_OR_BODY = _MATTERS | _BODY
