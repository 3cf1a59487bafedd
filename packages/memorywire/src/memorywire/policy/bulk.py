"""Many memories at once: screened in one reading, and judged once for all that no rule can tell apart."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from memorywire.model.record import Json, Record, Scope
from memorywire.policy.cases import Case
from memorywire.policy.injection import unsuspicious
from memorywire.policy.judge import Judgement, Policy, judge

T = TypeVar("T")

_PARTS = 16
_SILENT = frozenset({int, float, bool, type(None)})  # what says nothing
_BY_CONTENT = ("content_contains", "similar_to_existing")
_Likeness: TypeAlias = tuple[object, ...]


def cleared(items: Sequence[T], innocent: Callable[[Sequence[T]], bool]) -> list[bool]:
    """Which items are innocent, found in few readings: all at once, else part by part.

    What is innocent among others must be innocent alone. False means only that it could not be shown.
    """
    if innocent(items):
        return [True] * len(items)
    if len(items) <= 1:
        return [False] * len(items)
    step = max(1, len(items) // _PARTS)
    parts = (items[at : at + step] for at in range(0, len(items), step))
    return [clear for part in parts for clear in cleared(part, innocent)]


def signless(records: Sequence[Record]) -> bool:
    """Whether one reading of all these memories shows that `screen` finds no sign in any of them."""
    said: list[str] = []
    names: set[str] = set()
    for record in records:
        _hear(record.content, said)
        for place, value in (("source", record.source), ("metadata", record.metadata), ("tags", record.tags)):
            if value:
                _tell(place, value, said, names)
    return unsuspicious(dict.fromkeys(said), names)  # what many say is read once


def _hear(value: Json, said: list[str]) -> None:
    """Collect every text of a content, and the names of its fields, which are words of it, too."""
    if isinstance(value, str):
        said.append(value)
    elif type(value) is dict or isinstance(value, Mapping):  # the second takes long to ask
        said += value
        for inner in value.values():
            if type(inner) is str:
                said.append(inner)
            elif type(inner) not in _SILENT:
                _hear(inner, said)
    elif isinstance(value, list | tuple):
        for inner in value:
            _hear(inner, said)


def _tell(place: str, value: Json, said: list[str], names: set[str]) -> None:
    """Collect every text, and the name of the place where each stands."""
    if isinstance(value, str):
        said.append(value)
        names.add(place)
    elif type(value) is dict or isinstance(value, Mapping):
        for key, inner in value.items():
            if type(inner) not in _SILENT:
                _tell(f"{place}.{key}", inner, said, names)
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            _tell(f"{place}[{at}]", inner, said, names)


class Bench:
    """Judges new memories by a policy, once for each kind that its rules can tell apart."""

    def __init__(self, policy: Policy, caller: str) -> None:
        self._policy = policy
        self._caller = caller
        self._learned = frozenset(rule.name for rule in policy.rules if rule.learned)
        self._known: dict[_Likeness, Judgement] = {}
        self._last: tuple[_Likeness | None, Judgement | None] = (None, None)

    @property
    def can_tell(self) -> bool:
        """Whether the rules ask only for what all memories of one kind have in common."""
        return self._policy.asked.isdisjoint(_BY_CONTENT)

    def judge(self, operation: str, scope: Scope, record: Record) -> Judgement:
        """What `judge` would say of a change that only puts this record, and in which nothing was found."""
        alike = (
            *(operation, scope, record.type, record.trust, record.source, record.tags, record.confidence),
            record.version == 1,
        )
        before, known = self._last
        if known is None or alike != before:  # mostly they are the same values, which is told at once
            known = self._known.get(alike)
            if known is None:
                case = Case(operation=operation, scope=scope, caller=self._caller, records=(record,))
                known = self._known[alike] = judge(case, self._policy)
            self._last = (alike, known)
        return known

    def is_learned(self, judgement: Judgement) -> bool:
        """Whether a rule gave it that was suggested from people's decisions."""
        return judgement.rule in self._learned
