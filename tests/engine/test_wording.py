"""How a question is embedded: what was embedded already is not embedded again, and the way is short."""

import asyncio
import threading
from pathlib import Path

import pytest

from memorywire.client.memory import Memory
from memorywire.search.embed import open_embedder


class Watched:
    """The default embedder; says what it was asked to embed by the way of another thread."""

    def __init__(self) -> None:
        self._inner = open_embedder("minilm")
        self.space = self._inner.space
        self.asked: list[str] = []

    async def embed(self, texts):
        self.asked += texts
        return await self._inner.embed(texts)

    async def close(self):
        await self._inner.close()


class Near(Watched):
    """Can embed on the thread of whoever asks, and says on which it did."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[str] = []

    def embed_here(self, texts):
        self.threads.append(threading.current_thread().name)
        return self._inner.embed_here(texts)


FACTS = ["Ana Silva lives in Porto", "Ben Olsen lives in Bergen", "Ana Silva keeps bees"]


async def asked(embedder: Watched, url: str, questions: list[str]) -> list[list[str]]:
    async with Memory("a", [url], embedder=embedder) as memory:
        for fact in FACTS:
            await memory.remember(fact)
        embedder.asked.clear()
        return [[hit.content for hit in await memory.recall(question)] for question in questions]


def test_the_same_question_about_somebody_else_is_embedded_once() -> None:
    embedder = Watched()
    questions = ["where does Ana Silva live?", "where does Ben Olsen live?", "what does Ana Silva keep?"]
    found = asyncio.run(asked(embedder, "memory://", questions))
    assert [hits[0] for hits in found] == FACTS
    assert embedder.asked == [
        questions[0],
        "where does live?",
        questions[1],
        questions[2],
        "what does keep?",
    ]


def test_a_rest_that_was_long_ago_is_embedded_again() -> None:
    embedder = Watched()
    others = [f"where does Ana Silva keep number {number}?" for number in range(256)]
    questions = ["where does Ana Silva live?", *others, "where does Ben Olsen live?"]
    asyncio.run(asked(embedder, "memory://", questions))
    assert embedder.asked.count("where does live?") == 2


@pytest.mark.parametrize(("times", "here"), [(1, True), (10, False)])
def test_a_short_question_is_embedded_where_it_is_searched(tmp_path: Path, times: int, here: bool) -> None:
    embedder = Near()
    question = " ".join(["where does Ben Olsen live?"] * times)
    [found] = asyncio.run(asked(embedder, f"sqlite:///{tmp_path}/m.db", [question]))
    assert found[0] == FACTS[1]
    assert bool(embedder.threads) is here
    assert threading.main_thread().name not in embedder.threads
    assert (question in embedder.asked) is not here
    assert [found] == asyncio.run(asked(Watched(), f"sqlite:///{tmp_path}/other.db", [question]))
