"""What people are going to do."""

import re

from memorywire.facts.clauses import Clause, Voice, Who
from memorywire.facts.phrases import (
    DATED,
    PLANS,
    Reading,
    find_word,
    is_person,
    is_specific,
    is_vague,
    phrase,
)
from memorywire.facts.words import KIN, MEETINGS, PETS
from memorywire.model.label import Kind


def read_plan(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """A deed to come: `I am flying to Lisbon on the 6th`, `we will be travelling with a toddler`."""
    if not is_person(clause) or clause.negative or clause.lemma not in PLANS | {"come"}:
        return None
    if clause.voice not in (Voice.PROGRESSIVE, Voice.FUTURE) or re.search(
        r"\b(?:an? (?:error|issue|problem)|trouble|now|right now|today)\b", rest
    ):
        return None
    if words[0] in ("this", "that", "it", "me", "you", "your"):
        return None
    if DATED.search(rest) or (words[0] in ("to", "in", "at", "from", "with") and is_specific(rest)):
        return Reading(Kind.PLAN, _plan_slot(clause, words), phrase(rest))
    if clause.lemma in ("expect", "travel", "visit") and find_word(words, KIN | PETS, 5):
        return Reading(Kind.PLAN, _plan_slot(clause, words), phrase(rest))
    return None


def read_intent(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """`I plan to run the marathon in May`, `I am saving for a house`, `I am training for a race`."""
    if not is_person(clause) or clause.negative or clause.modal is not None:
        return None
    if (
        clause.lemma == "plan"
        and words[0] in ("to", "on", "a", "our", "my")
        and (DATED.search(rest) or is_specific(rest))
    ):
        return Reading(Kind.PLAN, find_word(words, MEETINGS, 8) or "plan_to", phrase(rest))
    if clause.voice is Voice.PROGRESSIVE and words[0] in ("for", "up") and not is_vague(words[1:] or ["it"]):
        return Reading(Kind.PLAN, "goal", phrase(rest))
    return read_plan(clause, rest, words)


def _plan_slot(clause: Clause, words: list[str]) -> str | None:
    if clause.lemma in ("fly", "travel", "visit", "go", "head", "drive", "sail", "stay"):
        return "trip"
    return find_word(words, MEETINGS, 8) or clause.lemma


def read_stay(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    if clause.subject.who is Who.THING or clause.voice not in (Voice.PROGRESSIVE, Voice.FUTURE):
        return None
    if words[0] in ("at", "in", "with") and (is_specific(rest) or "until" in words):
        return Reading(Kind.PLAN, "trip", phrase(rest.partition(" ")[2]))
    return None
