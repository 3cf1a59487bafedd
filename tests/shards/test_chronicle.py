"""The past of agents on two shards leaves them in one bundle, and comes in elsewhere as it was."""

import asyncio
from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.pipeline.context import Context
from tests.bundle.story import export_to, imported, lived, on, unsigned
from tests.engine.quick import Quick
from tests.shards.spread import spread


def test_agents_of_two_shards_leave_in_one_bundle_with_their_past(
    urls: tuple[str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYWIRE_HOME", str(tmp_path / "home"))
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"

    async def story() -> None:
        await spread(*urls)
        for agent in ("ana", "ben", "chloe"):
            async with Memory(agent, [f"shards+{urls[0]}"], policy="open", embedder=Quick()) as memory:
                await lived(memory, 9)
                bundle = await export_to(one, (await memory._open()).context, vectors=True)
        assert bundle.manifest["history"] is True
        assert bundle.manifest["agents"] == ["ana", "ben", "chloe"]

    async def elsewhere(memory: Memory, context: Context) -> None:
        assert (await imported(one, context))["problems"] == []
        await export_to(other, context, vectors=True)

    asyncio.run(story())
    on("sqlite://", elsewhere)
    assert unsigned(one) == unsigned(other)
