"""Texts that are asked for at once are embedded together, and fail alone."""

import asyncio
import hashlib
from collections.abc import Sequence

import pytest

from memorywire.model.errors import EmbedderFailed
from memorywire.model.space import Space
from memorywire.search.embed.embedder import MOST_TEXTS, Together


class Slow:
    """An embedder that answers when it is let, and refuses what it is told to."""

    def __init__(self) -> None:
        self.space = Space(model="slow", revision="1", dimension=4)
        self.questions: list[list[str]] = []
        self.let = asyncio.Event()
        self.closed = 0

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.questions.append(list(texts))
        await self.let.wait()
        if "poison" in texts:
            raise EmbedderFailed("one of the texts is poison")
        return [vector(text) for text in texts]

    async def close(self) -> None:
        self.closed += 1


def vector(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


async def settled() -> None:
    """Every task has gone as far as it can."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_who_asks_alone_does_not_wait_for_company():
    async def main() -> None:
        inner = Slow()
        inner.let.set()
        together = Together(inner)
        assert together.space == inner.space
        assert await together.embed(["a", "b"]) == [vector("a"), vector("b")]
        assert await together.embed([]) == []
        assert inner.questions == [["a", "b"]]
        await together.close()
        assert inner.closed == 1

    asyncio.run(main())


def test_who_has_to_wait_is_asked_for_together_and_gets_its_own():
    async def main() -> None:
        inner = Slow()
        together = Together(inner, at_once=2)
        names = [f"text {number}" for number in range(20)]
        asked = [asyncio.create_task(together.embed([name, name.upper()])) for name in names]
        await settled()
        assert len(inner.questions) == 2
        inner.let.set()
        assert await asyncio.gather(*asked) == [[vector(name), vector(name.upper())] for name in names]
        assert len(inner.questions) == 3

    asyncio.run(main())


def test_company_stays_small_but_a_long_list_is_not_refused():
    async def main() -> None:
        inner = Slow()
        together = Together(inner, at_once=1)
        lists = [["first"], ["long"] * (MOST_TEXTS + 1), *([f"{number}"] * 40 for number in range(3))]
        asked = [asyncio.create_task(together.embed(texts)) for texts in lists]
        await settled()
        inner.let.set()
        assert [len(vectors) for vectors in await asyncio.gather(*asked)] == [len(texts) for texts in lists]
        assert [len(question) for question in inner.questions] == [1, MOST_TEXTS + 1, 40, 40, 40]

    asyncio.run(main())


def test_a_text_that_is_refused_concerns_nobody_else():
    async def main() -> None:
        inner = Slow()
        together = Together(inner, at_once=1)
        asked = [asyncio.create_task(together.embed([name])) for name in ("a", "b", "poison", "c")]
        await settled()
        inner.let.set()
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(outcomes.pop(2), EmbedderFailed)
        assert outcomes == [[vector("a")], [vector("b")], [vector("c")]]
        with pytest.raises(EmbedderFailed):
            await together.embed(["poison"])
        assert await together.embed(["after"]) == [vector("after")]

    asyncio.run(main())


def test_who_gives_up_takes_nobody_with_them():
    async def main() -> None:
        inner = Slow()
        together = Together(inner, at_once=1)
        names = ["a", "b", "c", "d"]
        asked = [asyncio.create_task(together.embed([name])) for name in names]
        await settled()
        asked[0].cancel()
        asked[2].cancel()
        await settled()
        inner.let.set()
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes[::2]] == [asyncio.CancelledError] * 2
        assert outcomes[1::2] == [[vector("b")], [vector("d")]]

    asyncio.run(main())
