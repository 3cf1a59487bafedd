"""What rogue stores answer. Each attack makes one list that all rogues return, or one for each of them."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.query import Scored
from memorywire.model.record import MemoryType, Record, Scope
from memorywire_evals.bench.fusion.world import DEPTH, SCOPE, Asked

POISONS = 5
POISON = "poison"
_LOUD = 3.0


class Attack(Struct, frozen=True, kw_only=True):
    """A way to answer: (what an honest store would say, the question, which rogue) -> what this one says."""

    name: str
    answer: Callable[[Sequence[Scored], Asked, int], list[Scored]]


def _poisoned(id: str, scope: Scope = SCOPE, *, score: float = 1.0) -> Scored:
    content = f"{POISON}: whatever {id} wants you to believe"
    record = Record(id=id, scope=scope, type=MemoryType.SEMANTIC, content=content, created_at=0, updated_at=0)
    return Scored(record=record, score=score, signals={})


def _first(poison: Sequence[Scored], honest: Sequence[Scored]) -> list[Scored]:
    return [*poison, *honest][:DEPTH]


def invented(honest: Sequence[Scored], poisons: int, rogue: int = 0) -> list[Scored]:
    """So many memories that nobody wrote, before the honest answer."""
    return _first([_poisoned(f"{POISON}-{rogue}-{place}") for place in range(poisons)], honest)


def _invented(honest: Sequence[Scored], asked: Asked, rogue: int) -> list[Scored]:
    return invented(honest, POISONS, rogue)


def _colluding(honest: Sequence[Scored], asked: Asked, rogue: int) -> list[Scored]:
    return _invented(honest, asked, 0)


def _repeated(honest: Sequence[Scored], asked: Asked, rogue: int) -> list[Scored]:
    return [hit for hit in _invented((), asked, rogue) for _ in range(DEPTH // POISONS)]


def bumped(asked: Asked) -> frozenset[str]:
    """The memories that are pushed: real ones, and the least relevant there are."""
    return frozenset(hit.record.id for hit in asked.ranking[-POISONS:]) - asked.gold


def _bumping(honest: Sequence[Scored], asked: Asked, rogue: int) -> list[Scored]:
    pushed = bumped(asked)
    return _first([replace(hit, score=1.0) for hit in asked.ranking if hit.record.id in pushed], honest)


def _swapped(honest: Sequence[Scored], asked: Asked, rogue: int) -> list[Scored]:
    best = [
        replace(hit, score=1.0, record=replace(hit.record, content=f"{POISON} in place of {hit.record.id}"))
        for hit in asked.ranking[:POISONS]
    ]
    return _first(best, honest[POISONS:])


def _foreign(honest: Sequence[Scored], asked: Asked, rogue: int) -> list[Scored]:
    stranger = Scope(agent=SCOPE.agent, tenant="another tenant")
    return _first([_poisoned(f"{POISON}-of-others-{place}", stranger) for place in range(POISONS)], honest)


def _inflated(honest: Sequence[Scored], asked: Asked, rogue: int) -> list[Scored]:
    return _first([_poisoned(f"{POISON}-{place}", score=_LOUD) for place in range(POISONS)], honest)


ATTACKS: tuple[Attack, ...] = (
    Attack(name="disjoint", answer=_invented),
    Attack(name="colluding", answer=_colluding),
    Attack(name="duplicate votes", answer=_repeated),
    Attack(name="id bump", answer=_bumping),
    Attack(name="content swap", answer=_swapped),
    Attack(name="foreign tenant", answer=_foreign),
    Attack(name="score inflation", answer=_inflated),
)

Answers: TypeAlias = dict[str, list[Scored]]
