"""The sweep: every attack on every number of stores, against every defence."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct

from memorywire.model.query import Where
from memorywire.model.requests import Fusion
from memorywire.pipeline.candidates import agreed
from memorywire.pipeline.verify_hits import held_against, trusted
from memorywire.search.fuse import Fused, Ranking, Rules, fuse
from memorywire.stores.contract import Found
from memorywire_evals.bench.fusion.attacks import ATTACKS, POISON, Answers, bumped
from memorywire_evals.bench.fusion.world import SCOPE, Asked, World, dim_view

K = 5
MOST = 7
CLEAN = "clean"
QUERIES = 42
"""As many as there are questions with an answer."""

DRAWS = 10
"""So often is each question asked where a mean is promised: one of 42, by chance, is more than is allowed."""

_WHERE = Where(scope=SCOPE, alive_at=0)


class Defence(Struct, frozen=True, kw_only=True):
    """How the answers are joined; `f` is how many rogues it is prepared for.

    When `anchored`, the last store is the embedded one, which shares its file with the journal.
    """

    name: str
    rules: Callable[[int], Rules]
    register: bool = False
    rerank: bool = False
    anchored: bool = False


DEFENCES: tuple[Defence, ...] = (
    Defence(name="rrf", rules=lambda f: Rules()),
    Defence(name="max", rules=lambda f: Rules(fusion=Fusion.MAX)),
    Defence(name="weighted", rules=lambda f: Rules(fusion=Fusion.WEIGHTED)),
    Defence(name="quorum f+1", rules=lambda f: Rules(quorum=f + 1)),
    Defence(name="trim f", rules=lambda f: Rules(trim=f)),
    Defence(name="register", rules=lambda f: Rules(), register=True),
    Defence(name="register, rerank", rules=lambda f: Rules(), register=True, rerank=True),
    Defence(name="embedded, rerank", rules=lambda f: Rules(), register=True, rerank=True, anchored=True),
)


class Cell(Struct, frozen=True, kw_only=True):
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
    world: World, *, queries: int = QUERIES, seed: int = 1, most: int = MOST, watch: Callable[[str], None]
) -> Iterator[Cell]:
    """Two to `most` stores, up to all but one of them rogue, of three qualities."""
    for quality in (1.0, 0.9, 0.7):
        for stores in range(2, most + 1):
            watch(f"quality {quality}, {stores} stores")
            for rogues in range(1, stores):
                often = [one for one in DEFENCES if one.rerank and rogues == 1 and stores > 2]
                once = [one for one in DEFENCES if one not in often]
                yield from _cells(world, quality, stores, rogues, queries, seed, once)
                yield from _cells(world, quality, stores, rogues, DRAWS * queries, seed, often)


class Tally(Struct):
    """Sums over the questions so far."""

    recall: float = 0.0
    leak: float = 0.0
    bump: float = 0.0

    def count(self, best: Sequence[Fused], asked: Asked) -> None:
        pushed = bumped(asked)
        self.recall += _recall(best, asked)
        self.leak += sum(POISON in str(one.record.content) for one in best) / K
        self.bump += sum(one.record.id in pushed for one in best) / K


def _cells(
    world: World,
    quality: float,
    stores: int,
    rogues: int,
    queries: int,
    seed: int,
    defences: Sequence[Defence],
) -> Iterator[Cell]:
    """All attacks on the same views of the same questions."""
    dice = np.random.default_rng((seed, round(10 * quality), stores, rogues))
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    for number in range(queries):
        asked = world.questions[number % len(world.questions)]
        views = [dim_view(asked.ranking, quality, dice) for _ in range(stores)]
        honest = {f"store {place}": views[place] for place in range(rogues, stores)}
        for defence in defences:
            tallies[CLEAN, defence.name].count(join(honest, defence, 0, asked, world), asked)
            for attack in ATTACKS:
                # Rogues come first, where ties favour them.
                said = {f"rogue {n}": attack.answer(views[n], asked, n) for n in range(rogues)}
                best = join(said | honest, defence, rogues, asked, world)
                tallies[attack.name, defence.name].count(best, asked)
    for (attack_name, defence_name), tally in tallies.items():
        if attack_name != CLEAN:
            yield Cell(
                quality=quality,
                stores=stores,
                rogues=rogues,
                attack=attack_name,
                defence=defence_name,
                recall=tally.recall / queries,
                clean=tallies[CLEAN, defence_name].recall / queries,
                leak=tally.leak / queries,
                bump=tally.bump / queries,
            )


def join(answers: Answers, defence: Defence, rogues: int, asked: Asked, world: World) -> list[Fused]:
    """The first hits, by the code that every recall goes through."""
    founds = [Found(store=name, hits=tuple(hits)) for name, hits in answers.items()]
    if defence.register:
        believed = [held_against(found, _WHERE, world.records) for found in founds]
        rankings = [Ranking(store=one.store, hits=one.hits) for one in trusted(believed)]
    else:
        rankings = [Ranking(store=found.store, hits=found.hits) for found in founds]
    fused = fuse(rankings, defence.rules(rogues))
    if defence.rerank:
        worth = _measured(fused, list(answers), asked, anchored=defence.anchored)
        fused.sort(key=lambda one: (-worth[one.record.id], one.record.id))
    return fused[:K]


def _measured(fused: Sequence[Fused], stores: list[str], asked: Asked, *, anchored: bool) -> dict[str, float]:
    """What each is worth: by the word of the stores where it counts, else read again here."""
    found = {one.record.id: agreed(one, stores[-1] if anchored else None, stores) for one in fused}
    return {id: asked.local[id] if scored is None else scored.score for id, scored in found.items()}


def _recall(best: Sequence[Fused], asked: Asked) -> float:
    found = {one.record.id for one in best if POISON not in str(one.record.content)}
    return len(found & asked.gold) / len(asked.gold)
