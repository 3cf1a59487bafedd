"""Reads the fact that a clause states: by the frames of `be`, by its label, else by `facts.general`.

Temporary states (tired, waiting, an error) are in no class of permanent ones, so they are not facts.
"""

import re

from memorywire.facts.clauses import Clause, Voice, Who, bare
from memorywire.facts.general import is_of_moment, read_effect, read_general
from memorywire.facts.kinds import label_text
from memorywire.facts.phrases import DATED, Reading, is_person, is_specific, is_vague, phrase
from memorywire.facts.things import read_thing_is
from memorywire.facts.traits import read_bare, read_health, read_identity, read_schedule
from memorywire.facts.words import CONDITIONS, MEETINGS, PETS, STATES
from memorywire.model.label import Kind

_FOR_HOURS = re.compile(r"\b(?:for hours|all day|every day|forever|for days)\b")


def read_clause(clause: Clause) -> Reading | None:
    """Return the permanent fact that the clause states; None if it states none."""
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
    if words[0] == "their":  # a fact already in the third person
        words[0] = "my"
    if words[0] == "me" and clause.subject.who is not Who.USER:
        return read_effect(clause, rest, words)
    reading = _read_be(clause, rest, words) if clause.lemma == "be" else _read_label(clause, rest, words)
    return reading or read_general(clause, rest, words)


def _read_label(clause: Clause, rest: str, words: list[str]) -> Reading | None:
    """Read the clause by its label, if the label has a slot or is a decision."""
    if clause.lemma == "prefer" and is_person(clause):  # `would rather` expresses no doubt
        return Reading(Kind.PREFERENCE, "likes", phrase(rest), clause.negative)
    label = label_text(" ".join(clause.words), weigh=False)
    is_talk = words[0] == "the" and is_vague(words)
    if label is None or is_talk or (label.slot is None and label.kind is not Kind.DECISION):
        return None
    is_past = clause.voice in (Voice.PAST, Voice.PERFECT)
    what = phrase(rest) if label.slot == "likes" else rest
    if not is_past and (is_of_moment(what) or clause.adverbs & {"just", "almost"}):
        return None
    if clause.subject.who is Who.THING and not clause.subject.is_own:
        is_known = label.kind in (Kind.CONFIGURATION, Kind.PLAN, Kind.PROCEDURE) and is_specific(rest)
        return Reading(label.kind, label.slot, label.value, label.negative) if is_known else None
    return Reading(label.kind, label.slot, label.value, label.negative)


def _read_was(clause: Clause, rest: str) -> Reading | None:
    """Read the date of a past event: `my exam was on 15 May`."""
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
