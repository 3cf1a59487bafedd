"""Packs save the reading of rows and nothing else: what a search answers never depends on them."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memorywire.index.batch import Batch
from memorywire.model.change import Change
from memorywire.model.query import Scored
from memorywire.model.record import Record, Scope, Standing
from memorywire.stores.memory import MemoryStore
from memorywire.stores.sqlite import SqliteStore, search, segments
from memorywire.stores.sqlite.rows import hash_term
from memorywire.stores.sqlite.sql import QUERIES
from memorywire_testing.samples import (
    SPACE,
    a_change,
    a_query,
    a_record,
    a_vector,
    beginning,
    end,
    keep,
)
from tests.sqlite.desk import bytes_on_disk, opened, rows, run, until

AGENT = Scope(agent="packed")
COUNT = 200


@pytest.fixture(autouse=True)
def _small_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (segments, search):
        monkeypatch.setattr(module, "SEGMENT_ROWS", 40)
    monkeypatch.setattr(segments, "MIN_ROWS", 5)


def _record(number: int, **more: Any) -> Record:
    """Every column of the index has something to say."""
    given: dict[str, Any] = {
        "id": f"m{number:04}",
        "metadata": ({"role": "assistant"} if number % 7 == 0 else {"role": "user"} if number % 2 else {})
        | ({"fact": {"kind": "identity", "slot": f"slot {number % 6}"}} if number % 10 == 0 else {}),
        "session_id": f"s{number % 9}" if number % 3 else None,
        "occurred_at": 1_000 * number if number % 4 else None,
        "expires_at": None if number % 5 else 10**15,
        "standing": Standing.DEMOTED if number % 11 == 0 else Standing.ACTIVE,
    }
    words = f"the kettle of house {number} is blue and word{number % 13} is told"
    return a_record(Scope(agent="packed", user=f"user {number % 3}"), words, **(given | more))


def _kept(first: int, last: int) -> list[Change]:
    return [
        a_change(
            Scope(agent="packed"),
            beginning(_record(number), a_vector(1 + number % 5, number)),
            id=f"c{number}",
        )
        for number in range(first, last)
    ]


async def _write(changes: list[Change], *stores: Any) -> None:
    for store in stores:
        await asyncio.gather(*map(store.write, changes))


def _queries() -> list[Any]:
    texts = ("blue kettle", "word3 house", "who told word7?")
    return [a_query(AGENT, text, vector=a_vector(2, at)) for at, text in enumerate(texts)] + [
        a_query(Scope(agent="packed", user="user 1"), "word5 kettle", vector=a_vector(1))
    ]


async def _answers(store: Any) -> list[list[Scored]]:
    return [await store.search(query, 20) for query in _queries()]


def _same(found: list[list[Scored]], wanted: list[list[Scored]]) -> None:
    for some, others in zip(found, wanted, strict=True):
        assert [hit.record.id for hit in some] == [hit.record.id for hit in others]
        for hit, twin in zip(some, others, strict=True):
            assert hit.signals == pytest.approx(twin.signals, abs=1e-9)


def _packs(path: Path) -> list[tuple[int, int]]:
    return rows(path, "SELECT since, upto FROM pack ORDER BY since")


async def _packed(store: SqliteStore, path: Path, enough: Callable[[], bool]) -> None:
    """Ask until the background has packed what it should."""

    async def done() -> bool:
        await _answers(store)
        return enough()

    await until(done)


async def _filled(path: Path) -> MemoryStore:
    oracle = MemoryStore(SPACE)
    async with opened(path) as store:
        await _write(_kept(0, COUNT), store, oracle)
        await _packed(store, path, lambda: len(_packs(path)) == COUNT // 40)
        _same(await _answers(store), await _answers(oracle))
    return oracle


def test_rows_are_packed_in_order_without_gaps_or_overlaps(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    run(_filled(path))
    found = _packs(path)
    assert found[0][0] == 0
    assert [since for since, _ in found[1:]] == [upto for _, upto in found[:-1]]


def test_what_is_written_together_is_packed_before_anybody_asks(tmp_path: Path) -> None:
    path = tmp_path / "m.db"

    async def main() -> None:
        oracle = MemoryStore(SPACE)
        async with opened(path) as store:
            for first in range(0, COUNT, 20):
                changes = _kept(first, first + 20)
                await store.write_many(changes)
                await _write(changes, oracle)
                await store.at_rest()
            assert len(_packs(path)) >= COUNT // 40 - 1
        async with opened(path) as store:
            _same(await _answers(store), await _answers(oracle))

    run(main())


def test_the_next_pack_is_found_by_as_many_questions_however_many_there_are(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    name = {"tenant": AGENT.tenant, "agent": AGENT.agent}

    async def main() -> set[int]:
        asked = []
        async with opened(path) as store:
            await _write(_kept(0, COUNT), store)
            for _ in range(COUNT // 40):
                with store.file.readers.borrow() as db:
                    statements: list[str] = []
                    db.exec_trace = lambda _, sql, bound, told=statements: told.append(sql) or True
                    made = segments.build_segment(db, name, SPACE.dimension)
                    db.exec_trace = None
                assert made is not None
                asked.append(len(statements))
                await store.file.write(lambda db, made=made: segments.write_segment(db, name, made))
        return {*asked}

    assert len(run(main())) == 1


def test_a_search_from_packs_answers_as_one_from_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.db"
    wanted = run(_filled(path))

    async def main() -> None:
        async with opened(path) as store:
            _same(await _answers(store), await _answers(wanted))

    run(main())
    # The rows of packs are not read: without their query nothing else is missing.
    blind = QUERIES["index_live"].replace("ended IS NULL", "ended IS NULL AND 0")
    monkeypatch.setitem(QUERIES, "index_live", blind)
    run(main())


def test_room_is_made_for_what_is_not_packed_too(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    run(_filled(path))
    rows(path, "DELETE FROM pack WHERE since > 0")

    async def main() -> None:
        async with opened(path) as store:
            taken = store._indexes.take(AGENT.tenant, AGENT.agent)
            with taken as empty, store.file.readers.borrow() as db:
                assert empty._estimate_size(db) == COUNT

    run(main())


def test_what_changed_since_a_pack_was_made_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "m.db"

    async def main() -> None:
        oracle = await _filled(path)
        async with opened(path) as store:
            for number in range(0, COUNT, 6):
                for one in (store, oracle):
                    await end(one, _record(number))
            await _write(_kept(COUNT, COUNT + 20), store, oracle)
        async with opened(path) as store:
            _same(await _answers(store), await _answers(oracle))

    run(main())


def test_an_erased_memory_takes_its_pack_with_it_and_the_rest_is_packed_again(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    erased = _record(50)

    async def main() -> None:
        oracle = await _filled(path)
        word = hash_term("50")
        trace = word.to_bytes(8, "little", signed=True)
        stored = rows(path, "SELECT data FROM pack ORDER BY since")
        packed = [Batch.from_bytes(data[4:]) for (data,) in stored]  # behind the checksum
        assert [word in batch.entries.term for batch in packed] == [False, True, False, False, False]
        assert bytes_on_disk(tmp_path).count(trace) >= 2
        async with opened(path) as store:
            for one in (store, oracle):
                await one.write(a_change(AGENT, erase=(erased.id,), id="erasing"))
            assert len(_packs(path)) == COUNT // 40 - 1
            assert trace not in bytes_on_disk(tmp_path)
        async with opened(path) as store:
            _same(await _answers(store), await _answers(oracle))
            await _packed(store, path, lambda: len(_packs(path)) == COUNT // 40)
        async with opened(path) as store:
            _same(await _answers(store), await _answers(oracle))

    run(main())


def test_a_pack_made_before_an_erasure_is_not_kept_after_it(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    name = {"tenant": AGENT.tenant, "agent": AGENT.agent}

    async def main() -> list[int]:
        async with opened(path) as store:
            await _write(_kept(0, 60), store)
            made = await store.file.read(lambda db: segments.build_segment(db, name, SPACE.dimension))
            assert made is not None
            await store.write(a_change(AGENT, erase=("m0003",)))
            await store.file.write(lambda db: segments.write_segment(db, name, made))
            after = len(_packs(path))
            again = await store.file.read(lambda db: segments.build_segment(db, name, SPACE.dimension))
            assert again is not None
            await store.file.write(lambda db: segments.write_segment(db, name, again))
            return [after, len(_packs(path))]

    assert run(main()) == [0, 1]


def test_a_pack_of_another_form_is_as_good_as_none(tmp_path: Path) -> None:
    path = tmp_path / "m.db"

    async def main() -> None:
        oracle = await _filled(path)
        rows(path, "UPDATE pack SET format = 0, data = x'00'")
        async with opened(path) as store:
            _same(await _answers(store), await _answers(oracle))
            current = "SELECT count(*) FROM pack WHERE format > 0"
            await _packed(store, path, lambda: rows(path, current) == [(COUNT // 40,)])

    run(main())


def test_a_stretch_of_which_nothing_is_left_is_packed_too(tmp_path: Path) -> None:
    path = tmp_path / "m.db"

    async def main() -> None:
        async with opened(path) as store:
            await _write(_kept(0, 40), store)
            for number in range(40):
                await end(store, _record(number))
            await keep(store, _record(1000))
            await _write(_kept(40, 50), store)
            await _packed(store, path, lambda: len(_packs(path)) == 1)
        async with opened(path) as store:
            assert len(await store.search(a_query(AGENT, "kettle"), 100)) == 11

    run(main())


def test_a_store_in_memory_makes_no_packs() -> None:
    async def main() -> int:
        async with opened(None) as store:
            await _write(_kept(0, COUNT), store)
            await _answers(store)
            return await store.file.read(lambda db: int(db.execute("SELECT count(*) FROM pack").get))

    assert run(main()) == 0
