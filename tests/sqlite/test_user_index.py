"""A user who has little of much: found as if alone, and what is kept of it never outlives a change."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorywire.client.memory import Memory
from memorywire.index import agent_index
from memorywire.model.record import Record, Scope
from memorywire.stores.contract import Store
from memorywire.stores.memory import MemoryStore
from memorywire.stores.sqlite import search
from memorywire_testing.samples import (
    NOW,
    SPACE,
    a_change,
    a_query,
    a_record,
    a_scope,
    a_vector,
    beginning,
    compare,
    end,
    ids,
    keep,
    revising,
)
from tests.sqlite.desk import opened, run

_FEW = 24
_WORDS = [f"word{number}" for number in range(30)]

CROWD = [{"content": f"Ben counted {number} red boats", "user_id": "ben"} for number in range(300)]


def test_a_small_user_sees_every_change_at_once(tmp_path: Path):
    async def story():
        async with Memory("a", [f"sqlite:///{tmp_path}/m.db"], policy=None) as memory:

            async def boats():
                hits = await memory.recall("boats", user_id="ana", min_relevance="off", k=20)
                return [hit.content for hit in hits]

            await memory.remember_many(CROWD)
            first = await memory.remember("Ana counted 3 green boats", user_id="ana")
            assert await boats() == await boats() == ["Ana counted 3 green boats"]
            await memory.remember("Ana painted a boat", user_id="ana")
            assert set(await boats()) == {"Ana counted 3 green boats", "Ana painted a boat"}
            await memory.remember("Ana sold her boats", user_id="ana", supersedes=first.id)
            assert set(await boats()) == {"Ana sold her boats", "Ana painted a boat"}
            await memory.remember("Ben sold his boats", user_id="ben")
            assert set(await boats()) == {"Ana sold her boats", "Ana painted a boat"}
            await memory.forget(filter={"content": {"contains": "painted"}}, user_id="ana")
            assert await boats() == ["Ana sold her boats"]

    run(story())


@pytest.fixture
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (agent_index, search):
        monkeypatch.setattr(module, "SMALL_INDEX", _FEW)


def _said(scope: Scope, user: str | None, count: int, seed: int) -> list[Record]:
    dice = random.Random(seed)
    return [
        a_record(
            replace(scope, user=user),
            " ".join(dice.choices(_WORDS, k=6)),
            id=f"m{dice.getrandbits(32):08x}",
            expires_at=dice.choice([None, None, NOW, NOW + 1]),
            metadata={"n": dice.randint(0, 3)} | dice.choice([{}, {"role": "user"}]),
            session_id=dice.choice([None, "monday", "tuesday"]),
        )
        for _ in range(count)
    ]


async def _keep(stores: Sequence[Store], kept: Sequence[Record]) -> None:
    puts = [beginning(record, a_vector(float(at % 7 + 1))) for at, record in enumerate(kept)]
    change = a_change(replace(kept[0].scope, user=None), *puts)
    for store in stores:
        await store.write(change)


async def _same_answers(stores: Sequence[Store], scope: Scope, seed: int) -> None:
    text = " ".join(random.Random(seed).choices(_WORDS, k=4))
    for query in (
        a_query(scope, text, a_vector(2.0)),
        a_query(scope, text),
        a_query(scope, text, a_vector(3.0), alive_at=NOW - 1),
        a_query(scope, text, a_vector(3.0), filter=compare("metadata.n", "eq", 2)),
    ):
        tested, oracle = [await store.search(query, 12) for store in stores]
        assert ids(tested) == ids(oracle)
        assert [hit.score for hit in tested] == pytest.approx([hit.score for hit in oracle], abs=1e-9)


@pytest.mark.usefixtures("_few_are_many")
@pytest.mark.parametrize("seed", range(3))
def test_a_small_user_is_found_as_if_alone_whatever_happens(tmp_path: Path, seed: int) -> None:
    scope, dice = a_scope(), random.Random(seed)
    mine = replace(scope, user="ana")

    async def story() -> None:
        async with opened(tmp_path / "m.db") as tested:
            both = (tested, MemoryStore(SPACE))
            live: list[Record] = []
            for turn in range(12):
                live += (new := _said(scope, "ana", dice.randint(1, 4), 100 * seed + turn))
                await _keep(both, [*new, *_said(scope, dice.choice(["ben", None]), 9, 1000 + turn)])
                await _same_answers(both, mine, turn)
                gone = live.pop(dice.randrange(len(live)))
                erased = live.pop(dice.randrange(len(live))) if len(live) > 3 else None
                for store in both:
                    await end(store, gone)
                    if erased:
                        await store.write(a_change(mine, erase=(erased.id,)))
                await _same_answers(both, mine, turn)
                put = revising(live.pop(), content="word1 word2 anew") if live else None
                live += [put.record] if put else []
                for store in both if put else ():
                    await store.write(a_change(mine, put))
                await _same_answers(both, mine, turn)

    run(story())


@pytest.mark.usefixtures("_few_are_many")
def test_a_small_user_is_found_without_loading_what_others_have(tmp_path: Path) -> None:
    scope = a_scope()

    async def story() -> None:
        async with opened(tmp_path / "m.db") as tested:
            both = (tested, MemoryStore(SPACE))
            await _keep(both, _said(scope, "ben", 300, 1))
            await _keep(both, _said(scope, "ana", _FEW, 2))
            await _same_answers(both, replace(scope, user="ana"), 3)
            await _same_answers(both, replace(scope, user="nobody"), 3)
            assert tested._indexes.head(scope.tenant, scope.agent) == 0

    run(story())


@pytest.mark.usefixtures("_few_are_many")
def test_a_user_who_has_much_is_found_among_the_others(tmp_path: Path) -> None:
    scope = a_scope()

    async def story() -> None:
        async with opened(tmp_path / "m.db") as tested:
            both = (tested, MemoryStore(SPACE))
            await _keep(both, _said(scope, "ben", 300, 1))
            for turn in range(4):  # from few to many
                await _keep(both, _said(scope, "ana", 10, 10 + turn))
                await _same_answers(both, replace(scope, user="ana"), turn)
            assert tested._indexes.head(scope.tenant, scope.agent) > 0
            assert len(tested._indexes) == 1

    run(story())


@pytest.mark.usefixtures("_few_are_many")
def test_small_indexes_leave_before_a_large_one(tmp_path: Path) -> None:
    scope = a_scope()

    async def story() -> None:
        async with opened(tmp_path / "m.db", memory=20_000) as tested:
            users = [f"user {number}" for number in range(40)]
            for number, user in enumerate(users):
                await keep(tested, *_said(scope, user, 20, number))
            asked = [a_query(replace(scope, user=user), "word1") for user in (None, *users)]
            first = [await tested.search(query, 5) for query in asked]
            assert tested._indexes.head(scope.tenant, scope.agent) > 0
            assert 2 <= len(tested._indexes) < len(users)
            assert [await tested.search(query, 5) for query in asked] == first

    run(story())
