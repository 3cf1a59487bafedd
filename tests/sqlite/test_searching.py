"""Search is exact for its scope, current with the file, and the same whatever is cached."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from memorywire.index import agent_index, arrays, postings, ranking
from memorywire.index.batch import ENTRY
from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Enough, Query, Scored
from memorywire.model.record import MemoryType, Record, Scope, Standing
from memorywire.stores.contract import Store
from memorywire.stores.memory import MemoryStore
from memorywire.stores.sqlite import SqliteStore
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

_WORDS = [f"word{number}" for number in range(60)]


def _vectors(count: int, seed: int) -> list[bytes]:
    values = np.random.default_rng(seed).normal(size=(count, SPACE.dimension))
    return [(row / np.linalg.norm(row)).astype("<f4").tobytes() for row in values]


def _lives(scope: Scope, count: int, seed: int) -> list[Record]:
    """Records that differ in everything a search looks at."""
    dice = random.Random(seed)
    return [
        a_record(
            replace(scope, user=dice.choice([None, "u", "v"])),
            " ".join(dice.choices(_WORDS, k=dice.randint(0, 12))) + f" n{number}",
            id=f"m{dice.getrandbits(32):08x}",
            type=dice.choice(list(MemoryType)),
            standing=dice.choice([Standing.ACTIVE, Standing.ACTIVE, Standing.DEMOTED, Standing.ARCHIVED]),
            created_at=NOW - dice.randint(0, 50),
            expires_at=dice.choice([None, None, NOW, NOW + 1]),
            metadata={"n": number % 7},
            confidence=dice.random(),
        )
        for number in range(count)
    ]


def _queries(scope: Scope, seed: int) -> list[Query]:
    dice = random.Random(seed)
    text = " ".join(dice.choices(_WORDS, k=4))
    [vector] = _vectors(1, seed)
    return [
        a_query(scope, text, vector),
        a_query(scope, text),
        a_query(scope, "", vector),
        a_query(replace(scope, user="u"), text, vector),
        a_query(replace(scope, user="nobody"), text, vector),
        a_query(scope, text, vector, types=frozenset({MemoryType.EPISODIC, MemoryType.SEMANTIC})),
        a_query(scope, text, vector, created_since=NOW - 30, created_until=NOW - 10),
        a_query(scope, text, vector, standings=frozenset(Standing)),
        a_query(scope, text, vector, confidence_below=0.4),
        a_query(scope, text, vector, idle_since=NOW - 25),
        a_query(scope, text, vector, filter=compare("metadata.n", "in", [2, 3])),
        a_query(scope, text, vector, filter=compare("metadata.n", "eq", [2])),
    ]


def _same(found: Sequence[Scored], wanted: Sequence[Scored]) -> None:
    assert ids(found) == ids(wanted)
    for hit, twin in zip(found, wanted, strict=True):
        assert hit.record == twin.record
        assert hit.score == pytest.approx(twin.score, abs=1e-9)
        assert hit.signals == pytest.approx(twin.signals, abs=1e-9)


async def _keep_all(store_: Store, kept: Sequence[Record], seed: int) -> None:
    vectors = _vectors(len(kept), seed)
    agent = replace(kept[0].scope, user=None)
    puts = [beginning(record, vector) for record, vector in zip(kept, vectors, strict=True)]
    await store_.write(a_change(agent, *puts))


@pytest.fixture(params=["small", "large"])
def shelves_are(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they are while there are few memories, and as they are when there are many."""
    if request.param == "large":
        monkeypatch.setattr(agent_index, "SMALL_INDEX", 24)
        monkeypatch.setattr(ranking, "SMALL_SELECTION", 0)
        monkeypatch.setattr(arrays, "SMALL_SELECTION", 0)


@pytest.mark.usefixtures("shelves_are")
@pytest.mark.parametrize("seed", range(3))
def test_a_search_finds_what_looking_at_everything_finds(tmp_path: Path, seed: int) -> None:
    scope = a_scope()
    oracle = MemoryStore(SPACE)

    async def main() -> None:
        async with opened(tmp_path / "m.db") as tested:
            for part in range(3):
                kept = _lives(scope, 150, 10 * seed + part)
                for one in (oracle, tested):
                    await _keep_all(one, kept, part)
                    await one.touch(scope, [record.id for record in kept[::3]], NOW)
                for number, query in enumerate(_queries(scope, seed + part)):
                    limit = (1, 5, 40, 1000)[number % 4]
                    _same(await tested.search(query, limit), await oracle.search(query, limit))

    run(main())


def test_strangers_in_the_file_change_no_score(tmp_path: Path) -> None:
    mine, theirs = a_scope(), a_scope()

    async def main() -> None:
        async with opened(tmp_path / "m.db") as tested:
            await _keep_all(tested, _lives(mine, 100, 1), 1)
            query = _queries(mine, 5)[0]
            before = await tested.search(query, 20)
            await _keep_all(tested, _lives(theirs, 300, 2), 2)
            await _keep_all(tested, _lives(replace(mine, tenant="other"), 300, 3), 3)
            assert await tested.search(query, 20) == before

    run(main())


def test_two_stores_on_one_file_see_each_other_at_once(tmp_path: Path) -> None:
    scope = a_scope()
    path = tmp_path / "m.db"
    first = a_record(scope, "a zebra in the snow", id="a")
    query = a_query(scope, "zebra", a_vector(1))

    async def main() -> None:
        async with opened(path) as one, opened(path) as other:
            assert await one.search(query, 5) == await other.search(query, 5) == []
            await keep(one, first, vector=a_vector(1))
            assert ids(await other.search(query, 5)) == ["a"]
            await keep(other, a_record(scope, "a zebra in the sun", id="b"), vector=a_vector(1))
            assert ids(await one.search(query, 5)) == ["a", "b"]
            await other.write(a_change(scope, revising(first, content="a horse")))
            assert [hit.record.content for hit in await one.search(query, 5)] == [
                "a zebra in the sun",
                "a horse",
            ]
            await one.write(a_change(scope, erase=("b",)))
            assert ids(await other.search(query, 5)) == ["a"]
            assert await other.search(query, 5) == await one.search(query, 5)

    run(main())


def test_a_search_while_others_write_never_shows_half_a_change(tmp_path: Path) -> None:
    """Every change replaces both records of a pair: a search must see both old or both new."""
    scope = a_scope()
    path = tmp_path / "m.db"
    query = a_query(scope, "pair", a_vector(1))
    seen: list[set[str]] = [set(), set(), set()]  # by each who watches: old pairs and new ones

    async def rewrite(store_: SqliteStore, pair: list[Record]) -> None:
        for turn in takewhile(lambda turn: turn < 40 or min(map(len, seen)) < 2, count()):
            puts = [revising(record, content=f"pair {turn}") for record in pair]
            await store_.write(a_change(scope, *puts))
            pair = [put.record for put in puts]

    async def watch(store_: SqliteStore, contents_seen: set[str], rewriting: "asyncio.Task[None]") -> None:
        while not rewriting.done():
            found = await store_.search(query, 5)
            contents = {str(hit.record.content) for hit in found}
            assert len(found) == 2
            assert len(contents) == 1, contents
            contents_seen |= contents

    async def main() -> None:
        async with opened(path) as one, opened(path) as other:
            pair = [a_record(scope, "pair", id=id) for id in ("a", "b")]
            await keep(one, *pair)
            rewriting = asyncio.create_task(rewrite(one, pair))
            watchers = zip((one, other, other), seen, strict=True)
            await asyncio.gather(rewriting, *(watch(store_, mine, rewriting) for store_, mine in watchers))

    run(main())


def test_indexes_that_do_not_fit_leave_and_come_back(tmp_path: Path) -> None:
    scopes = [a_scope() for _ in range(6)]

    async def main() -> None:
        async with opened(tmp_path / "m.db", memory=60_000) as tested:
            for number, scope in enumerate(scopes):
                await _keep_all(tested, _lives(scope, 100, number), number)
            first = [await tested.search(_queries(scope, 1)[0], 9) for scope in scopes]
            assert 1 <= len(tested._indexes) < len(scopes)
            assert first == [await tested.search(_queries(scope, 1)[0], 9) for scope in scopes]

    run(main())


def test_a_shelf_that_fills_the_memory_alone_is_still_used(tmp_path: Path) -> None:
    scope = a_scope()

    async def main() -> None:
        async with opened(tmp_path / "m.db", memory=1) as tested:
            await _keep_all(tested, _lives(scope, 50, 1), 1)
            assert len(await tested.search(_queries(scope, 1)[0], 9)) == 9
            assert len(tested._indexes) == 1

    run(main())


@pytest.mark.usefixtures("shelves_are")
def test_gaps_left_by_ended_records_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_index, "_MAX_TOMBSTONES", 8)
    monkeypatch.setattr(postings, "_MAX_TAIL", 64)
    scope = a_scope()
    oracle = MemoryStore(SPACE)

    async def main() -> None:
        async with opened(tmp_path / "m.db") as tested:
            for part in range(6):
                kept = _lives(scope, 60, part)
                for one in (oracle, tested):
                    await _keep_all(one, kept, part)
                for query in _queries(scope, part):
                    _same(await tested.search(query, 20), await oracle.search(query, 20))
                for record in kept[: 55 - part]:
                    for one in (oracle, tested):
                        await end(one, record)
                for query in _queries(scope, part):
                    _same(await tested.search(query, 20), await oracle.search(query, 20))
            with tested._indexes.take(scope.tenant, scope.agent) as held:
                assert len(held) < 100
                assert held.nbytes < 40_000

    run(main())


def test_a_search_of_the_past_sees_what_was_current_then(tmp_path: Path) -> None:
    scope = a_scope()
    oracle = MemoryStore(SPACE)

    async def live(store_: Store) -> None:
        dice = random.Random(3)
        for turn in range(20):
            kept = _lives(scope, 8, turn)
            at = NOW + turn + dice.choice([0, 0, -3])  # a clock may step back
            puts = [beginning(r, v) for r, v in zip(kept, _vectors(8, turn), strict=True)]
            await store_.write(a_change(scope, *puts, at=at, id=f"put {turn}"))
            await end(store_, kept[0], at=at)
            await store_.write(a_change(kept[1].scope, revising(kept[1], content="word1 anew"), at=at))
            await store_.write(a_change(scope, erase=(kept[2].id,), at=at))

    async def main() -> None:
        async with opened(tmp_path / "m.db") as tested:
            for one in (oracle, tested):
                await live(one)
            for moment in range(NOW - 5, NOW + 25, 3):
                for query in _queries(scope, moment):
                    then = replace(query, where=replace(query.where, as_of=moment))
                    _same(await tested.search(then, 12), await oracle.search(then, 12))

    run(main())


def test_equal_memories_are_ordered_by_id_wherever_they_stand(tmp_path: Path) -> None:
    scope = a_scope()
    kept = [a_record(scope, "the same words", id=f"m{number:03}") for number in range(301)]
    [vector] = _vectors(1, 9)

    async def main() -> None:
        async with opened(tmp_path / "m.db") as tested:
            for record in random.Random(1).sample(kept, len(kept)):
                await keep(tested, record, vector=vector)
            for limit in (1, 7, 100, 301):
                found = await tested.search(a_query(scope, "same words", _vectors(1, 4)[0]), limit)
                assert ids(found) == [f"m{number:03}" for number in range(limit)]
                assert len({hit.score for hit in found}) == 1

    run(main())


@pytest.mark.parametrize(
    ("first", "asked", "found"),
    [
        ({}, [False], 2),
        ({"session_id": "s", "metadata": {"role": "user"}}, [], 4),
        ({"session_id": "s"}, [False], 2),
        ({"standing": Standing.DEMOTED}, [], 4),
    ],
    ids=["facts alike", "a turn among them", "a fact of a session", "one is demoted"],
)
def test_of_rows_that_are_alike_only_those_are_read_that_are_admitted(
    tmp_path: Path, first: dict[str, object], asked: list[bool], found: int
) -> None:
    scope, heard = a_scope(), []

    async def story() -> None:
        async with opened(tmp_path / "m.db") as store_:
            odd = a_record(scope, "tea number 0", id="m0", **first)
            others = [a_record(scope, f"tea number {at}", id=f"m{at}") for at in range(1, 6)]
            await _keep_all(store_, [odd, *others], seed=1)
            query = a_query(scope, "tea", a_vector(1.0))
            whole = await store_.search(query, 4)

            def level(best: float, signals: Mapping[str, float], turns: bool) -> float:
                assert best == whole[0].score
                heard.append(turns)
                return whole[1].score

            some = await store_.search_late(query, lambda: query, 4, brief=True, enough=Enough(3, level))
            assert ids(some) == ids(whole)[:found]
            assert [hit.score for hit in some] == [hit.score for hit in whole][:found]

    run(story())
    assert heard == asked


def test_a_query_of_another_dimension_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path / "m.db") as tested:
            with pytest.raises(InvalidRequest, match=str(SPACE)):
                await tested.search(a_query(a_scope(), "x", bytes(12)), 5)

    run(main())


def test_the_search_index_holds_no_words(tmp_path: Path) -> None:
    """Only the content itself does, so erasing a row erases its text index."""
    scope = a_scope()

    async def main() -> list[bytes]:
        async with opened(tmp_path / "m.db") as tested:
            await keep(tested, a_record(scope, "xylophone"))
            with tested.file.readers.borrow() as db:
                return [db.execute("SELECT terms FROM version").get]

    [terms] = run(main())
    assert len(terms) == 2 * ENTRY.itemsize  # of the word, and of what the memory says as a whole
    assert b"xylophon" not in terms


def test_what_expires_first_may_be_kept_first(tmp_path: Path) -> None:
    scope = a_scope()

    async def main() -> None:
        async with opened(tmp_path / "m.db") as tested:
            for number, moment in enumerate((NOW + 10, NOW + 30, None)):
                await keep(tested, a_record(scope, "kettle", id=f"{number}", expires_at=moment))
                await tested.search(a_query(scope, "kettle"), 5)
            for now, alive in ((NOW, ["0", "1", "2"]), (NOW + 10, ["1", "2"]), (NOW + 30, ["2"])):
                assert ids(await tested.search(a_query(scope, "kettle", alive_at=now), 5)) == alive

    run(main())
