"""What people cannot bear, avoid or need: the frames of constraints."""

from memorywire.facts.clauses import Clause, Voice, Who
from memorywire.facts.phrases import ACCESS, Reading, find_word, is_person, is_vague, phrase
from memorywire.facts.words import FOODS
from memorywire.model.label import Kind


def read_effect(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """What something does to the speaker: `penicillin brings me out in hives`, `jazz bores me`."""
    cause = phrase(clause.subject.text)
    if clause.lemma in ("bring", "give", "make", "keep", "put", "send") and len(words) > 1:
        if words[1:2] == ["on"] and clause.lemma == "put":
            return Reading(Kind.EVENT, "medication", phrase(rest[5:]))
        if clause.subject.who is Who.THING and clause.voice is Voice.PRESENT:
            return Reading(Kind.CONSTRAINT, "reaction", cause, True)
    if clause.lemma == "bore" and clause.voice in (Voice.PRESENT, Voice.PAST):
        return Reading(Kind.PREFERENCE, "likes", cause, True)
    return None


def read_cannot(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """What somebody cannot eat, do or bear: a constraint."""
    is_body = clause.subject.is_own and clause.subject.head in ("stomach", "body", "skin", "back", "knees")
    if not clause.negative or is_vague(words) or not (is_person(clause) or is_body):
        return None
    if clause.lemma in ("eat", "drink", "tolerate") or find_word(words, FOODS, 4):
        return Reading(Kind.CONSTRAINT, "diet", phrase(rest), True)
    if clause.lemma in ("climb", "lift", "walk", "sit", "run", "drive", "fly", "swim", "handle"):
        return Reading(Kind.CONSTRAINT, "access", f"{clause.lemma} {phrase(rest)}", True)
    return None


def read_need(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    if ACCESS.search(rest) and is_person(clause) and clause.voice is Voice.PRESENT:
        return Reading(Kind.CONSTRAINT, "access", phrase(rest), clause.negative)
    is_lasting = clause.adverbs & {"always", "only", "never"} and not is_vague(words)
    if clause.lemma == "want" and (is_lasting or (words[0] == "all" and " in " in rest)):
        return Reading(Kind.PREFERENCE, "likes", phrase(rest), clause.negative)
    return None


def read_avoid(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """`avoid`, `suffer from`, `react badly to`: something to keep away from."""
    if (
        not is_person(clause)
        or clause.voice not in (Voice.PRESENT, Voice.PROGRESSIVE, Voice.PERFECT)
        or is_vague(words)
    ):
        return None
    if clause.lemma == "steer":
        is_away = words[:2] == ["clear", "of"]
        return Reading(Kind.CONSTRAINT, "ruled_out", phrase(rest[9:]), True) if is_away else None
    if clause.lemma == "suffer":
        return Reading(Kind.CONSTRAINT, "health", phrase(rest.removeprefix("from ")), clause.negative)
    if clause.lemma == "react":
        return (
            Reading(Kind.CONSTRAINT, "allergy", phrase(rest.partition(" to ")[2]), False)
            if " to " in rest
            else None
        )
    return Reading(Kind.CONSTRAINT, "ruled_out", phrase(rest), True)
