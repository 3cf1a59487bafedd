"""Reads texts for facts: the label of a memory, and the statements in a turn of a conversation."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from memorywire.facts.clauses import Clause, Who, expand, parse
from memorywire.facts.frames import read_clause
from memorywire.facts.instructions import INSTRUCTED, is_wish, read_instruction
from memorywire.facts.phrases import Reading
from memorywire.facts.retractions import (
    describe_end,
    ends_fact,
    find_retraction,
    is_denial,
    is_retraction_alone,
)
from memorywire.facts.sentences import (
    has_quotation,
    is_hearsay,
    is_question,
    is_unreal,
    is_unserious,
    quotes_after_colon,
    split_clauses,
    split_sentences,
    takes_all_back,
)
from memorywire.facts.wording import write_fact
from memorywire.facts.words import CONFIGURED, TOOLS
from memorywire.model.label import Kind, Label

_MONTH_NAMES = "january february march april may june july august september october november december".split()
_NUMBER = {month[:3]: number for number, month in enumerate(_MONTH_NAMES, 1)}
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTH = (
    r"(?P<{}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH.format('month')}\b(?:,? (?P<year>\d{{4}}))?"
    rf"|\b{_MONTH.format('first')} (?P<second>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<of>\d{{4}}))?"
    r"|\b(?P<iso>\d{4}-\d\d-\d\d)\b|\b(?P<tomorrow>tomorrow)\b"
    r"|\b(?:on|until|by|this|next) (?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b",
    re.I,
)


def find_end(text: str, at: int) -> int | None:
    """The end of the last day that the text names, as seen from the moment `at`; None without a date."""
    ends = [end for match in _DATE.finditer(text) if (end := _read_date(match, at)) is not None]
    return max(ends, default=None)


def _read_date(match: re.Match[str], at: int) -> int | None:
    now = datetime.fromtimestamp(at / 1000, UTC)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if match["iso"]:
            day = datetime.fromisoformat(match["iso"]).replace(tzinfo=UTC)
        elif match["tomorrow"]:
            day = today + timedelta(days=1)
        elif match["weekday"]:
            day = today + timedelta(
                days=(_DAYS.index(match["weekday"].lower()) - today.weekday() - 1) % 7 + 1
            )
        else:
            month = _NUMBER[(match["month"] or match["first"])[:3].lower()]
            year = match["year"] or match["of"]
            day = today.replace(
                year=int(year) if year else today.year, month=month, day=int(match["day"] or match["second"])
            )
            if not year and day < today:
                day = day.replace(year=day.year + 1)
    except (ValueError, OverflowError):
        return None
    return int((day + timedelta(days=1)).timestamp() * 1000) - 1


_SHORTEST, _LONGEST = 6, 400
_WORDS = re.compile(r"[\w'’]+")
_DOUBTS = frozenset(
    """
    if suppose supposing imagine pretend assume assuming let's hypothetically theory wish hopefully hope
    hoping maybe perhaps possibly probably presumably might may could would sure unsure thinking
    considering tempted wondering guess think believe doubt dream someday whether unless seems seem like
    said says say saying claims claimed told tells reckons reckon insists swears mentions mentioned
    thinks thought according apparently reportedly allegedly supposedly rumour rumor heard read article
    haha lol kidding joking basically practically literally obviously clearly novel story character poem
    fiction translate translated rewrite used almost nearly meant supposed had were was
    """.split()
)


class Act(StrEnum):
    """What a statement does: it says that something is so, or takes it back."""

    ASSERT = "assert"
    RETRACT = "retract"


class Statement(NamedTuple):
    """A fact in the third person, or (RETRACT) the words of what is taken back."""

    act: Act
    text: str
    label: Label | None = None


def label_text(text: str, *, at: int | None = None) -> Label | None:
    """The label of a text; None if it states no fact of a known kind.

    Only the beginning of a long text is read. The words of doubt and hearsay make a text one without a label.
    """
    head = text if len(text) <= _LONGEST else text[:_LONGEST]
    if len(head) < _SHORTEST or head[0] in "{[<" or head.rstrip().endswith("?"):
        return None
    located = _read(head)
    if located is None:
        return None
    reading, clause = located
    if not _DOUBTS.isdisjoint(_WORDS.findall(head.lower())) and (
        is_unreal(head) or is_hearsay(head) or is_unserious(head)
    ):
        return None
    return _build_label(reading, clause, head, at)


def _read(text: str) -> tuple[Reading, Clause | None] | None:
    line = expand(text) if "'" in text or "’" in text or "cannot" in text else text
    clause = parse(line)
    if clause is not None:
        reading = read_clause(clause)
        if reading is not None:
            return reading, clause
    first = line.split(None, 1)[0].lower().rstrip(",") if line.strip() else ""
    if first in INSTRUCTED or first in ("user", "the") or " only" in line[-30:]:
        instruction = read_instruction(line)
        if instruction is not None:
            return instruction[0], None
    return None


def _build_label(reading: Reading, clause: Clause | None, text: str, at: int | None) -> Label:
    until = find_end(text, at) if at is not None and reading.kind is Kind.PLAN else None
    return Label(
        kind=reading.kind,
        subject=_find_subject(reading, clause),
        slot=reading.slot,
        value=reading.value or None,
        negative=reading.negative,
        valid_until=until,
    )


def _find_subject(reading: Reading, clause: Clause | None) -> str | None:
    """Whose fact it is: `user`, a name or relation, or None for a fact about the work or the agent."""
    if clause is None:
        return "user" if reading.kind in (Kind.IDENTITY, Kind.PREFERENCE) else None
    subject = clause.subject
    if subject.who is Who.USER:
        return "user"
    if subject.who is Who.GROUP:
        return None if _is_of_team(reading, clause) else "user"
    if subject.who is Who.PERSON:
        names = [word for word in subject.text.split()[1:] if word[0].isupper()]
        if reading.kind is Kind.RELATION and subject.is_own:
            return "user"
        return " ".join(names) if subject.is_own and names else subject.head
    is_general = reading.kind in (Kind.CONFIGURATION, Kind.DECISION) or subject.head in CONFIGURED | TOOLS
    return "user" if subject.is_own and not is_general else None


def read_turn(content: str, *, speaker: str | None = None, at: int | None = None) -> list[Statement]:
    """The facts in what a person said, in the third person, and what they take back.

    `speaker` is the name of the person, if it is known.
    """
    user = speaker or "The user"
    statements: list[Statement] = []
    previous, start = "", 0
    for sentence in split_sentences(content):
        if takes_all_back(sentence):
            del statements[start:]
            continue
        if is_unserious(sentence) or quotes_after_colon(sentence):
            if not _is_only_a_remark(sentence):
                break  # what follows belongs to the story, the exercise or the joke
            continue
        if opens_supposition(sentence):
            break
        if is_question(sentence) or has_quotation(sentence) or _CITES.match(sentence):
            continue
        start = len(statements)
        statements += _read_sentence(sentence, previous, user, at)
        previous = sentence
    return list({(one.act, one.text): one for one in statements}.values())


_CITES = re.compile(
    r"^(?:and |but |so )?(?:according to|apparently|reportedly|supposedly|allegedly|rumou?r has it"
    r"|as .{2,30} put it)\b",
    re.I,
)
_SUPPOSITION = re.compile(
    r"^(?:now |so |ok,? )?(?:if|suppos|imagine|pretend|assum|let's (?:say|pretend|assume|imagine|role)"
    r"|say (?:I|we|my|our)\b|what if|hypothetically)",
    re.I,
)


def opens_supposition(sentence: str) -> bool:
    return _SUPPOSITION.match(sentence) is not None


def _is_only_a_remark(sentence: str) -> bool:
    return not re.search(
        r":\s|novel|story|character|role-?play|pretend|diary|translat|exercise|act as", sentence, re.I
    )


def _read_sentence(sentence: str, previous: str, user: str, at: int | None) -> Iterator[Statement]:
    is_denied = False
    for part in split_clauses(sentence):
        if is_retraction_alone(part):
            target = _find_taken_back(part, previous)
            if target:
                yield Statement(Act.RETRACT, target)
            return
        is_denied = is_denied or is_denial(part)
        line = expand(part)
        clause = parse(line)
        target = find_retraction(part, sentence) or find_retraction(line, sentence)
        if target is None and (
            ends_fact(clause, line) or (is_denied and clause is not None and clause.negative)
        ):
            target = describe_end(clause, line)
        if target is not None:
            yield Statement(Act.RETRACT, target, _label_positive(line, at))
            continue
        wish = is_wish(line)
        if (
            is_denied
            or (is_unreal(part) and not wish)
            or (is_unreal(line) and not wish)
            or is_hearsay(part)
            or is_question(part)
        ):
            continue
        statement = _read_fact(line, clause, user, at)
        if statement is not None:
            yield statement


def _find_taken_back(part: str, previous: str) -> str | None:
    """What `ignore that` is about: the words before it in the clause, else the sentence before."""
    whole = re.split(r",\s*(?:please )?(?:ignore|forget|scratch|scrap)", part)[0]
    clause = parse(expand(whole))
    if clause is not None:
        return describe_end(clause, whole)
    return describe_end(parse(expand(previous)), previous) if previous else None


def _read_fact(line: str, clause: Clause | None, user: str, at: int | None) -> Statement | None:
    if clause is not None:
        reading = read_clause(clause)
        if reading is not None:
            text = write_fact(clause, user, is_team=_is_of_team(reading, clause))
            text = _complete(text, reading, clause, user)
            return Statement(Act.ASSERT, text, _build_label(reading, clause, text, at))
    instruction = read_instruction(line)
    if instruction is None:
        return None
    reading, text = instruction
    return Statement(Act.ASSERT, text.replace("The user", user), _build_label(reading, None, text, at))


def _complete(text: str, reading: Reading, clause: Clause, user: str) -> str:
    """The text of a fact as questions ask for it: by the name, and by where somebody lives."""
    if clause.subject.who not in (Who.USER, Who.GROUP) or reading.kind is not Kind.IDENTITY:
        return text
    if reading.slot == "name" and reading.value:
        return f"{user}'s name is {reading.value}."
    return f"{text[:-1]} and lives there." if clause.lemma == "move" else text


def _is_of_team(reading: Reading, clause: Clause) -> bool:
    """Whether `we` are the people somebody works with."""
    if clause.subject.who is not Who.GROUP:
        return False
    return reading.kind in (Kind.CONFIGURATION, Kind.DECISION) or clause.lemma in _TEAM_WORK


_TEAM_WORK = frozenset(
    """
    deploy release merge squash rebase review ship test lint format tag push log publish bill invoice
    """.split()
)


def _label_positive(line: str, at: int | None) -> Label | None:
    """The label of the fact that a clause takes back, as it was when it was so."""
    text = re.sub(r"\b(?:no longer|not|any ?more|any longer|these days|after all)\b", "", line)
    located = _read(re.sub(r"\b(?:do|does) (?= ?\w)", "", " ".join(text.split())))
    return None if located is None else _build_label(*located, text, at)
