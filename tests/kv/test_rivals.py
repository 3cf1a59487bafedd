"""Many processes set one key at once, and each of them succeeds."""

import asyncio
from pathlib import Path

from memorywire import Memory

RIVALS, EACH = 24, 4


def test_everybody_who_sets_one_key_succeeds(tmp_path: Path) -> None:
    """Each memory has the file open by itself, as a process has, and sees nothing of the others' queues."""

    async def main() -> None:
        memories = [Memory(stores=f"sqlite://{tmp_path}/m.db", embedder="none") for _ in range(RIVALS)]
        for memory in memories:
            await memory.kv.list()  # so that all are open before the first sets

        async def set_often(number: int, memory: Memory) -> None:
            for turn in range(EACH):
                await memory.kv.set("counter", f"{number} {turn}")

        answers = await asyncio.gather(
            *(set_often(number, memory) for number, memory in enumerate(memories)), return_exceptions=True
        )
        assert [answer for answer in answers if answer is not None] == []
        entry = await memories[0].kv.get("counter")
        assert entry is not None
        assert entry.version == RIVALS * EACH
        for memory in memories:
            await memory.close()

    asyncio.run(main())
