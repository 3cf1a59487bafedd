"""A store changes its embedding space while it is read and written, and a kill in between loses nothing."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorywire import Memory
from memorywire.cli.reembed import find_reembed
from memorywire.model.change import Base, Change, Put
from memorywire.model.errors import SpaceMismatch
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.search.embed import Embedder
from memorywire.stores.registry import open_store
from tests.cli.shell import COMMAND, Shell
from tests.engine.quick import Quick
from tests.vendors.inside.speaking import DIMENSION, a_service

FACTS = 600  # more than two batches


class Mirrored(Quick):
    """Another space of the same dimension, in which everything is told the other way round."""

    space = replace(Quick.space, revision="mirrored")

    def __init__(self) -> None:
        self.embedded = 0
        self.held = asyncio.Event()  # nothing is embedded before somebody sets it
        self.held.set()

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        await self.held.wait()
        self.embedded += len(texts)
        straight = await super().embed(texts)
        return [b"".join(v[i : i + 4] for i in range(len(v) - 4, -1, -4)) for v in straight]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/memory.db"
    schema: str = request.getfixturevalue("schema")
    return schema


async def _filled(url: str, embedder: Embedder) -> None:
    """All facts by one change, which takes no time."""
    scope = Scope(agent="a")
    facts = [
        Record(
            id=f"{number:03}",
            scope=scope,
            type=MemoryType.SEMANTIC,
            content=f"fact {number} about tea",
            created_at=number,
            updated_at=number,
        )
        for number in range(FACTS)
    ]
    vectors = await embedder.embed([fact.meaning for fact in facts])
    puts = tuple(
        Put(record=fact, base=Base.NOTHING, vector=vector)
        for fact, vector in zip(facts, vectors, strict=True)
    )
    store = await open_store(url, space=embedder.space)
    await store.write(Change(id="all", operation="remember", scope=scope, at=FACTS, put=puts))
    await store.close()


async def _best(memory: Memory, text: str) -> tuple[object, float]:
    hit = (await memory.recall(text, min_relevance="off", explain=True)).hits[0]
    return hit.content, hit.signals["vector"]


def test_reads_and_writes_go_on_meanwhile_and_nothing_written_is_left_behind(url: str) -> None:
    async def story() -> None:
        await _filled(url, Quick())
        other = Mirrored()
        other.held.clear()
        async with Memory("a", [url], embedder=Quick()) as memory:
            working = asyncio.create_task(
                find_reembed(url)(space=other.space, embed=other.embed, on_progress=lambda *_: None)
            )
            asked = 0
            while not working.done():
                try:
                    said, near = await _best(memory, f"fact {asked} about tea")
                    await memory.remember(f"said meanwhile {asked}")
                except SpaceMismatch:
                    break
                assert (said, near) == (f"fact {asked} about tea", pytest.approx(1, abs=0.01))
                asked += 1
                if asked == 4:
                    other.held.set()
            await working
            for refused in (memory.recall("tea"), memory.remember("too late")):
                with pytest.raises(SpaceMismatch, match="was re-embedded"):
                    await refused
        async with Memory("a", [url], embedder=other) as memory:
            assert (await memory.list(limit=1)).total in (FACTS + asked, FACTS + asked + 1)
            for text in ("fact 7 about tea", "said meanwhile 0", f"said meanwhile {asked - 1}"):
                assert await _best(memory, text) == (text, pytest.approx(1, abs=0.01))

    asyncio.run(story())


def test_what_was_made_before_an_interruption_is_not_made_again_and_what_is_erased_leaves_no_vector(
    url: str,
) -> None:
    async def story() -> None:
        await _filled(url, Quick())
        other = Mirrored()

        def interrupted(done: int, total: int) -> None:
            if done:
                raise KeyError("enough for now")

        with pytest.raises(KeyError):
            await find_reembed(url)(space=other.space, embed=other.embed, on_progress=interrupted)
        assert 0 < other.embedded < FACTS
        async with Memory("a", [url], embedder=Quick()) as memory:
            every = [record.id for record in await memory.list(limit=1000)]
            await memory.forget(every[:2], hard_delete=True)
        done = await find_reembed(url)(space=other.space, embed=other.embed, on_progress=lambda *_: None)
        assert other.embedded <= FACTS
        assert done <= FACTS
        async with Memory("a", [url], embedder=other) as memory:
            assert (await memory.list(limit=1)).total == FACTS - 2
            assert await _best(memory, "fact 99 about tea") == (
                "fact 99 about tea",
                pytest.approx(1, abs=0.01),
            )

    asyncio.run(story())


def test_going_back_to_the_space_it_has_gives_up_what_was_begun(url: str) -> None:
    async def story() -> None:
        await _filled(url, Quick())
        other = Mirrored()

        def interrupted(done: int, total: int) -> None:
            if done:
                raise KeyError("enough for now")

        async def work(to: Embedder, hears: Callable[[int, int], None]) -> int:
            return await find_reembed(url)(space=to.space, embed=to.embed, on_progress=hears)

        with pytest.raises(KeyError):
            await work(other, interrupted)
        assert await work(Quick(), lambda done, total: None) == 0
        begun = other.embedded
        assert await work(other, lambda done, total: None) == FACTS
        assert other.embedded == begun + FACTS

    asyncio.run(story())


def test_a_dry_run_says_how_many_how_long_and_how_much_and_swaps_nothing(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "home")
    lines = "".join(f"fact number {number}\n" for number in range(300))
    assert shell("import-lines", "-", stdin=lines.encode()).code == 0
    with a_service() as embedder:
        to = f"openai+{embedder}?model=other&dimension={DIMENSION}"
        for left in (300 - 256, 0, 0):
            said = shell("reembed", "--to", to, "--dry-run", "--price", "1000", "--json").json["stores"][0]
            assert (said["versions"], said["left"]) == (300, left)
            assert (said["cost"] > 0) == (left > 0)
        assert shell("recall", "fact number 7").code == 0
        done = shell("reembed", "--to", to)
        assert (done.code, "300 versions have vectors of" in done.out) == (0, True)
        assert "300 versions, 0 left to embed" in done.err
        assert shell("recall", "fact number 7").code != 0
        assert shell("recall", "fact number 7", MEMORYWIRE_EMBEDDER=to).code == 0


def test_killed_it_goes_on_and_until_then_the_old_embedder_is_served(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "home")
    lines = "".join(f"fact number {number}\n" for number in range(FACTS))
    assert shell("import-lines", "-", stdin=lines.encode()).code == 0
    with a_service() as embedder:
        to = f"openai+{embedder}?model=other&dimension={DIMENSION}"
        half = subprocess.Popen(
            [*COMMAND, "reembed", "--to", to], env=shell.environment(), stderr=subprocess.PIPE
        )
        assert half.stderr is not None
        assert b"left to embed" in half.stderr.readline()  # the first batch is kept
        os.kill(half.pid, signal.SIGKILL)
        half.wait()
        half.stderr.close()
        assert json.loads(shell("recall", "fact number 7", "--json").out)["results"]
        done = shell("reembed", "--to", to, "--json")
        assert done.json["stores"][0]["reembedded"] == FACTS
        assert "344 left" in done.err or f"{FACTS - 512} left" in done.err or " 0 left" in done.err
        found = shell("recall", "fact number 7", "--json", MEMORYWIRE_EMBEDDER=to).json["results"]
        assert found[0]["content"] == "fact number 7"
