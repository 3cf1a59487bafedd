"""The label of a text, and of a record, which keeps it in its metadata.

Whether a text is a constraint (a rule, a need or a limit) is also told by the weights of its words; the table
of the weights is made by `tools/constraint_model.py`.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from msgspec import ValidationError, convert, to_builtins
from msgspec.structs import replace

from memorywire.facts.clauses import Clause, Who, expand, parse
from memorywire.facts.frames import read_clause
from memorywire.facts.instructions import INSTRUCTED, read_instruction
from memorywire.facts.phrases import Reading
from memorywire.facts.sentences import is_hearsay, is_unreal, is_unserious
from memorywire.facts.words import CONFIGURED, DIETS, SINGLE, TOOLS
from memorywire.model.kv import MARK as KEYED
from memorywire.model.kv import is_mark
from memorywire.model.label import MARK, Kind, Label
from memorywire.model.layer import MARK as LAYER
from memorywire.model.layer import Kind as LayerKind
from memorywire.model.record import Json, Record

PINNED = "pinned"

_KEPT = (PINNED,)
"""Entries under the mark that no reading changes."""


def read_label(record: Record) -> Label | None:
    """The label of a record; None for one without a label, or with something else under that name."""
    mark = record.metadata.get(MARK) if record.metadata else None
    if not isinstance(mark, Mapping) or "kind" not in mark:
        return None
    try:
        return convert(mark, Label)
    except ValidationError:
        return None


def label_record(record: Record, kind: Kind | None, slot: str | None) -> Record:
    """The record with its label: the one that the caller gives, or the one that its text shows.

    A label that a caller gave earlier stays, and so does other metadata under the same name. A label that was
    read from an earlier text is read again.
    """
    mark = record.metadata.get(MARK) if record.metadata else None
    if kind is None and (not isinstance(record.content, str) or not _is_readable(record, mark)):
        return record
    label = label_text(record.content, at=record.moment) if isinstance(record.content, str) else None
    if kind is not None:
        label = _choose(label, kind, slot)
    if label is None and mark is None:
        return record
    own = {name: mark[name] for name in _KEPT if name in mark} if isinstance(mark, Mapping) else {}
    own = own if label is None else {**to_builtins(label), **own}
    metadata = {name: value for name, value in record.metadata.items() if name != MARK}
    return replace(record, metadata={**metadata, MARK: own} if own else metadata)


def replaces(new: Label, old: Label) -> bool:
    """Whether a newer fact replaces an older one: another value of a slot with one value, or the opposite.

    A constraint is only replaced by what contradicts it: another diet of the same family, or its denial.
    """
    if new.subject != old.subject or new.slot is None or new.value is None or old.value is None:
        return False
    if new.slot != old.slot and {new.slot, old.slot} != {"likes", "dislikes"}:
        return False
    is_same = new.value.casefold() == old.value.casefold()
    if is_same or new.negative != old.negative:
        return is_same and new.negative != old.negative
    if new.slot == "diet":
        return new.value in DIETS and old.value in DIETS
    return new.slot in SINGLE and not new.negative


def is_pinned(record: Record) -> bool:
    """Whether the memory is always part of a context."""
    mark = record.metadata.get(MARK) if record.metadata else None
    return isinstance(mark, Mapping) and mark.get(PINNED) is True


def pin_record(record: Record, *, pinned: bool) -> Record:
    """The record with or without its pin; metadata of another meaning under the same name stays."""
    mark = record.metadata.get(MARK, {})
    if not isinstance(mark, Mapping):
        return record
    own = {name: value for name, value in mark.items() if name != PINNED}
    own = {**own, PINNED: True} if pinned else own
    metadata = {name: value for name, value in record.metadata.items() if name != MARK}
    return replace(record, metadata={**metadata, MARK: own} if own else metadata)


def _is_readable(record: Record, mark: Json) -> bool:
    """Whether the text may be read: not the turn of a conversation, a value, or what a caller labelled."""
    metadata = record.metadata
    if not metadata:
        return True
    if mark is not None and (not isinstance(mark, Mapping) or mark.get("given") or not _is_ours(mark)):
        return False
    layer = metadata.get(LAYER)
    if isinstance(layer, Mapping) and layer.get("kind") == LayerKind.FACT.value:
        return True
    return record.speaker is None and not isinstance(layer, Mapping) and not is_mark(metadata.get(KEYED))


def _is_ours(mark: Mapping[str, Json]) -> bool:
    return set(mark) <= {*Label.__struct_fields__, *_KEPT}


def _choose(label: Label | None, kind: Kind, slot: str | None) -> Label:
    """The kind and slot that a caller gave, with what the text shows beside them."""
    if label is None:
        return Label(kind=kind, slot=slot, given=True)
    same = slot in (None, label.slot) and kind is label.kind
    return replace(
        label,
        kind=kind,
        slot=label.slot if same else slot,
        value=label.value if same else None,
        given=True,
    )


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


def label_text(text: str, *, at: int | None = None) -> Label | None:
    """The label of a text; None if it states no fact of a known kind.

    Only the beginning of a long text is read. The words of doubt and hearsay make a text one without a label.
    """
    head = text if len(text) <= _LONGEST else text[:_LONGEST]
    if len(head) < _SHORTEST or head[0] in "{[<" or head.rstrip().endswith("?"):
        return None
    place = read_text(head)
    is_doubtful = place is not None and not _DOUBTS.isdisjoint(_WORDS.findall(head.lower()))
    if place is None or (is_doubtful and (is_unreal(head) or is_hearsay(head) or is_unserious(head))):
        return Label(kind=Kind.CONSTRAINT) if is_constraint(head) else None
    reading, clause = place
    if reading.kind is not Kind.CONSTRAINT and reading.slot not in _SINGLE_OR_TASTES and is_constraint(head):
        reading = reading._replace(kind=Kind.CONSTRAINT)
    return build_label(reading, clause, head, at)


_TASTES = frozenset({"likes", "dislikes", "hobby"})
"""Slots that say what somebody likes, whatever the words weigh."""


def read_text(text: str) -> tuple[Reading, Clause | None] | None:
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


def build_label(reading: Reading, clause: Clause | None, text: str, at: int | None) -> Label:
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
        return None if is_of_team(reading, clause) else "user"
    if subject.who is Who.PERSON:
        names = [word for word in subject.text.split()[1:] if word[0].isupper()]
        if reading.kind is Kind.RELATION and subject.is_own:
            return "user"
        return " ".join(names) if subject.is_own and names else subject.head
    is_general = reading.kind in (Kind.CONFIGURATION, Kind.DECISION) or subject.head in _CONFIGURED_OR_TOOLS
    return "user" if subject.is_own and not is_general else None


def is_of_team(reading: Reading, clause: Clause) -> bool:
    """Whether `we` are the people somebody works with."""
    if clause.subject.who is not Who.GROUP:
        return False
    return reading.kind in (Kind.CONFIGURATION, Kind.DECISION) or clause.lemma in _TEAM_WORK


_TEAM_WORK = frozenset(
    """
    deploy release merge squash rebase review ship test lint format tag push log publish bill invoice
    """.split()
)


TABLE = Path(__file__).with_name("constraints.json")
THRESHOLD = -1.25
"""Rather one too many: a constraint that is not seen does harm, a needless one costs a few tokens."""

_TOKEN = re.compile(r"[a-z]+(?:['-][a-z]+)*|\d[\d.,:]*|[:;$€£%]")
_STEM = 5


def list_stems(text: str) -> list[str]:
    """The beginnings of the words; every number is the same."""
    return ["#" if word[0].isdigit() else word[:_STEM] for word in _TOKEN.findall(text.lower())]


@cache
def load_table() -> dict[str, float]:
    """The weight of each stem and of each pair of neighbours."""
    table: dict[str, float] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def is_constraint(text: str) -> bool:
    """Whether the words of the text weigh enough."""
    weight, stems = load_table().get, list_stems(text)
    total: float = weight("", 0.0)
    previous = "^"
    for stem in stems:
        total += weight(stem, 0.0) + weight(f"{previous} {stem}", 0.0)
        previous = stem
    return total > THRESHOLD


_SINGLE_OR_TASTES = SINGLE | _TASTES
_CONFIGURED_OR_TOOLS = CONFIGURED | TOOLS
