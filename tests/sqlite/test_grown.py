"""A search index that grew with every change answers as one that was just read from the file."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorywire.client.memory import Memory
from memorywire.index import agent_index, postings
from memorywire.model.errors import Conflict
from memorywire.stores.sqlite import segments
from memorywire_testing.samples import WordEmbedder
from tests.sqlite.desk import run

THINGS = ("kettle", "boat", "garden", "lamp", "bicycle", "piano", "ladder")
QUESTIONS = ("blue kettle in the garden", "who painted the boat?", "piano 3")

OPERATIONS = ("remember", "remember", "supersede", "forget", "erase", "merge", "demote", "archive", "undo")


@pytest.fixture(autouse=True, scope="module")
def _small() -> Iterator[None]:
    """Few rows are many here: there are segments, tombstones and runs to merge."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, few in (
            (segments, "SEGMENT_ROWS", 6),
            (segments, "MIN_ROWS", 2),
            (agent_index, "_MAX_TOMBSTONES", 3),
            (agent_index, "SMALL_INDEX", 9),
            (postings, "_MAX_TAIL", 20),
        ):
            patch.setattr(module, name, few)
        yield


def _opened(folder: str) -> Memory:
    return Memory("a", [f"sqlite:///{Path(folder)}/m.db"], policy=None, embedder=WordEmbedder())


def _words(number: int) -> dict[str, Any]:
    thing, other = THINGS[number % 7], THINGS[number % 5]
    return {
        "content": f"the blue {thing} number {number} stands by the {other}, painted twice",
        "user_id": f"user {number % 2}",
        "session_id": f"s{number % 3}" if number % 4 else None,
        "confidence": 0.2 + 0.1 * (number % 8),
    }


async def _change(memory: Memory, operation: str, number: int) -> None:
    said = _words(number)
    user = said["user_id"]
    kept = [record.id for record in await memory.list(user_id=user, limit=100)]
    some = [kept[(number + at) % len(kept)] for at in range(min(3, len(kept)))]
    if operation == "remember" or len(some) < 3:
        await memory.remember(**said)
    elif operation == "supersede":
        await memory.remember(**said, supersedes=some[0])
    elif operation in ("forget", "erase"):
        await memory.forget(some[0], hard_delete=operation == "erase")
    elif operation == "merge":
        await memory.merge(some[0], some[1:], user_id=user)
    elif operation == "undo":
        [last] = await memory.changes(1)
        with suppress(Conflict):  # as what was erased
            await memory.undo(last.id)
    else:
        await memory.expire({"confidence_below": 0.3 + number / 100}, action=operation)


async def _answers(memory: Memory) -> list[Any]:
    asked = [(question, user) for question in QUESTIONS for user in (None, "user 1")]
    return [
        [
            (hit.id, hit.record.version, hit.score, hit.signals)
            for hit in await memory.recall(question, user_id=user, k=20, min_relevance="off", explain=True)
        ]
        for question, user in asked
    ]


@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 40), st.booleans()), min_size=8, max_size=16
    )
)
def test_every_change_of_whomever_leaves_the_index_as_the_file_has_it(
    changes: list[tuple[str, int, bool]],
) -> None:
    async def story(folder: str) -> None:
        async with _opened(folder) as memory, _opened(folder) as other:
            await memory.remember_many([_words(number) for number in range(41, 55)])
            for operation, number, mine in changes:
                await _change(memory if mine else other, operation, number)
                async with _opened(folder) as fresh:
                    just_read = await _answers(fresh)
                assert await _answers(memory) == just_read
            assert await _answers(other) == just_read

    with TemporaryDirectory() as folder:
        run(story(folder))
