"""The sweep: every attack on every number of stores, against every defence."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from statistics import mean

from memorywire.engine.believe import held_against
from memorywire.evals.bench.fusion.attacks import ATTACKS, POISON, Answers, Attack, bumped
from memorywire.evals.bench.fusion.world import SCOPE, Asked, World, dim_view
from memorywire.model.requests import Fusion
from memorywire.model.where import Where
from memorywire.retrieval.fuse import Fused, Ranking, Rules, fuse
from memorywire.stores.contract import Found

K = 5
QUERIES = 400
_WHERE = Where(scope=SCOPE, alive_at=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Defence:
    """How the answers are joined; `f` is how many rogues it is prepared for."""

    name: str
    rules: Callable[[int], Rules]
    register: bool = False
    rerank: bool = False


DEFENCES: tuple[Defence, ...] = (
    Defence(name="rrf", rules=lambda f: Rules()),
    Defence(name="max", rules=lambda f: Rules(fusion=Fusion.MAX)),
    Defence(name="weighted", rules=lambda f: Rules(fusion=Fusion.WEIGHTED)),
    Defence(name="quorum f+1", rules=lambda f: Rules(quorum=f + 1)),
    Defence(name="trim f", rules=lambda f: Rules(trim=f)),
    Defence(name="register", rules=lambda f: Rules(), register=True),
    Defence(name="register, rerank", rules=lambda f: Rules(), register=True, rerank=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What one defence made of one attack: mean shares over all questions.

    `clean` is the recall of the honest stores alone, joined in the same way.
    """

    quality: float
    stores: int
    rogues: int
    attack: str
    defence: str
    recall: float
    clean: float
    leak: float
    bump: float


def sweep(
    world: World, *, queries: int = QUERIES, seed: int = 1, watch: Callable[[str], None]
) -> Iterator[Cell]:
    """Two to seven stores, up to all but one of them rogue, of three qualities."""
    for quality in (1.0, 0.9, 0.7):
        for stores in range(2, 8):
            watch(f"quality {quality}, {stores} stores")
            for rogues in range(1, stores):
                for attack in ATTACKS:
                    yield from _cells(world, quality, stores, rogues, attack, queries, seed)


@dataclass(slots=True)
class _Tally:
    recall: list[float]
    clean: list[float]
    leak: list[float]
    bump: list[float]


def _cells(
    world: World, quality: float, stores: int, rogues: int, attack: Attack, queries: int, seed: int
) -> Iterator[Cell]:
    random = Random(f"{seed} {quality} {stores} {rogues} {attack.name}")  # noqa: S311 - a die, not a key
    tallies = {defence.name: _Tally([], [], [], []) for defence in DEFENCES}
    for number in range(queries):
        asked = world.questions[number % len(world.questions)]
        answers, honest = _answers(asked, quality, stores, rogues, attack, random)
        for defence in DEFENCES:
            _count(tallies[defence.name], asked, answers, honest, defence, rogues, world)
    for name, tally in tallies.items():
        yield Cell(
            quality=quality,
            stores=stores,
            rogues=rogues,
            attack=attack.name,
            defence=name,
            recall=mean(tally.recall),
            clean=mean(tally.clean),
            leak=mean(tally.leak),
            bump=mean(tally.bump),
        )


def _answers(
    asked: Asked, quality: float, stores: int, rogues: int, attack: Attack, random: Random
) -> tuple[Answers, Answers]:
    """Of all stores, and of the honest ones. Rogues come first, where ties favour them."""
    views = [dim_view(asked.ranking, quality, random) for _ in range(stores)]
    said = {f"rogue {place}": attack.answer(views[place], asked, place) for place in range(rogues)}
    honest = {f"store {place}": views[place] for place in range(rogues, stores)}
    return said | honest, honest


def _count(
    tally: _Tally,
    asked: Asked,
    answers: Answers,
    honest: Answers,
    defence: Defence,
    rogues: int,
    world: World,
) -> None:
    best = join(answers, defence, rogues, asked, world)
    alone = join(honest, defence, 0, asked, world)
    pushed = bumped(asked)
    tally.recall.append(_recall(best, asked))
    tally.clean.append(_recall(alone, asked))
    tally.leak.append(sum(POISON in str(one.record.content) for one in best) / K)
    tally.bump.append(sum(one.record.id in pushed for one in best) / K)


def join(answers: Answers, defence: Defence, rogues: int, asked: Asked, world: World) -> list[Fused]:
    """The first hits, by the code that every recall goes through."""
    founds = [Found(store=name, hits=tuple(hits)) for name, hits in answers.items()]
    if defence.register:
        believed = [held_against(found, _WHERE, world.records) for found in founds]
        rankings = [Ranking(store=one.store, hits=one.hits) for one in believed]
    else:
        rankings = [Ranking(store=found.store, hits=found.hits) for found in founds]
    fused = fuse(rankings, defence.rules(rogues))
    if defence.rerank:
        fused.sort(key=lambda one: (-asked.local[one.record.id], one.record.id))
    return fused[:K]


def _recall(best: Sequence[Fused], asked: Asked) -> float:
    found = {one.record.id for one in best if POISON not in str(one.record.content)}
    return len(found & asked.gold) / len(asked.gold)
