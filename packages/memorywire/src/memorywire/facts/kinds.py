"""Finds the label of a text from its first clause, fast enough for every write.

The words are split once. The sum of their weights detects a constraint; the subject, the verb and the first
noun of a known class determine the kind and the slot. `tools/constraint_model.py` trains the weights.
"""

import json
import re
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

from memorywire.facts.clauses import LINKS, ORDINARY, Form, verb_forms
from memorywire.facts.dates import find_end
from memorywire.facts.words import (
    CONDITIONS,
    CONFIGURED,
    DATABASES,
    EDITORS,
    FOODS,
    ILLNESSES,
    JOB_ENDINGS,
    JOBS,
    KIN,
    LANGUAGES,
    LANGUAGES_OF_CODE,
    LIKES,
    MEETINGS,
    NATIONS,
    NOT_JOBS,
    PEOPLE,
    PETS,
    PLANS,
    QUEUES,
    RULES_OF_FOOD,
    SINGLE,
    SLOT_OF_NOUN,
    STATES,
    SYSTEMS,
    THINGS,
    TOOLS,
    VAGUE,
    WEEKDAYS,
)
from memorywire.model.label import Kind, Label

_SHORTEST, _LONGEST = 6, 200

TABLE = Path(__file__).with_name("constraints.json")
THRESHOLD = -1.25
"""Set for recall: a missed constraint does harm, a false one costs a few tokens."""

_TOKEN = re.compile(r"[a-z]++(?:['-][a-z]++)*+|\d[\d.,:]*+|[:;$€£%]")
_STEM = 5


def list_stems(text: str) -> list[str]:
    """Return the first letters of each word; every number becomes `#`."""
    return ["#" if "0" <= word < ":" else word[:_STEM] for word in _TOKEN.findall(text.lower())]


_Following: TypeAlias = dict[str, float]
_UNKNOWN: tuple[float, _Following] = (0.0, {})


@cache
def _load_table() -> tuple[float, dict[str, tuple[float, _Following]], _Following]:
    """Return the bias, the weight of each stem with those of its successors, and of each as first stem."""
    table: dict[str, float] = json.loads(TABLE.read_text(encoding="utf-8"))
    stems: dict[str, tuple[float, _Following]] = {}
    for name, weight in table.items():
        first, _, second = name.partition(" ")
        own, following = stems.get(first, (0.0, {}))
        if second:
            following[second] = weight
        stems[first] = (own if second else weight, following)
    return table.get("", 0.0), stems, stems.get("^", (0.0, {}))[1]


def _is_constraint(words: list[str]) -> bool:
    """Whether the weights of the words add up to more than the threshold."""
    total, stems, following = _load_table()
    for word in words:
        stem = "#" if "0" <= word < ":" else word[:_STEM]
        weight, behind = stems.get(stem, _UNKNOWN)
        total += weight
        if stem in following:
            total += following[stem]
        following = behind
    return total > THRESHOLD


class _Place(NamedTuple):
    """A divided clause: its subject, its verb, and `at`, the index of the word after the verb."""

    subject: str | None
    noun: str
    is_own: bool
    is_group: bool
    lemma: str
    form: Form | None
    flags: int
    at: int


_Class: TypeAlias = tuple[Kind, str | None]
_Found: TypeAlias = tuple[Kind, str | None, int]

_UNSURE = frozenset(
    """
    if suppose supposing imagine pretend assume assuming hypothetically wish hopefully hope hopes hoping maybe
    perhaps possibly probably presumably might could would unsure wondering guess think thinks doubt whether
    said says claims claimed told tells reckons insists swears mentions according apparently reportedly i'd
    allegedly supposedly rumour rumor heard haha lol kidding joking novel poem fiction translate rewrite
    considering tempted almost nearly supposed
    """.split()
)
"""Words of doubt, hearsay and fiction: a text with one of them gets no slot."""

_BE, _PAST, _HAVE, _NOT, _WILL, _MODAL = 1, 2, 4, 8, 16, 32
_HELPERS = {
    **dict.fromkeys("am is are be being".split(), _BE),
    **dict.fromkeys("was were been".split(), _BE | _PAST),
    **dict.fromkeys(("isn't", "aren't"), _BE | _NOT),
    **dict.fromkeys(("wasn't", "weren't"), _BE | _NOT | _PAST),
    **dict.fromkeys(("have", "has"), _HAVE),
    "had": _HAVE | _PAST,
    **dict.fromkeys(("haven't", "hasn't"), _HAVE | _NOT),
    **dict.fromkeys(("will", "shall"), _WILL),
    "won't": _WILL | _NOT,
    **dict.fromkeys("can must should may".split(), _MODAL),
    **dict.fromkeys("can't cannot mustn't shouldn't".split(), _MODAL | _NOT),
    **dict.fromkeys("don't doesn't didn't".split(), _NOT),
    **dict.fromkeys(("do", "does", "did"), 0),
}
_BETWEEN = {
    **_HELPERS,
    **dict.fromkeys("not never no rarely hardly seldom longer".split(), _NOT),
    **dict.fromkeys(
        """
        really also always usually often mostly still just only already normally generally currently now
        actually definitely strictly both all recently finally mainly sometimes regularly officially severely
        """.split(),
        0,
    ),
}
_STARTS = {
    **dict.fromkeys(("i", "user", "customer", "we"), 0),
    **dict.fromkeys(("i'm", "we're"), _BE),
    **dict.fromkeys(("i've", "we've"), _HAVE),
    **dict.fromkeys(("i'll", "we'll"), _WILL),
}
_OWN = frozenset({"my", "our", "user's", "customer's"})
_NO_SUBJECTS = frozenset(
    """
    it that this there you he she they what who which how why when where here since after before as always
    never please don't do call answer reply respond
    """.split()
)
_BEFORE_NOUNS = _OWN | frozenset("the this these all each every both a an their his her".split())


def label_text(text: str, *, at: int | None = None, weigh: bool = True) -> Label | None:
    """Return the label of a text; None if it states no fact of a known kind. Only its beginning is read.

    Without `weigh`, the weights of the words cannot make it a constraint.
    """
    head = text if len(text) <= _LONGEST else text[:_LONGEST]
    if len(head) < _SHORTEST or head[0] in "{[<" or head.endswith("?"):
        return None
    if "’" in head:
        head = head.replace("’", "'")
    lower = head.lower()
    words = _TOKEN.findall(lower)
    if len(words) < 2:
        return None
    place = find = None
    if _UNSURE.isdisjoint(words):
        place = _divide(words, head, lower)
        find = _read_order(words) if place is None else _READERS.get(place.lemma, _read_verb)(place, words)
    if find is None:
        slot = "instruction" if "must" in words else None  # an explicit rule
        return Label(kind=Kind.CONSTRAINT, slot=slot) if weigh and _is_constraint(words) else None
    kind, slot, skip = find
    is_certain = kind is Kind.CONSTRAINT or (slot in _SINGLE_OR_TASTES and kind is not Kind.POSSESSION)
    if weigh and not is_certain and _is_constraint(words):
        is_denial = place is not None and place.flags & _NOT
        kind, slot = Kind.CONSTRAINT, slot if is_denial else None  # the slot belongs to another kind
    flags = 0
    if place is not None:
        skip += place.at
        flags = place.flags
    return Label(
        kind=kind,
        subject=None if place is None else _find_owner(place, kind),
        slot=slot,
        value=_cut_value(head, lower, words[skip - 1]),
        negative=slot == "dislikes" or (flags & _NOT != 0 and slot != "likes"),
        valid_until=find_end(head, at) if at is not None and kind is Kind.PLAN else None,
    )


def _find_owner(place: _Place, kind: Kind) -> str | None:
    """Return the subject of the fact: `user`, a name or relation, or None for one about work or agent."""
    if place.is_group:
        return None if kind in _GENERAL or place.lemma in TEAM_WORK else "user"
    if place.is_own and (kind is Kind.RELATION or (place.subject is None and kind not in _GENERAL)):
        return "user"
    return place.subject


_GENERAL = frozenset({Kind.CONFIGURATION, Kind.DECISION})
_TASTES = frozenset({"likes", "dislikes", "hobby"})
"""Slots of tastes: their facts stay preferences, whatever the weights of their words."""
_SINGLE_OR_TASTES = SINGLE | _TASTES
TEAM_WORK = frozenset(
    """
    deploy release merge squash rebase review ship test lint format tag push log publish bill invoice
    """.split()
)
_END = re.compile(
    r"[.!?](?:\s|$)|[,;:]\s|\s(?:because|since|but|so|when|if|and (?:I|we|my|it|they|he|she|has|is|lives)"
    r"|which|although|though|until|now|currently|these days|again|too|instead|already)(?=[\s.!]|$)"
)
_ARTICLES = ("a ", "an ", "the ", "some ", "any ", "about ", "my ", "our ", "their ")


def _cut_value(head: str, lower: str, word: str) -> str | None:
    """Return the words after a word, up to the end of their phrase."""
    start = f" {lower}".find(f" {word} ")
    if start < 0:
        return None
    start += len(word) + 1
    end = _END.search(head, start)
    value = head[start : end.start() if end else None].strip(" .,;:!?\"'`")
    if value.startswith(_ARTICLES):
        value = value.partition(" ")[2]
    return value[:120] or None


def _divide(words: list[str], head: str, lower: str) -> _Place | None:
    """Return the subject and the verb of the first clause; None if it does not begin with a subject."""
    first = words[0]
    at = 1
    if first == "the" and words[1] in ("user", "customer"):
        first, at = "user", 2
    flags = _STARTS.get(first)
    if flags is not None:
        if words[at] == "asks":
            return None
        return _find_verb(words, at, flags, "user", "user", is_own=False, is_group=first[0] == "w")
    if first in _NO_SUBJECTS:
        return None
    at, noun_at = _find_end(words)
    if not at:
        return None
    noun = words[noun_at - 1].removesuffix("'s")
    if noun == "team":
        return _find_verb(words, at, 0, "user", "user", is_own=False, is_group=True)
    is_own = first in _OWN or (first == "the" and words[1] in _OWN)
    subject = None
    if noun not in ORDINARY or noun in PEOPLE:
        text = head[: lower.find(f" {words[at]}")]
        noun, subject = _name(words[:noun_at], noun, text, is_own=is_own)
    return _find_verb(words, at, 0, subject, noun, is_own=is_own, is_group=False)


def _find_end(words: list[str]) -> tuple[int, int]:
    """Return the index of the verb after a noun phrase, and of the end of the phrase before a preposition."""
    forms = verb_forms()
    noun_at = 0
    for at in range(1, min(len(words), 9)):
        word = words[at]
        if word in _HELPERS or word in ("always", "never"):
            return at, noun_at or at
        if word in LINKS:
            noun_at = noun_at or at
        elif word in forms and (word not in ORDINARY or words[at - 1] == "team"):
            form = forms[word][1]
            is_finite = form is not Form.ING and (form is not Form.BASE or words[at - 1][-1] == "s")
            if is_finite and words[at - 1] not in _BEFORE_NOUNS:
                return at, noun_at or at
        elif word in (";", ":"):
            break
    return 0, 0


def _name(words: list[str], noun: str, text: str, *, is_own: bool) -> tuple[str, str | None]:
    """Return the noun of a subject, and its name or relation if it is a person."""
    relation = noun if noun in PEOPLE else None
    if relation is None and not PEOPLE.isdisjoint(words):
        relation = next(word for word in words if word in PEOPLE)
    if relation is not None and (is_own or relation in KIN or words[0] == "the"):
        if not is_own:
            return relation, relation
        names = (word for word in text.split() if word[0].isupper() and word.lower() not in _BEFORE_NOUNS)
        return relation, " ".join(names) or relation
    if noun in ORDINARY or words[0] in _BEFORE_NOUNS:
        return noun, None
    return noun, text if all(word[0].isupper() for word in text.split()) else None


def _find_verb(
    words: list[str], at: int, flags: int, subject: str | None, noun: str, *, is_own: bool, is_group: bool
) -> _Place | None:
    """Find the main verb after auxiliaries and adverbs; None without one."""
    count = len(words)
    while at < count and (flag := _BETWEEN.get(words[at])) is not None:
        flags |= flag
        at += 1
    lemma, form = "", None
    if at < count:
        lemma, form = verb_forms().get(words[at], ("", None))
    if flags & _BE:
        if form is not Form.ING and lemma not in ("call", "name", "bear", "move", "keep"):
            lemma, form = "be", None
    elif flags & _HAVE and form is not Form.PAST:
        lemma, form = "have", None
    elif flags & _HAVE and lemma == "get":
        lemma = "have"
    elif not lemma:
        if at == count or subject is None:
            return None
        lemma, form = words[at], _guess_form(words[at])
    if lemma not in ("be", "have") or form is not None:
        at += 1
    return _Place(subject, noun, is_own, is_group, lemma, form, flags, at)


def _guess_form(word: str) -> Form:
    return Form.PAST if word.endswith("ed") else Form.ING if word.endswith("ing") else Form.SINGULAR


def _class_slots(kind: Kind, nouns: Iterable[str], slot: str | None = None) -> dict[str, _Class]:
    return {noun: (kind, slot or SLOT_OF_NOUN.get(noun, noun)) for noun in nouns}


_TOOL_SLOTS = {
    **dict.fromkeys(TOOLS, "tool"),
    **dict.fromkeys(LANGUAGES_OF_CODE, "skill"),
    **dict.fromkeys(QUEUES, "queue"),
    **dict.fromkeys(SYSTEMS, "system"),
    **dict.fromkeys(EDITORS, "editor"),
    **dict.fromkeys(DATABASES, "database"),
}
_OWNED = {
    **_class_slots(Kind.POSSESSION, THINGS),
    **_class_slots(Kind.CONFIGURATION, THINGS & CONFIGURED),
    **_class_slots(Kind.RELATION, KIN),
    **_class_slots(Kind.POSSESSION, PETS, "pet"),
    **_class_slots(Kind.CONSTRAINT, ILLNESSES, "health"),
    **_class_slots(Kind.CONSTRAINT, "allergy allergies intolerance".split(), "allergy"),
}
_TRAITS = {
    **_class_slots(Kind.IDENTITY, NATIONS, "nationality"),
    **_class_slots(Kind.IDENTITY, JOBS, "job"),
    **_class_slots(Kind.IDENTITY, STATES, "marital_status"),
    **_class_slots(Kind.IDENTITY, "retired unemployed self-employed freelance".split(), "employment"),
    **_class_slots(Kind.CONFIGURATION, PLANS, "plan"),
    **_class_slots(Kind.PREFERENCE, "fan keen fond into lover mad obsessed".split(), "likes"),
    **_class_slots(Kind.PREFERENCE, "scared afraid terrified".split(), "dislikes"),
    **_class_slots(Kind.CONSTRAINT, CONDITIONS, "health"),
    **_class_slots(Kind.CONSTRAINT, RULES_OF_FOOD, "diet"),
    **_class_slots(Kind.CONSTRAINT, "allergic intolerant".split(), "allergy"),
    "based": (Kind.IDENTITY, "home"),
    "from": (Kind.IDENTITY, "origin"),
}
_SUBJECTS = {
    **_class_slots(Kind.IDENTITY, SLOT_OF_NOUN),
    **_class_slots(Kind.CONFIGURATION, CONFIGURED),
    **_class_slots(Kind.POSSESSION, (THINGS | PETS) - CONFIGURED),
    **_class_slots(Kind.RELATION, PEOPLE),
    **_class_slots(Kind.PLAN, MEETINGS - {"birthday", "anniversary", "date"}),
    **_class_slots(Kind.IDENTITY, ("phone", "account", "birthday", "anniversary")),
    "number": (Kind.IDENTITY, "phone"),
}
_STOPS = frozenset("at for in of with who and that about which on to called named ; :".split())
_AWAY = frozenset("out off away free available busy unavailable on at".split())
_ACCESS = frozenset(
    "wheelchair step-free ramp subtitles captions braille interpreter crutches hearing screen".split()
)
_TIMES = WEEKDAYS | frozenset(
    "every each daily weekly monthly always usually never normally morning mornings evening".split()
)


def _read_be(place: _Place, words: list[str]) -> _Found | None:
    at = place.at
    rest = words[at : at + 7]
    if not rest or (place.flags & _PAST and not place.flags & _HAVE):
        return None
    if place.subject is None:
        return _read_attribute(place, words, rest[0])
    if rest[0] in ("on", "in") and not PLANS.isdisjoint(rest):
        return Kind.CONFIGURATION, "plan", 1
    for index, word in enumerate(rest):
        known = _TRAITS.get(word)
        if known is not None or (word.endswith(JOB_ENDINGS) and word not in NOT_JOBS):
            kind, slot = known or (Kind.IDENTITY, "job")
            is_behind = slot in _BEHIND and index + 1 < len(rest) and rest[index + 1] in _STOPS
            return kind, slot, index + 2 if is_behind else 0
        if word in _STOPS:
            break
    first = rest[0]
    if "0" <= first < ":" and len(first.rstrip(".,:")) < 3:
        return Kind.IDENTITY, "age", 0
    if first in _AWAY and not _TIMES.isdisjoint(rest):
        return Kind.PROCEDURE, "schedule", 0
    relation = place.noun if place.is_own else None
    if first in _OWN:
        relation = next((word for word in rest[1:4] if word in PEOPLE), relation)
    return (Kind.RELATION, SLOT_OF_NOUN.get(relation, relation), 0) if relation else None


_BEHIND = frozenset({"allergy", "likes", "dislikes", "home"})
"""Slots whose value follows a preposition."""


def _read_attribute(place: _Place, words: list[str], first: str) -> _Found | None:
    """Read `be` with a thing: `My phone number is 12`, `The user's blood type is A`."""
    noun = place.noun
    if first in VAGUE and noun != "pronouns":
        return None
    before = words[words.index(noun) - 1] if noun in words[1:] and noun != words[0] else noun
    kind, slot = (
        _SUBJECTS.get(noun) or _SUBJECTS.get(before) or (Kind.IDENTITY, noun if place.is_own else None)
    )
    if noun == "number":
        slot = "phone" if SLOT_OF_NOUN.get(before) == "phone" else f"{before}_number"
    elif before.endswith("'s") and before[:-2] in PEOPLE:
        kind, slot = Kind.RELATION, SLOT_OF_NOUN.get(before[:-2], before[:-2])
    return None if slot is None else (kind, slot, 0)


def _read_have(place: _Place, words: list[str]) -> _Found | None:
    """Read `have`: a possession or a duty."""
    at = place.at
    if at < len(words) and words[at] == "to" and place.subject is None:
        return Kind.CONSTRAINT, None, 0
    if place.flags & _NOT and not FOODS.isdisjoint(words[at : at + 4]):
        return Kind.CONSTRAINT, "diet", 0
    if place.flags & (_PAST | _MODAL | _WILL):
        return None
    for word in words[at : at + 6]:
        known = _OWNED.get(word)
        if known is not None:
            return (*known, 0)
        if word in _STOPS:
            return None
    return None


_HOME, _EMPLOYER, _TOOL = (Kind.IDENTITY, "home"), (Kind.IDENTITY, "employer"), (Kind.DECISION, "tool")
_LEFT, _MARRIED = (Kind.EVENT, "employer"), (Kind.EVENT, "marital_status")
_PHRASES: dict[str, _Class] = {
    **dict.fromkeys(("live in", "live at", "live on", "live near", "move to", "move into"), _HOME),
    **dict.fromkeys(("live with", "live alone"), (Kind.IDENTITY, "household")),
    **dict.fromkeys(("work at", "work for"), _EMPLOYER),
    **dict.fromkeys(("work in", "work with"), (Kind.IDENTITY, "field")),
    "work as": (Kind.IDENTITY, "job"),
    "go by": (Kind.IDENTITY, "name"),
    "bear in": (Kind.IDENTITY, "birthplace"),
    "bear on": (Kind.IDENTITY, "birthday"),
    "get promoted": (Kind.EVENT, "job"),
}
"""The slot of a verb and the word after it."""

_HABITS: dict[str, _Class] = {
    "drive": (Kind.POSSESSION, "car"),
    "speak": (Kind.PREFERENCE, "languages"),
    "learn": (Kind.PREFERENCE, "skill"),
    **dict.fromkeys(("eat", "drink"), (Kind.PREFERENCE, "food")),
    **dict.fromkeys(
        "play sing dance paint knit sew hike cycle swim ski surf jog climb collect".split(),
        (Kind.PREFERENCE, "hobby"),
    ),
}
_DEEDS: dict[str, _Class] = {
    **dict.fromkeys("switch migrate upgrade downgrade choose pick settle".split(), _TOOL),
    **dict.fromkeys(("decide", "agree", "vote"), (Kind.DECISION, None)),
    **dict.fromkeys(("join", "leave", "quit"), _LEFT),
    **dict.fromkeys(("marry", "divorce"), _MARRIED),
    "buy": (Kind.POSSESSION, "purchase"),
    "break": (Kind.EVENT, "injury"),
    "subscribe": (Kind.CONFIGURATION, "plan"),
}
_TRIPS = frozenset("fly travel visit go head sail".split())


def _read_verb(place: _Place, words: list[str]) -> _Found | None:
    """Read a clause with another verb: by the verb and the word after it, else by its tense."""
    lemma, at, flags = place.lemma, place.at, place.flags
    following = words[at] if at < len(words) else ""
    if place.subject is None:
        return _read_thing(place, words)
    if following in VAGUE and following not in ("to", "their") and lemma not in _DEEDS:
        return None
    if lemma in LIKES or (lemma in ("stand", "bear") and flags & _MODAL):
        is_against = (LIKES.get(lemma, 1) < 0) != (flags & _NOT != 0)
        return Kind.PREFERENCE, "dislikes" if is_against else "likes", 0
    if flags & _WILL or (flags & _BE and place.form is Form.ING):
        return Kind.PLAN, "trip" if lemma in _TRIPS else None, 0
    known = _PHRASES.get(f"{lemma} {following}")
    if known is not None:
        return (*known, 1)
    if place.form is Form.PAST:
        return _read_deed(place, words, following)
    return _read_habit(place, words)


def _read_deed(place: _Place, words: list[str], following: str) -> _Found:
    """Read a single past action."""
    if place.lemma == "call":
        is_user = place.noun == "user"
        kind = Kind.IDENTITY if is_user else Kind.RELATION
        return kind, "name" if is_user else SLOT_OF_NOUN.get(place.noun, place.noun), 0
    kind, slot = _DEEDS.get(place.lemma, (Kind.EVENT, None))
    if kind is Kind.DECISION:
        if not PLANS.isdisjoint(words):
            kind, slot = Kind.CONFIGURATION, "plan"
        else:
            slot = _find_tool(words[place.at :], slot)
    return kind, slot, int(following in ("to", "on"))


def _find_tool(words: list[str], slot: str | None) -> str | None:
    for word in words:
        if word in _TOOL_SLOTS:
            return _TOOL_SLOTS[word]
    return slot


def _read_habit(place: _Place, words: list[str]) -> _Found | None:
    """Read a habit or a recurring event."""
    lemma, at, is_denial = place.lemma, place.at, place.flags & _NOT
    is_recurring = not _TIMES.isdisjoint(words[at - 2 :])
    if is_denial and not is_recurring and not FOODS.isdisjoint(words[at : at + 4]):
        return Kind.CONSTRAINT, "diet", 0
    if place.flags & _MODAL:
        return None
    if lemma in ("need", "use", "wear") and not _ACCESS.isdisjoint(words[at : at + 4]):
        return Kind.CONSTRAINT, "access", 0
    if is_recurring:
        return Kind.PROCEDURE, {"deploy": "deploy_day", "work": "schedule"}.get(lemma, lemma), 0
    if lemma == "use":
        return (Kind.CONFIGURATION if place.is_group else Kind.PREFERENCE), _find_tool(words[at:], "tool"), 0
    kind, slot = _HABITS.get(lemma, (Kind.PREFERENCE, None))
    if is_denial and at == len(words):
        kind, slot = Kind.CONSTRAINT, lemma
    return kind, slot, 0


def _read_thing(place: _Place, words: list[str]) -> _Found | None:
    """Read a clause about a thing: `CI runs on ARM`, `our dog is called Rex`."""
    known = _SUBJECTS.get(place.noun)
    if known is None and place.lemma in ("run", "live", "listen"):
        known = Kind.CONFIGURATION, place.noun
    if known is None or place.form is Form.ING or place.flags & (_MODAL | _NOT):
        return None
    kind, slot = known
    return kind, _find_tool(words[place.at :], slot) if kind is Kind.CONFIGURATION else slot, 0


def _read_order(words: list[str]) -> _Found | None:
    """Read a standing instruction: `Never push to main`, `The user asks to always answer in French`."""
    first, second, skip = words[0], words[1], 1
    if first == "the" and second == "user" and "to" in words[2:5]:
        skip = words.index("to") + 1
    elif first not in ("always", "never") or second in ("mind", "again") or second.endswith("ed"):
        return None
    is_language = any(one == "in" and other in LANGUAGES for one, other in pairwise(words))
    return Kind.CONSTRAINT, "language" if is_language else "instruction", skip


_READERS = {"be": _read_be, **dict.fromkeys(("have", "own", "hold", "rent"), _read_have)}
