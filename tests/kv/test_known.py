"""What this process set is remembered, so that it need not look again; and whoever else writes is noticed."""

import asyncio
from pathlib import Path
from typing import Any

from memorywire import Memory
from memorywire.model.answers import Status
from memorywire.model.change import Base, Change, Put
from memorywire.model.kv import MARK, Owner, OwnerKind
from memorywire.model.record import MemoryType, Record
from memorywire.pipeline.kv.usage import Known
from tests.engine.quick import Quick
from tests.engine.stage import HandClock
from tests.kv.stage import play

KEYS = [f"k{n}" for n in range(40)]


async def _round(memory: Memory, value: Any) -> list[int]:
    kept = await asyncio.gather(*(memory.kv.set(key, value) for key in KEYS))
    assert {one.status for one in kept} == {Status.COMMITTED}
    return [one.version for one in kept]


def test_two_processes_that_set_the_same_keys_by_turns_lose_nothing(tmp_path: Path) -> None:
    def memory() -> Memory:
        return Memory("agent", f"sqlite:///{tmp_path}/m.db", embedder=Quick(), policy="open")

    async def story() -> None:
        async with memory() as one, memory() as other:
            for number in range(6):
                versions = await _round(other if number % 2 else one, number)
                assert versions == [number + 1] * len(KEYS)
            assert [entry.value for entry in await one.kv.list()] == [5] * len(KEYS)
            assert (await one.audit_verify()).report.ok

    asyncio.run(story())


def test_what_others_did_to_a_key_meanwhile_is_seen_when_it_is_set_again() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        first = await asyncio.gather(*(memory.kv.set(key, 1) for key in KEYS))
        await memory.undo(first[0].change_id or "")
        await memory.forget([first[1].id])
        await memory.forget([first[2].id], hard_delete=True)
        await memory.kv.delete(KEYS[3])
        await memory.kv.incr(KEYS[4], 5)
        versions = await _round(memory, 2)
        assert versions[5:] == [2] * (len(KEYS) - 5)
        assert versions[2] == 1  # an erased key begins anew
        assert min(versions[0], versions[1], versions[3]) >= 2
        assert versions[4] == 3
        assert {entry.key: entry.value for entry in await memory.kv.list()} == dict.fromkeys(KEYS, 2)
        assert (await memory.kv.stats()).value_bytes == len(KEYS)

    play(story)


def test_nothing_is_guessed_of_keys_that_others_write_too_nor_of_another_store() -> None:
    known, store = Known(), object()
    mine, others = (Owner(kind=OwnerKind.AGENT, id=name, tenant="default") for name in ("ana", "ben"))
    for owner in (mine, others):
        known.set(store, _change(owner))
    ids = [mine.address("k"), others.address("k")]
    assert known.guesses(mine, store, ids[:1]) == {ids[0]: (ids[0], 3, 10, None, 7)}
    known.wrong(mine, "an id that nobody knows")
    assert known.guesses(mine, store, ids[:1])
    known.wrong(mine, ids[0])
    known.set(store, _change(mine))
    assert not known.guesses(mine, store, ids[:1])
    assert known.guesses(others, store, ids[1:])
    assert not known.guesses(others, object(), ids[1:])


def _change(owner: Owner) -> Change:
    mark = {"of": owner.kind.value, "key": "k", "bytes": 7, "embedded": False}
    record = Record(
        id=owner.address("k"),
        scope=owner.scope,
        type=MemoryType.SEMANTIC,
        content={"k": "value"},
        metadata={MARK: mark},
        created_at=10,
        updated_at=20,
        version=3,
    )
    put = Put(record=record, base=Base.LIVE, bare=True)
    return Change(id="c", operation="remember", scope=owner.scope, at=20, put=(put,))
