"""Changes that are written together leave the file as if they had been written one after the other."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.errors import Conflict, Duplicate, IdempotencyConflict, InvalidRequest
from memorywire.model.record import Record
from memorywire.stores.contract import SupportsBulkWrite
from memorywire.stores.graph.store import GraphStore
from memorywire.stores.memory import MemoryStore
from memorywire.stores.sqlite.apply import prepare_group
from memorywire.stores.sqlite.location import Location
from memorywire_testing.samples import (
    NOW,
    SPACE,
    a_change,
    a_record,
    a_scope,
    a_vector,
    beginning,
    ids,
    records,
    user_of,
)
from tests.sqlite.desk import opened, rows, run

_SCOPE = a_scope()


def _following(record: Record, content: str, **given: Any) -> Put:
    after = replace(record, content=content, version=record.version + 1, **given)
    return Put(record=after, base=Base.LIVE, vector=a_vector(2.0, 1.0))


def _changes(kept: Sequence[Record]) -> list[Change]:
    """New memories of several users, and new versions of those that are kept."""
    users = [None, "ana", "ben"]
    fresh = [
        beginning(a_record(user_of(_SCOPE, users[n % 3]), f"fresh {n} fresh", metadata={"speaker": "Ana"}))
        for n in range(len(kept))
    ]
    again = [_following(record, f"again {n}") for n, record in enumerate(kept)]
    puts = [put for pair in zip(fresh, again, strict=True) for put in pair]
    return [a_change(put.record.scope, put, id=f"c{n}", at=NOW + n) for n, put in enumerate(puts)]


def _tables(path: Path) -> list[list[Any]]:
    return [rows(path, f"SELECT * FROM {table} ORDER BY 1") for table in ("change", "version")]


def test_the_file_is_the_same_as_after_single_writes(tmp_path: Path) -> None:
    kept = records(_SCOPE, 6)
    changes = _changes(kept)

    async def write(path: Path, *, together: bool) -> list[Any]:
        async with opened(path) as store:
            await store.write(a_change(_SCOPE, *map(beginning, kept), id="first"))
            if together:
                return await store.write_many(changes)
            return [await store.write(change) for change in changes]

    one, other = tmp_path / "one.db", tmp_path / "other.db"
    assert run(write(one, together=True)) == run(write(other, together=False))
    assert _tables(one) == _tables(other)
    assert len(_tables(one)[1]) == 6 + len(changes)


def _spoilt(kept: Record, live: Record) -> dict[str, tuple[Change, type[Exception]]]:
    """A change that cannot be, and what it is told."""
    taken = beginning(replace(kept, content="other words"))
    late = Put(record=replace(live, content="late", version=7), base=Base.LIVE)
    said = beginning(a_record(_SCOPE, kept.content), unique=True)
    broken = beginning(a_record(_SCOPE, "half \ud800 a pair"))
    large = beginning(a_record(_SCOPE, "large", expires_at=2**70))
    return {
        "taken": (a_change(_SCOPE, taken), Conflict),
        "late": (a_change(_SCOPE, late), Conflict),
        "said": (a_change(_SCOPE, said), Duplicate),
        "half": (a_change(_SCOPE, broken), InvalidRequest),
        "large": (a_change(_SCOPE, large), InvalidRequest),
        "key": (a_change(_SCOPE, beginning(a_record(_SCOPE, "keyed")), key="k"), IdempotencyConflict),
    }


@pytest.mark.parametrize("spoilt", ["taken", "late", "said", "half", "large", "key"])
def test_what_cannot_be_written_concerns_nobody_else(spoilt: str) -> None:
    kept, live = records(_SCOPE, 2)
    bad, problem = _spoilt(kept, live)[spoilt]
    good = [beginning(record) for record in records(_SCOPE, 4, "a pot")] + [_following(live, "followed")]

    async def main() -> None:
        async with opened(None) as store:
            await store.write(a_change(_SCOPE, beginning(kept), beginning(live), key="k"))
            changes = [a_change(_SCOPE, put) for put in good]
            done = await store.write_many([*changes[:2], bad, *changes[2:]])
            assert [type(one) for one in done] == [int, int, problem, int, int, int]
            assert [one for one in done if isinstance(one, int)] == [2, 3, 4, 5, 6]
            there = await store.get(_SCOPE, [put.record.id for put in good])
            assert [record.content for record in there] == [put.record.content for put in good]

    run(main())


def test_a_group_with_a_change_that_cannot_be_takes_nobody_of_its_transaction_with_it(tmp_path: Path) -> None:
    kept = a_record(_SCOPE, "kept")
    groups = [[a_change(_SCOPE, beginning(one)) for one in records(_SCOPE, 3, f"pot {n}")] for n in range(3)]
    groups[1][1] = a_change(_SCOPE, beginning(replace(kept, content="other words")))
    lone = [a_change(_SCOPE, beginning(one)) for one in records(_SCOPE, 2, "a lone pan")]

    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            await store.write(a_change(_SCOPE, beginning(kept)))
            first, *many, last = await asyncio.gather(
                store.write(lone[0]), *map(store.write_many, groups), store.write(lone[1])
            )
            assert [first, many[0], many[2], last] == [2, [3, 4, 5], [8, 9, 10], 11]
            assert [type(one) for one in many[1]] == [int, Conflict, int]
            assert [many[1][0], many[1][2]] == [6, 7]

    run(main())
    assert [at for (at,) in rows(tmp_path / "m.db", "SELECT seq FROM change ORDER BY seq")] == [*range(1, 12)]


def test_a_change_that_is_there_already_is_told_its_sequence_again() -> None:
    changes = [a_change(_SCOPE, beginning(record)) for record in records(_SCOPE, 3)]

    async def main() -> None:
        async with opened(None) as store:
            assert await store.write(changes[1]) == 1
            assert await store.write_many(changes) == [2, 1, 3]
            assert await store.write_many(changes) == [2, 1, 3]
            assert len(await store.changes(_SCOPE, 10)) == 3

    run(main())


def test_of_changes_that_meet_each_finds_what_the_one_before_left() -> None:
    record = a_record(_SCOPE, "one")
    words = a_record(_SCOPE, "the same words"), a_record(_SCOPE, "the same words")
    end = End(id=record.id, version=2, reason=EndReason.FORGOTTEN)

    async def main() -> None:
        async with opened(None) as store:
            done = await store.write_many(
                [
                    a_change(_SCOPE, beginning(record)),
                    a_change(_SCOPE, _following(record, "two")),
                    a_change(_SCOPE, end),
                    *(a_change(_SCOPE, beginning(one, unique=True)) for one in words),
                ]
            )
            assert [type(one) for one in done] == [int, int, int, int, Duplicate]
            assert [version.number for version in await store.history(_SCOPE, record.id)] == [1, 2]
            assert ids(await store.get(_SCOPE, [record.id, words[0].id])) == [words[0].id]

    run(main())


def test_only_what_cannot_meet_is_prepared_for_few_statements() -> None:
    plain = [a_change(_SCOPE, beginning(record, unique=True)) for record in records(_SCOPE, 3)]
    twice = [*plain, a_change(_SCOPE, beginning(a_record(_SCOPE, "the kettle is blue 1"), unique=True))]
    mixed = [*plain, a_change(_SCOPE, beginning(a_record(_SCOPE, "not unique")))]
    assert prepare_group(plain, SPACE) is not None
    assert prepare_group(twice, SPACE) is None
    assert prepare_group(mixed, SPACE) is None


def test_the_same_words_may_be_said_by_another_user_and_after_they_expired() -> None:
    said = [a_record(user_of(_SCOPE, user), "the lamp is red") for user in ("ana", "ben", None)]
    gone = a_record(user_of(_SCOPE, "cleo"), "the lamp is red", expires_at=NOW + 5)

    async def main() -> None:
        async with opened(None) as store:
            await store.write(a_change(_SCOPE, beginning(gone)))
            late = a_record(user_of(_SCOPE, "cleo"), "the lamp is red")
            changes = [a_change(_SCOPE, beginning(one, unique=True), at=NOW + 5) for one in (*said, late)]
            assert await store.write_many(changes) == [2, 3, 4, 5]

    run(main())


def test_edges_are_kept_with_changes_that_are_written_together(tmp_path: Path) -> None:
    async def edges(name: str, *, together: bool) -> list[Any]:
        store = GraphStore(Location(path=tmp_path / name), SPACE)
        await store.prepare()
        root = a_record(_SCOPE, "Ana met Ben", id="root")
        linked = [a_record(_SCOPE, f"Ana {n}", id=f"l{n}", derived_from=("root",)) for n in range(3)]
        changes = [a_change(_SCOPE, beginning(one), id=one.id) for one in (root, *linked)]
        if together:
            await store.write_many(changes)
        else:
            for change in changes:
                await store.write(change)
        await store.close()
        return rows(tmp_path / name, "SELECT * FROM graph_edge ORDER BY 1, 2, 3, 4")

    kept = run(edges("one.db", together=True))
    assert kept == run(edges("other.db", together=False))
    assert kept


def test_only_a_store_that_can_is_asked_for_many_at_once() -> None:
    async def main() -> None:
        async with opened(None) as store:
            assert isinstance(store, SupportsBulkWrite)
            assert not isinstance(MemoryStore(SPACE), SupportsBulkWrite)

    run(main())
