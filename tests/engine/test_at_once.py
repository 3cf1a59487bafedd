"""A short question about few memories is answered where it is asked, and keeps nobody from their turn."""

import asyncio
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from memorywire.client.memory import Memory
from memorywire.pipeline.candidates import BRIEF, QUICK
from memorywire.search.embed import open_embedder
from memorywire.stores.sqlite import SqliteStore

QUESTION = "where does Ben Olsen live?"
SOME = 20  # on a busy machine not every embedding is quick
FACTS = ["Ana Silva lives in Porto", "Ben Olsen lives in Bergen", "Ana Silva keeps bees"]


class Watched:
    """The default embedder on the thread of whoever asks; says whether that was the main one."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._inner = open_embedder("minilm")
        self._seconds = seconds
        self.space = self._inner.space
        self.here: list[bool] = []

    async def embed(self, texts):
        return await self._inner.embed(texts)

    def embed_here(self, texts):
        self.here.append(threading.current_thread() is threading.main_thread())
        time.sleep(self._seconds)
        return self._inner.embed_here(texts)

    async def close(self):
        await self._inner.close()


def filled(path: Path, embedder: Watched) -> Memory:
    return Memory("a", [f"sqlite:///{path}/m.db"], embedder=embedder)


async def answers(memory: Memory, *asked: tuple[str, dict[str, object]]) -> list[list[object]]:
    """What the questions find, asked after one that fills the shelf and loads the model."""
    for fact in FACTS:
        await memory.remember(fact)
    await memory.recall(QUESTION)
    return [[hit.content for hit in await memory.recall(text, **options)] for text, options in asked]


@pytest.mark.parametrize(
    ("text", "options", "here"),
    [
        (QUESTION, {}, True),
        (" ".join([QUESTION] * (1 + BRIEF // len(QUESTION))), {}, False),
        (QUESTION, {"as_of": 1}, False),
    ],
    ids=["a short question", "a longer question", "one about the past"],
)
def test_who_is_answered_at_once(tmp_path: Path, text: str, options: dict[str, object], here: bool):
    embedder = Watched()

    async def story() -> None:
        async with filled(tmp_path, embedder) as memory:
            await answers(memory, *[(text, options)] * SOME)

    asyncio.run(story())
    assert embedder.here[0] is False, "the first question fills the shelf, and others go on meanwhile"
    assert any(embedder.here) is here


def test_a_filter_that_reads_rows_is_not_searched_at_once_and_finds_the_same(tmp_path: Path):
    async def story() -> tuple[list[object], list[object], list[object]]:
        async with filled(tmp_path, Watched()) as memory:
            everything, some = {"confidence": {"gte": 0}}, {"confidence": {"gt": 1}}
            plain, all_, none = await answers(
                memory, (QUESTION, {}), (QUESTION, {"filter": everything}), (QUESTION, {"filter": some})
            )
            return plain, all_, none

    plain, all_, none = asyncio.run(story())
    assert plain == all_
    assert plain[0] == FACTS[1]
    assert none == []


def test_an_embedder_that_takes_long_does_not_hold_up_the_event_loop(tmp_path: Path):
    slow, quick = Watched(2 * QUICK), Watched()

    async def story(embedder: Watched, folder: Path) -> None:
        async with filled(folder, embedder) as memory:
            await answers(memory, *[(QUESTION, {})] * SOME)

    for embedder, name in ((slow, "slow"), (quick, "quick")):
        (tmp_path / name).mkdir()
        asyncio.run(story(embedder, tmp_path / name))
    assert not any(slow.here)
    assert any(quick.here)


def test_who_asks_again_and_again_lets_others_have_their_turn(tmp_path: Path):
    async def story() -> int:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async with filled(tmp_path, Watched()) as memory:
            await answers(memory)
            task = asyncio.create_task(other())
            for _ in range(50):
                await memory.recall(QUESTION)
            task.cancel()
            return turns

    assert asyncio.run(story()) > 1


def test_what_others_wrote_meanwhile_is_found_however_much_it_is(tmp_path: Path):
    async def story(count: int) -> list[object]:
        async with filled(tmp_path, Watched()) as memory, filled(tmp_path, Watched()) as other:
            await answers(memory)
            await other.remember_many([f"the locker number {at} is empty" for at in range(count)])
            await other.remember(f"Cora Diaz moved to Lima after {count} days")
            return [hit.content for hit in await memory.recall("where does Cora Diaz live?")]

    for count in (1, 100):
        assert f"Cora Diaz moved to Lima after {count} days" in asyncio.run(story(count))


def test_a_question_waits_on_a_thread_when_all_readers_are_taken(tmp_path: Path):
    async def story() -> tuple[bool, list[object]]:
        async with filled(tmp_path, Watched()) as memory:
            await answers(memory)
            store = (await memory._open()).context.store
            assert isinstance(store, SqliteStore)
            with ExitStack() as taken:
                for _ in range(len(store.file.readers)):
                    taken.enter_context(store.file.readers.borrow())
                asked = asyncio.create_task(memory.recall(QUESTION))
                await asyncio.sleep(0.01)
                waited = not asked.done()
            return waited, [hit.content for hit in await asked]

    waited, found = asyncio.run(story())
    assert waited
    assert found[0] == FACTS[1]


@pytest.mark.parametrize(
    ("kept", "question", "shown"),
    [
        (
            [{"content": f"Ana Silva lives in the {place} of Porto"} for place in ("north", "south", "east")],
            "where does Ana Silva live?",
            "Ana Silva lives in the east of Porto",
        ),
        (
            [
                {"content": "Ben Olsen lives in Bergen", "confidence": 0.3},
                {"content": "Ana Olsen lives in Porto"},
                {"content": "the cat is grey"},
                {"content": "trains to the coast are slow"},
            ],
            "where does Ben Olsen live?",
            "Ben Olsen lives in Bergen",
        ),
        (
            [
                {"content": "people live near rivers", "session_id": "s", "metadata": {"role": "user"}},
                {"content": "a nephew of Ana is tall"},
                {"content": "the weather was fine on the hill"},
            ],
            "where does my cousin live?",
            "a nephew of Ana is tall",
        ),
    ],
    ids=["facts alike", "a demoted fact that answers better", "a turn that says too little before a fact"],
)
def test_who_is_shown_is_the_same_however_many_were_looked_at(
    tmp_path: Path, kept: list[dict[str, object]], question: str, shown: str
):
    async def story() -> list[list[tuple[object, float]]]:
        async with filled(tmp_path, Watched()) as memory:
            for one in kept:
                await memory.remember(**one)
            await memory.expire({"confidence_below": 0.5}, action="demote")
            told = [await memory.recall(question, k=1, explain=bool(at % 2)) for at in range(SOME)]
            assert len(told[-1].near_misses or ()) == len(kept) - 1
            return [[(hit.content, hit.score) for hit in one] for one in told]

    answers = asyncio.run(story())
    assert [content for content, _ in answers[0]] == [shown]
    assert all(answer == answers[0] for answer in answers)


def test_a_small_user_of_a_large_agent_is_answered_at_once_and_sees_every_change(tmp_path: Path):
    crowd = [{"content": f"Ben counted {number} red boats", "user_id": "ben"} for number in range(1100)]
    embedder = Watched()

    async def story() -> None:
        async with filled(tmp_path, embedder) as memory:

            async def boats(user: str | None) -> list[list[object]]:
                embedder.here.clear()
                asked = [
                    await memory.recall(
                        "boats?", user_id=user, scope=None if user else "all", min_relevance="off"
                    )
                    for _ in range(SOME)
                ]
                return [[hit.content for hit in found] for found in asked]

            await memory.remember_many(crowd)
            for kept in (["Ana sold her boat"], ["Ana rowed boats", "Ana sold her boat"]):
                await memory.remember(kept[0], user_id="ana")
                assert [sorted(map(str, found)) for found in await boats("ana")] == [kept] * SOME
                assert any(embedder.here)
            for everybody in (None, "ben"):
                assert all(len(found) > len(kept) for found in await boats(everybody))
                assert not any(embedder.here)

    asyncio.run(story())
