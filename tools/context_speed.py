"""Times `context` beside `recall` over the same memories, in turn, and prints the ratio of the medians.

    python tools/context_speed.py [MEMORIES] [ROUNDS]

One person has 200 facts, and turns of sessions up to the number of memories, in one SQLite file. Both calls
ask the same prompts, in turn. What is timed is the processor time of all threads, so that a busy machine
changes little.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
from pathlib import Path
from time import process_time

from memorywire import Memory
from memorywire_evals.assistant import data

USER = "someone"
FACTS = 200  # the notes of ten people, a quarter of them constraints; the rest are turns of sessions


def _build_item(text: str, place: int) -> dict[str, object]:
    item: dict[str, object] = {"content": f"{text} ({place})", "user_id": USER}
    if place < FACTS:
        return item
    return item | {"session_id": f"session-{place // 20}", "metadata": {"role": "user"}}


async def measure(count: int, rounds: int) -> None:
    """Fill a store with `count` memories and time both calls."""
    people = data.read_people("train")
    notes = [note.text for person in people for note in person.memories]
    prompts = [prompt.text for person in people for prompt in person.prompts]
    random.Random(1).shuffle(prompts)
    with tempfile.TemporaryDirectory() as folder:
        async with Memory("speed", [f"sqlite:///{Path(folder) / 'memory.db'}"]) as memory:
            items = [_build_item(notes[place % len(notes)], place) for place in range(count)]
            for start in range(0, count, 1000):
                await memory.remember_many(items[start : start + 1000])
            times: dict[str, list[float]] = {"recall": [], "context": []}
            for prompt in prompts[: rounds + 20]:
                start_at = process_time()
                await memory.recall(prompt, user_id=USER)
                middle = process_time()
                await memory.context(prompt, user_id=USER)
                times["recall"].append(middle - start_at)
                times["context"].append(process_time() - middle)
    recall, context = (statistics.median(times[name][20:]) * 1000 for name in ("recall", "context"))
    print(
        f"{count:,} memories: recall {recall:.2f} ms, context {context:.2f} ms, ratio {context / recall:.2f}"
    )


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:]]
    asyncio.run(measure(numbers[0] if numbers else 10_000, numbers[1] if len(numbers) > 1 else 300))
