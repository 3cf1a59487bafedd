"""A file can change its embedding space without losing a word, also in two sittings."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorywire import Memory
from memorywire.model.errors import NotFound, SpaceMismatch
from memorywire.model.space import Space
from memorywire.search.embed import open_embedder
from memorywire.stores.sqlite.reembed import reembed


class Mirrored:
    """Another space: the default embedder's vectors, backwards."""

    def __init__(self) -> None:
        self._inner = open_embedder("minilm")
        self.space: Space = replace(self._inner.space, revision="mirrored")
        self.embedded = 0

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.embedded += len(texts)
        straight = await self._inner.embed(texts)
        return [b"".join(v[i : i + 4] for i in range(len(v) - 4, -1, -4)) for v in straight]

    async def close(self) -> None:
        await self._inner.close()


def no_progress(done: int, total: int) -> None:
    """Nobody is watching."""


def url_of(folder: Path) -> str:
    return f"sqlite://{folder}/m.db"


async def fill(url: str) -> None:
    async with Memory("a", [url]) as memory:
        first = await memory.remember("Ana prefers green tea", id="tea")
        await memory.remember("The office is in Porto")
        await memory.remember("Ana prefers black tea", id="tea", if_version=first.version)


def test_after_it_the_file_opens_and_answers_in_the_new_space_only(tmp_path: Path) -> None:
    async def story() -> None:
        await fill(url_of(tmp_path))
        other = Mirrored()
        with pytest.raises(SpaceMismatch):
            await Memory("a", [url_of(tmp_path)], embedder=other).recall("tea")
        count = await reembed(url_of(tmp_path), space=other.space, embed=other.embed, on_progress=no_progress)
        async with Memory("a", [url_of(tmp_path)], embedder=other) as memory:
            found = await memory.recall("what does Ana like to drink?", explain=True)
            assert found.hits[0].content == "Ana prefers black tea"
            assert found.hits[0].signals["vector"] > 0.3
            assert len(await memory.history("tea")) == 2
        assert count == 3
        with pytest.raises(SpaceMismatch):
            await Memory("a", [url_of(tmp_path)]).recall("tea")

    asyncio.run(story())


def test_what_was_embedded_before_an_interruption_is_not_embedded_again(tmp_path: Path) -> None:
    async def story() -> None:
        await fill(url_of(tmp_path))
        other = Mirrored()

        def interrupted(done: int, total: int) -> None:
            if done == total:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await reembed(url_of(tmp_path), space=other.space, embed=other.embed, on_progress=interrupted)
        async with Memory("a", [url_of(tmp_path)]) as memory:
            assert len(await memory.recall("what does Ana drink?")) > 0
        await reembed(url_of(tmp_path), space=other.space, embed=other.embed, on_progress=no_progress)
        assert other.embedded == 3

    asyncio.run(story())


def test_the_same_space_is_nothing_to_do_and_no_file_is_a_problem(tmp_path: Path) -> None:
    async def story() -> None:
        embedder = open_embedder("minilm")
        with pytest.raises(NotFound):
            await reembed(
                url_of(tmp_path), space=embedder.space, embed=embedder.embed, on_progress=no_progress
            )
        assert not (tmp_path / "m.db").exists()
        await fill(url_of(tmp_path))
        done = await reembed(
            url_of(tmp_path), space=embedder.space, embed=embedder.embed, on_progress=no_progress
        )
        assert done == 0

    asyncio.run(story())
