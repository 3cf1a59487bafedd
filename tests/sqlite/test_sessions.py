"""Turns stand beside each other in the order of their session, however they came to the shelf."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorywire.index import sessions
from memorywire.model.record import Record, Scope
from memorywire.stores.memory import MemoryStore
from memorywire_testing.samples import (
    NOW,
    SPACE,
    a_change,
    a_query,
    a_record,
    a_scope,
    a_vector,
    beginning,
    end,
    ids,
    revising,
)
from tests.sqlite.desk import opened, run

_WORDS = "river stone lamp orchard violin harbour snow copper".split()


def _turn(scope: Scope, id: str, dice: random.Random) -> Record:
    """Sessions, moments and words that often coincide, so that the id decides."""
    return a_record(
        replace(scope, user=dice.choice(["u", "v"])),
        " ".join(dice.choices(_WORDS, k=3)) + f" {id}",
        id=id,
        session_id=dice.choice([None, "one", "two", "three"]),
        occurred_at=NOW - dice.randint(0, 3),
        metadata=dice.choice([{}, {"role": "user"}, {"speaker": "Ana"}]),
    )


def _rising(number: int, dice: random.Random) -> str:
    return f"m{number:04}"


def _mixed(number: int, dice: random.Random) -> str:
    return f"m{dice.getrandbits(24):06x}-{number}"


@pytest.mark.parametrize("one_by_one", [True, False])
@pytest.mark.parametrize("named", [_rising, _mixed])
def test_neighbours_are_those_the_oracle_sees(
    tmp_path: Path,
    named: Callable[[int, random.Random], str],
    one_by_one: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "_MAX_INSERTS", 64 if one_by_one else 0)
    scope, dice = a_scope(), random.Random(4)
    kept: list[Record] = []

    async def main() -> None:
        oracle = MemoryStore(SPACE)
        async with opened(tmp_path / "m.db") as tested:
            for number in range(60):
                turn = _turn(scope, named(number, dice), dice)
                puts = [beginning(turn, a_vector(dice.random(), dice.random()))]
                if number % 9 == 8:
                    again = kept.pop(dice.randrange(len(kept)))
                    puts.append(revising(again, content=f"river {number}"))
                    kept.append(puts[-1].record)
                gone = kept.pop(0) if number % 7 == 6 else None
                for store in (oracle, tested):
                    await store.write(a_change(scope, *puts, id=f"c{number}"))
                    if gone is not None:
                        await end(store, gone)
                kept.append(turn)
                for seen in (scope, replace(scope, user="u")):
                    query = a_query(seen, "river lamp", a_vector(1, 1))
                    found, wanted = await tested.search(query, 60), await oracle.search(query, 60)
                    assert ids(found) == ids(wanted)
                    for hit, twin in zip(found, wanted, strict=True):
                        assert hit.signals == pytest.approx(twin.signals, abs=1e-9)

    run(main())


def test_a_user_among_many_has_the_neighbours_it_has_alone(tmp_path: Path) -> None:
    """Few of many rows are looked at by themselves, and are no less right for it."""
    scope, dice = a_scope(), random.Random(5)
    turns = [_turn(scope, f"m{number:04}", dice) for number in range(300)]
    turns = [replace(turn, scope=replace(scope, user=f"user {at % 20}")) for at, turn in enumerate(turns)]
    vectors = [a_vector(dice.random(), dice.random()) for _ in turns]
    puts = [beginning(turn, vector) for turn, vector in zip(turns, vectors, strict=True)]

    async def main() -> None:
        oracle = MemoryStore(SPACE)
        async with opened(tmp_path / "m.db") as tested:
            for store in (oracle, tested):
                await store.write(a_change(scope, *puts))
            for user in range(20):
                query = a_query(replace(scope, user=f"user {user}"), "river lamp", a_vector(1, 1))
                found, wanted = await tested.search(query, 9), await oracle.search(query, 9)
                assert ids(found) == ids(wanted)
                assert [hit.signals for hit in found] == [pytest.approx(hit.signals) for hit in wanted]

    run(main())


@pytest.mark.parametrize("named", [_rising, _mixed])
def test_of_memories_without_any_evidence_the_first_by_id_are_given(
    tmp_path: Path, named: Callable[[int, random.Random], str]
) -> None:
    scope, dice = a_scope(), random.Random(6)
    records = [a_record(scope, f"stone {number}", id=named(number, dice)) for number in range(200)]

    async def main() -> None:
        oracle = MemoryStore(SPACE)
        async with opened(tmp_path / "m.db") as tested:
            for store in (oracle, tested):
                for part in (records[:150], records[150:]):
                    await store.write(a_change(scope, *(beginning(record) for record in part)))
                    query = a_query(scope, "harbour 7")
                    await store.search(query, 5)
            for limit in (5, 80):
                assert ids(await tested.search(query, limit)) == ids(await oracle.search(query, limit))

    run(main())
