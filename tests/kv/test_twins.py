"""A key that two processes begin anew at once, on a store that keeps no past, is one key all the same."""

import asyncio
from pathlib import Path

from memorywire import Memory
from tests.engine.quick import Quick

ROUNDS = 8


def _memory(folder: Path) -> Memory:
    journal = f"sqlite://{folder}/journal.db"
    return Memory("agent", [f"markdown://{folder}/notes"], embedder=Quick(), policy="open", journal=journal)


def test_a_key_begun_twice_is_one_key_and_is_deleted_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with _memory(tmp_path) as one, _memory(tmp_path) as other:
            await asyncio.gather(one.kv.set("k", 0), one.kv.set("kk", "another"))
            for number in range(ROUNDS):
                assert (await one.kv.delete("k")).existed
                assert [entry.key for entry in await other.kv.list()] == ["kk"]
                kept = await asyncio.gather(one.kv.set("k", [number, 1]), other.kv.set("k", [number, 2]))
                seen = [
                    [entry for entry in await memory.kv.list() if entry.key == "k"] for memory in (one, other)
                ]
                assert seen[0] == seen[1]
                [entry] = seen[0]
                assert entry.id in {receipt.id for receipt in kept}
                assert [await memory.kv.get("k") for memory in (one, other)] == [entry, entry]

    asyncio.run(story())
