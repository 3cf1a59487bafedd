"""Reads texts for facts: the label of a memory, and the statements in a turn of a conversation."""

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from memorywire.facts.clauses import Clause, Who, expand, parse
from memorywire.facts.frames import read_clause
from memorywire.facts.instructions import is_wish, read_instruction
from memorywire.facts.kinds import TEAM_WORK, label_text
from memorywire.facts.phrases import Reading
from memorywire.facts.retractions import (
    describe_end,
    ends_fact,
    find_retraction,
    find_retraction_alone,
    is_denial,
)
from memorywire.facts.sentences import (
    find_mention,
    find_presuppositions,
    has_quotation,
    is_hearsay,
    is_question,
    is_real,
    is_staged,
    is_unserious,
    name_pronoun,
    quotes_after_colon,
    restore_subject,
    split_clauses,
    split_sentences,
    takes_all_back,
)
from memorywire.facts.wording import write_fact
from memorywire.model.label import Kind, Label


class Act(StrEnum):
    """The act of a statement: it asserts a fact or retracts one."""

    ASSERT = "assert"
    RETRACT = "retract"


class Statement(NamedTuple):
    """A fact in the third person, or (RETRACT) the words that name the retracted fact."""

    act: Act
    text: str
    label: Label | None = None


def read_turn(
    content: str,
    *,
    speaker: str | None = None,
    at: int | None = None,
    is_jest: Callable[[str], bool] = lambda _: False,
) -> list[Statement]:
    """Return the facts in a person's message, in the third person, and the person's retractions.

    `speaker` is the name of the person, if it is known. A sentence for which `is_jest` is true gives no
    facts, except constraints, names and the like: missing an allergy does more harm than assuming one.
    """
    if is_staged(content):
        return []
    user = speaker or "The user"
    statements: list[Statement] = []
    previous, start, last = "", 0, ""
    for sentence in split_sentences(content):
        if takes_all_back(sentence):
            del statements[start:]
            continue
        if is_unserious(sentence) or quotes_after_colon(sentence):
            if not _is_only_a_remark(sentence):
                break  # the rest is part of the story, the exercise or the joke
            continue
        if opens_supposition(sentence):
            break
        if has_quotation(sentence) or _CITES.match(sentence):
            continue
        start = len(statements)
        read = [*_read_sentence(sentence, previous, user, at, last)]
        read += _read_mentions(sentence, user, statements + read)
        if any(map(_can_be_jest, read)) and is_jest(sentence):
            read = [one for one in read if not _can_be_jest(one)]
        statements += read
        previous, last = f"{previous} {sentence}".strip(), find_mention(sentence) or last
    return list({(one.act, one.text): one for one in statements}.values())


def _can_be_jest(statement: Statement) -> bool:
    """Whether a statement can be a joke: it is no constraint, name, birthday, address or the like."""
    if statement.act is not Act.ASSERT or statement.label is None:
        return statement.act is Act.ASSERT
    return statement.label.kind is not Kind.CONSTRAINT and statement.label.slot not in _PERSONAL


_PERSONAL = frozenset("name birthday age birthplace phone email address".split())


_CITES = re.compile(
    r"^(?:and |but |so )?(?:according to|apparently|reportedly|supposedly|allegedly|rumou?r has it"
    r"|as .{2,30} (?:put it|sang|wrote))\b|^(?:and |so |then )*\w+ (?:goes|went|(?:was|were|is) (?:all "
    r"|just )?like),",
    re.I,
)
_SUPPOSITION = re.compile(
    r"^(?:now |so |ok,? )?(?:if|suppos|consider an?|picture|take an?|given an?|let \w+ (?:be|have)|imagine"
    r"|pretend|assum|let's (?:say|pretend|assume|imagine|role)"
    r"|say (?:I|we|my|our|someone|somebody|you|he|she|they|an?|the)\b|what if|hypothetically)",
    re.I,
)


def opens_supposition(sentence: str) -> bool:
    return _SUPPOSITION.match(sentence) is not None


def _is_only_a_remark(sentence: str) -> bool:
    return not re.search(
        r":\s|\b(?:novel|story|character|role-?play|pretend|diary|translat|exercise|act as)", sentence, re.I
    )


def _read_sentence(sentence: str, previous: str, user: str, at: int | None, last: str) -> Iterator[Statement]:
    is_denied = False
    parts = split_clauses(sentence)
    for part in parts:
        alone = find_retraction_alone(part)
        if alone is not None:
            after = find_retraction(part[alone.end() :].strip(" ,"), sentence)
            target = after or _find_taken_back(part, f"{previous} {sentence.partition(part)[0]}".strip())
            if target:
                yield Statement(Act.RETRACT, target)
                return
            continue
        is_denied = is_denied or is_denial(part)
        line = restore_subject(name_pronoun(expand(part), last))
        clause = parse(line)
        target = find_retraction(part, sentence) or find_retraction(line, sentence)
        if target is None and (
            ends_fact(clause, line)
            or (clause is not None and clause.negative and (is_denied or _MISTAKE.match(sentence)))
        ):
            target = describe_end(clause, line)
        if target is not None:
            yield Statement(Act.RETRACT, target, _label_positive(line, at))
            continue
        last = find_mention(part) or last
        if is_denied or is_question(part):
            continue
        advice = _ADVICE.match(part)
        if advice is not None:
            yield Statement(
                Act.ASSERT, _write_advice(advice, user), Label(kind=Kind.CONSTRAINT, subject="user")
            )
        if not (is_wish(line) or is_real(part, line)):
            if is_hearsay(part):
                return  # the rest may be hearsay as well
            continue
        statement = _read_fact(line, clause, user, at) or _read_ban(part, user, is_first=part is parts[0])
        if statement is not None:
            yield statement


_MISTAKE = re.compile(
    r"(?:it |so |and )?turn(?:s|ed) out\b|.*\b(?:(?:mixed|muddled) (?:that|it|this|them) up|my mistake"
    r"|misspoke|(?:got|had) (?:that|it) wrong|slip of the tongue|autocorrect)\b",
    re.I,
)
_ADVICE = re.compile(
    r"^(?:my|our|the) (?P<who>doctor|gp|vet|physio\w*|dentist|midwife|consultant|cardiologist|surgeon"
    r"|dietitian"
    r"|dietician|therapist|oncologist|specialist|neurologist|nutritionist|optician|pharmacist|audiologist"
    r"|psychiatrist)(?:,? (?P<name>[A-Z]\w+),?)?"
    r" (?:(?:has |have )?(?:told|asked|advised|warned|wants|ordered) (?:me|us)|says|said|insists)(?: that)? "
    r"(?P<what>(?=.*\b(?:not|no|never|must|mustn't|has to|have to|can't|should(?:n't)?|avoid|only|stop"
    r"|need)).{6,})",
    re.I,
)


def _write_advice(advice: re.Match[str], user: str) -> str:
    """Write the advice of a doctor or a vet as a fact: it is not hearsay, because agents must act on it."""
    what = re.sub(
        r"\b(?:me|us|I|we)\b", "the user", re.sub(r"\b(?:my|our)\b", "their", advice["what"])
    ).rstrip(" .!")
    return f"{user}'s {advice['who'].lower()} {advice['name'] or ''} says: {what}.".replace(
        "  ", " "
    ).replace(" says", " says", 1)


_BAN = re.compile(
    r"^(?:but |and |so )?(?P<no>no|nothing with|nothing)\s+(?!idea|worries|problem|clue|thank|need|rush"
    r"|way|doubt|chance"
    r"|luck|difference|matter|one\b|longer|more|wonder|pressure|kidding|hurry|big|joke|offen[cs]e|comment$"
    r"|else"
    r"|sorry|it\b|that"
    r"|I\b|i\b|we\b|not\b|you\b|he\b|she\b|they\b|there)(?P<what>[a-z][\w' -]{1,60})",
    re.I,
)


def _read_ban(part: str, user: str, *, is_first: bool) -> Statement | None:
    """Read a clause without a verb that excludes something: `no car`, `nothing with nuts please`."""
    match = _BAN.match(part)
    if match is None or (is_first and not re.search(r"\b(?:please|pls|for me|for us)\b", part, re.I)):
        return None
    what = re.sub(r",?\s*\b(?:please|pls|for me|for us)\b.*$", "", match["what"]).strip()
    text = f"{user}: {match['no'].lower()} {what}."
    return Statement(Act.ASSERT, text, Label(kind=Kind.CONSTRAINT, subject="user", value=what, negative=True))


def _read_mentions(sentence: str, user: str, statements: list[Statement]) -> Iterator[Statement]:
    """Yield what a sentence presupposes: the name of a relative, a condition, a trait."""
    if not is_real(sentence, sentence):
        return
    for name, text in find_presuppositions(sentence, user):
        if not any(name in one.text for one in statements):
            yield Statement(Act.ASSERT, text, label_text(text))


def _find_taken_back(part: str, previous: str) -> str | None:
    """Find what `ignore that` refers to: the words before it in the clause, else the sentence before."""
    whole = re.split(r",\s*(?:please )?(?:ignore|forget|scratch|scrap)", part)[0]
    clause = parse(expand(whole))
    if clause is not None:
        return describe_end(clause, whole)
    last = re.split(r"(?<=[.!?])\s+", previous)
    return (
        describe_end(parse(expand(previous)), previous) if len(last) == 1 and previous else previous or None
    )


def _read_fact(line: str, clause: Clause | None, user: str, at: int | None) -> Statement | None:
    if clause is not None:
        reading = read_clause(clause)
        if reading is not None:
            is_team = clause.subject.who is Who.GROUP and (
                reading.kind in (Kind.CONFIGURATION, Kind.DECISION) or clause.lemma in TEAM_WORK
            )
            text = write_fact(clause, user, is_team=is_team)
            text = _complete(text, reading, clause, user)
            return Statement(Act.ASSERT, text, label_text(text, at=at))
    instruction = read_instruction(line)
    if instruction is None:
        return None
    reading, text = instruction
    return Statement(Act.ASSERT, text.replace("The user", user), label_text(text, at=at))


def _complete(text: str, reading: Reading, clause: Clause, user: str) -> str:
    """Complete the text of a name or a move so that it matches questions about name and home."""
    if clause.subject.who not in (Who.USER, Who.GROUP) or reading.kind is not Kind.IDENTITY:
        return text
    if reading.slot == "name" and reading.value:
        return f"{user}'s name is {reading.value}."
    return f"{text[:-1]} and lives there." if clause.lemma == "move" else text


def _label_positive(line: str, at: int | None) -> Label | None:
    """Return the label of the fact that a clause retracts, from the clause without its negation."""
    text = re.sub(r"\b(?:no longer|not|any ?more|any longer|these days|after all)\b", "", line)
    return label_text(re.sub(r"\b(?:do|does) (?= ?\w)", "", " ".join(text.split())), at=at)
