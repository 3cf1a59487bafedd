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


def _note_of(id: str, folder: Path) -> Path:
    [note] = [file for file in (folder / "notes").rglob("*.md") if id in file.read_text()]
    return note


async def _is_one_entry_everywhere(memory: Memory) -> str:
    """The id of the record of the key that every door shows."""
    got = await memory.kv.get("k")
    assert got is not None
    assert list(await memory.kv.list()) == [got]
    for top_k in (1, 2, 50):
        assert [match.entry for match in await memory.kv.search("the drink", top_k=top_k)] == [got]
    return got.id


def test_of_two_records_of_a_key_a_search_shows_the_one_that_a_get_gives(tmp_path: Path) -> None:
    async def story() -> None:
        async with _memory(tmp_path) as memory:
            await memory.kv.set("k", "the drink was tea", embed=True)
            await memory.kv.delete("k")
            kept = (await memory.kv.set("k", "the drink is coffee", embed=True)).id
            twin = memory.kv.owner.address("k", "begun by another process")
            note = _note_of(kept, tmp_path)
            said = note.read_text().replace(kept, twin).replace("coffee", "water")
            note.with_name("twin.md").write_text(said)
        async with _memory(tmp_path) as memory:
            assert await _is_one_entry_everywhere(memory) in (kept, twin)

    asyncio.run(story())


def test_what_comes_back_to_the_usual_place_of_a_key_counts_at_every_door(tmp_path: Path) -> None:
    async def story() -> None:
        async with _memory(tmp_path) as memory:
            first = await memory.kv.set("k", "the drink was tea", embed=True)
            note = _note_of(first.id, tmp_path)
            text = note.read_text()
            await memory.kv.delete("k")
            await memory.kv.set("k", "the drink is coffee", embed=True)
            note.write_text(text)
        async with _memory(tmp_path) as memory:
            assert await _is_one_entry_everywhere(memory) == first.id

    asyncio.run(story())
