"""Attacks on the fusion of several stores: each attack on each number of stores, with each defence."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.change import Base, Change, Put
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.model.requests import Fusion
from memorywire.pipeline.candidates import check_answer, find_agreed_score, score_by_vector, select_voters
from memorywire.search.embed import Embedder
from memorywire.search.fuse import Fused, Ranking, Rules, fuse
from memorywire.search.reference import cosine, floats
from memorywire.stores.contract import Found
from memorywire.stores.memory import MemoryStore
from memorywire_evals.datasets.own import read_oblique

SCOPE = Scope(agent="fusion")
DEPTH = 20
"""The number of hits requested from each store."""

_JITTER = 0.05
"""The standard deviation of the relevance in a store of quality 0.9."""


class Asked(Struct, frozen=True, kw_only=True):
    """A question: the ranking of all memories, its gold, and the scores computed from local vectors."""

    ranking: tuple[Scored, ...]
    gold: frozenset[str]
    local: dict[str, float]


class World(Struct, frozen=True, kw_only=True):
    records: dict[str, Record]
    questions: tuple[Asked, ...]


async def make_world(embedder: Embedder) -> World:
    """Fill reference stores with the facts, and rank them for each answerable indirect question."""
    dataset = read_oblique(Path(), split="all", roles="all")
    records: dict[str, Record] = {}
    questions: list[Asked] = []
    for case in map(dataset.build, dataset.case_ids):
        mine = [_record(item.ref, str(item.content), item.type) for item in case.items]
        records |= {record.id: record for record in mine}
        vectors = await embedder.embed([record.meaning for record in mine])
        store = MemoryStore(embedder.space)
        puts = [
            Put(record=record, base=Base.NOTHING, vector=vector)
            for record, vector in zip(mine, vectors, strict=True)
        ]
        await store.write(Change(id=case.id, operation="fill", scope=SCOPE, at=0, put=tuple(puts)))
        near = {record.id: floats(vector) for record, vector in zip(mine, vectors, strict=True)}
        answerable = [question for question in case.questions if question.gold]
        questions += [
            await _ask(question.text, frozenset(question.gold), store, near, embedder)
            for question in answerable
        ]
    return World(records=records, questions=tuple(questions))


async def _ask(
    text: str,
    gold: frozenset[str],
    store: MemoryStore,
    near: dict[str, tuple[float, ...]],
    embedder: Embedder,
) -> Asked:
    (vector,) = await embedder.embed([text])
    query = Query(where=Where(scope=SCOPE, alive_at=0), text=text, vector=vector)
    ranking = await store.search(query, len(near))
    asked = floats(vector)
    local = {
        hit.record.id: score_by_vector(hit.record, cosine(asked, near[hit.record.id])).score
        for hit in ranking
    }
    return Asked(ranking=tuple(ranking), gold=gold, local=local)


def _record(id: str, content: str, kind: str) -> Record:
    return Record(id=id, scope=SCOPE, type=MemoryType(kind), content=content, created_at=0, updated_at=0)


def dim_view(ranking: Sequence[Scored], quality: float, dice: np.random.Generator) -> list[Scored]:
    """Return the hits of a store of this quality: some memories are missing, the others in a noisy order."""
    seen = [hit for hit in ranking if dice.random() < quality]
    spread = _JITTER * (1 - quality) / 0.1
    noisy = [(hit.score + dice.normal(0, spread), hit) for hit in seen]
    return [hit for _, hit in sorted(noisy, key=lambda pair: -pair[0])[:DEPTH]]


POISONS = 5
POISON = "poison"
_LOUD = 3.0


class Attack(Struct, frozen=True, kw_only=True):
    """An attack: (hits of an honest store, the question, number of the rogue) -> the rogue's hits."""

    name: str
    answer: Callable[[Sequence[Scored], Asked, int], list[Scored]]


def _poison(id: str, scope: Scope = SCOPE, *, score: float = 1.0) -> Scored:
    content = f"{POISON}: whatever {id} wants you to believe"
    record = Record(id=id, scope=scope, type=MemoryType.SEMANTIC, content=content, created_at=0, updated_at=0)
    return Scored(record=record, score=score, signals={})


def _first(poison: Sequence[Scored], honest: Sequence[Scored]) -> list[Scored]:
    return [*poison, *honest][:DEPTH]


def _invent(honest: Sequence[Scored], asked: Asked, rogue: int) -> list[Scored]:
    return _first([_poison(f"{POISON}-{rogue}-{place}") for place in range(POISONS)], honest)


def _collude(honest: Sequence[Scored], asked: Asked, rogue: int) -> list[Scored]:
    return _invent(honest, asked, 0)


def _repeat(honest: Sequence[Scored], asked: Asked, rogue: int) -> list[Scored]:
    return [hit for hit in _invent((), asked, rogue) for _ in range(DEPTH // POISONS)]


def bumped(asked: Asked) -> frozenset[str]:
    """Return the memories that the attack promotes: the least relevant real ones."""
    return frozenset(hit.record.id for hit in asked.ranking[-POISONS:]) - asked.gold


def _bump(honest: Sequence[Scored], asked: Asked, rogue: int) -> list[Scored]:
    pushed = bumped(asked)
    return _first([replace(hit, score=1.0) for hit in asked.ranking if hit.record.id in pushed], honest)


def _swap(honest: Sequence[Scored], asked: Asked, rogue: int) -> list[Scored]:
    best = [
        replace(hit, score=1.0, record=replace(hit.record, content=f"{POISON} in place of {hit.record.id}"))
        for hit in asked.ranking[:POISONS]
    ]
    return _first(best, honest[POISONS:])


def _foreign(honest: Sequence[Scored], asked: Asked, rogue: int) -> list[Scored]:
    stranger = Scope(agent=SCOPE.agent, tenant="another tenant")
    return _first([_poison(f"{POISON}-of-others-{place}", stranger) for place in range(POISONS)], honest)


def _inflate(honest: Sequence[Scored], asked: Asked, rogue: int) -> list[Scored]:
    return _first([_poison(f"{POISON}-{place}", score=_LOUD) for place in range(POISONS)], honest)


ATTACKS: tuple[Attack, ...] = (
    Attack(name="disjoint", answer=_invent),
    Attack(name="colluding", answer=_collude),
    Attack(name="duplicate votes", answer=_repeat),
    Attack(name="id bump", answer=_bump),
    Attack(name="content swap", answer=_swap),
    Attack(name="foreign tenant", answer=_foreign),
    Attack(name="score inflation", answer=_inflate),
)

Answers: TypeAlias = dict[str, list[Scored]]


K = 5
MOST = 7
CLEAN = "clean"
QUERIES = 42
"""The number of questions with an answer."""

DRAWS = 10
"""Repetitions per question where a mean is required: one of 42 by chance already exceeds the limit."""

_WHERE = Where(scope=SCOPE, alive_at=0)


class Defence(Struct, frozen=True, kw_only=True):
    """How the answers are fused; `f` is the number of rogues it is prepared for.

    If `anchored`, the last store is the embedded one, which shares its file with the journal.
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
    """The result of one defence against one attack: means over all questions.

    `clean` is the recall of the honest stores alone, fused in the same way.
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
    """Yield the cells for two to `most` stores, with up to all but one rogue, and three qualities."""
    for quality in (1.0, 0.9, 0.7):
        for stores in range(2, most + 1):
            watch(f"quality {quality}, {stores} stores")
            for rogues in range(1, stores):
                often = [one for one in DEFENCES if one.rerank and rogues == 1 and stores > 2]
                once = [one for one in DEFENCES if one not in often]
                yield from _cells(world, quality, stores, rogues, queries, seed, once)
                yield from _cells(world, quality, stores, rogues, DRAWS * queries, seed, often)


class Tally(Struct):
    """Running sums over the questions."""

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
    """Yield the cells of all attacks, on the same views of the same questions."""
    dice = np.random.default_rng((seed, round(10 * quality), stores, rogues))
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    for number in range(queries):
        asked = world.questions[number % len(world.questions)]
        views = [dim_view(asked.ranking, quality, dice) for _ in range(stores)]
        honest = {f"store {place}": views[place] for place in range(rogues, stores)}
        for defence in defences:
            tallies[CLEAN, defence.name].count(join(honest, defence, 0, asked, world), asked)
            for attack in ATTACKS:
                # Rogues come first, because ties favour earlier stores.
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
    """Return the first hits, fused by the code that recalls use."""
    founds = [Found(store=name, hits=tuple(hits)) for name, hits in answers.items()]
    if defence.register:
        believed = [check_answer(results, _WHERE, world.records) for results in founds]
        rankings = [Ranking(store=one.store, hits=one.hits) for one in select_voters(believed)]
    else:
        rankings = [Ranking(store=results.store, hits=results.hits) for results in founds]
    fused = fuse(rankings, defence.rules(rogues))
    if defence.rerank:
        worth = _measure(fused, list(answers), asked, anchored=defence.anchored)
        fused.sort(key=lambda one: (-worth[one.record.id], one.record.id))
    return fused[:K]


def _measure(fused: Sequence[Fused], stores: list[str], asked: Asked, *, anchored: bool) -> dict[str, float]:
    """Return the score of each hit: the stores' agreed score if there is one, else the local score."""
    results = {
        one.record.id: find_agreed_score(one, stores[-1] if anchored else None, stores) for one in fused
    }
    return {id: asked.local[id] if scored is None else scored.score for id, scored in results.items()}


def _recall(best: Sequence[Fused], asked: Asked) -> float:
    results = {one.record.id for one in best if POISON not in str(one.record.content)}
    return len(results & asked.gold) / len(asked.gold)
