"""Records are read by id at once or when a reader is free, and a glance tells what reading would tell."""

import asyncio
import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from memorywire.model.record import Record, Scope
from memorywire.stores.contract import Glimpse, SupportsPeek
from memorywire.stores.memory import MemoryStore
from memorywire_testing.samples import (
    NOW,
    SPACE,
    a_change,
    a_record,
    a_scope,
    end,
    keep,
    revising,
    user_of,
)
from tests.sqlite.desk import opened, run

_SCOPE = a_scope()
_ANA, _BEN = user_of(_SCOPE, "ana"), user_of(_SCOPE, "ben")


def _from_afar(record: Record, name: str) -> Glimpse:
    held = record.metadata.get(name)
    said = None if held is None else json.dumps(held, separators=(",", ":"), ensure_ascii=False)
    return record.id, record.version, record.created_at, record.expires_at, said


@pytest.mark.parametrize("scope", [_SCOPE, _ANA, _BEN, a_scope()], ids=["agent", "ana", "ben", "stranger"])
def test_a_glance_sees_what_reading_sees(scope: Scope) -> None:
    mark = {"of": "agent", "größe": 45, "in": [1, None, {"a": False}]}
    plain = a_record(_SCOPE)
    marked = a_record(_ANA, {"some": "value"}, metadata={"mark": mark, "other": 1}, expires_at=NOW + 1)
    changed = a_record(_BEN, "before", metadata={"mark": {"of": "before"}})
    gone = a_record(_ANA, "gone")

    async def main() -> int:
        async with opened(None) as store:
            await keep(store, plain, marked, changed, gone)
            await end(store, gone)
            after = revising(changed, content="after", metadata={"mark": {"of": "after"}})
            await store.write(a_change(_BEN, after))
            asked = [changed.id, "nobody", gone.id, plain.id, marked.id]
            read = await store.get(scope, asked)
            for name in ("mark", "other", "nothing"):
                assert await store.glance(scope, asked, name) == [_from_afar(one, name) for one in read]
            return len(read)

    assert run(main()) == {_SCOPE: 3, _ANA: 1, _BEN: 1}.get(scope, 0)


@pytest.mark.parametrize("busy", [False, True], ids=["free", "busy"])
def test_who_asks_for_a_record_while_all_readers_are_busy_waits_for_one(tmp_path: Path, busy: bool) -> None:
    record = a_record(_SCOPE)

    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            await keep(store, record)
            with ExitStack() as lent:
                for _ in range(len(store.file.readers) if busy else 0):
                    lent.enter_context(store.file.readers.borrow())
                asked = asyncio.ensure_future(store.get(_SCOPE, [record.id]))
                for _ in range(9):
                    await asyncio.sleep(0)
                assert asked.done() is not busy
            assert await asked == [record]

    run(main())


def test_only_a_store_that_can_is_glanced_at() -> None:
    async def main() -> None:
        async with opened(None) as store:
            assert isinstance(store, SupportsPeek)
            assert not isinstance(MemoryStore(SPACE), SupportsPeek)

    run(main())
