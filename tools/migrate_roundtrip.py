"""Import, export_bundle, import, export: are the bytes the same, how long did it take, and who took the time?

    python tools/migrate_roundtrip.py [MEMORIES] [minilm|made-up]

Memories are made with a fixed seed: several agents and users, later versions, some forgotten again. They are
imported into a SQLite file under the shipped policy, with a ledger: with the default embedder, which gives
the share of everything else, or with vectors that are made up in no time.
"""

import asyncio
import hashlib
import json
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from memorywire.app import Governance, open_container
from memorywire.migrate.apply import ApplyOptions, ApplyResult, apply_changes
from memorywire.migrate.bundle import ExportOptions, export_bundle, read_bundle_changes, validate_bundle
from memorywire.migrate.run_import import read_in_thread
from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.clock import system_clock
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.pipeline.context import Context
from memorywire.search.embed import Embedder, open_embedder

_SEED = 20_261_115
_START = 1_700_000_000_000
_WORDS = (
    "Ana Ben Chloe tea coffee Lisbon Porto meeting server database prefers moved deployed reviewed friday"
    " invoice garden bicycle train concert allergy peanuts budget contract staging release rollback calendar"
).split()


class MadeUp:
    """Vectors of the default embedder's space that mean nothing: the same words give the same one."""

    def __init__(self) -> None:
        self.space = open_embedder("minilm", api_key=None).space

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        vector = np.random.default_rng(seed).standard_normal(self.space.dimension, "f4")
        made: bytes = (vector / np.linalg.norm(vector)).tobytes()
        return made

    async def close(self) -> None:
        """There is nothing to close."""


class Timed:
    """An embedder that knows how long it worked."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.space = inner.space
        self.seconds = 0.0

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        began = time.perf_counter()
        made = await self._inner.embed(texts)
        self.seconds += time.perf_counter() - began
        return made

    async def close(self) -> None:
        await self._inner.close()


def made_up(memories: int) -> Iterator[Change]:
    """Changes as an agent makes them: most remember, some say it anew, some forget."""
    dice = random.Random(_SEED)
    for number in range(memories):
        scope = Scope(agent=f"agent-{number % 4}", user=f"user-{number % 10}" if number % 3 else None)
        at = _START + number * 1000
        record = Record(
            id=f"{number:08d}",
            scope=scope,
            type=MemoryType.EPISODIC if number % 5 == 0 else MemoryType.SEMANTIC,
            content=f"{' '.join(dice.choices(_WORDS, k=12))} {number}",
            created_at=at,
            updated_at=at,
            tags=("made-up",),
            metadata={"number": number, "share": number / 7},
            confidence=round(dice.random(), 3),
        )
        yield Change(
            id=f"r{number}",
            operation="remember",
            scope=scope,
            at=at,
            put=(Put(record=record, base=Base.NOTHING),),
        )
        if number % 20 == 0:
            anew = replace(record, content=f"{record.content} anew", version=2, updated_at=at + 5)
            put = Put(record=anew, base=Base.LIVE)
            yield Change(id=f"a{number}", operation="remember", scope=scope, at=at + 5, put=(put,))
        if number % 50 == 1:
            gone = End(id=record.id, version=1, reason=EndReason.FORGOTTEN)
            yield Change(id=f"f{number}", operation="forget", scope=scope, at=at + 9, end=(gone,))


async def landed(changes: AsyncIterator[Change], tools: Context, batch: str) -> ApplyResult:
    return await apply_changes(changes, tools, ApplyOptions(tenant="default", batch=batch))


async def written(path: Path, tools: Context) -> str:
    with path.open("wb") as file:
        return (await export_bundle(file, tools, ExportOptions(tenant="default", vectors=True))).digest


async def run(memories: int, folder: Path, made_up_vectors: bool) -> dict[str, object]:
    embedder = Timed(MadeUp() if made_up_vectors else open_embedder("minilm", api_key=None))
    first = await open_container(
        stores=(f"sqlite:///{folder}/first.db",),
        embedder=embedder,
        embedder_key=None,
        clock=system_clock,
        governance=Governance(),
    )
    began = time.perf_counter()
    came = await landed(read_in_thread(made_up(memories)), first.tools, "first")
    took, embedding = time.perf_counter() - began, embedder.seconds
    began = time.perf_counter()
    digest = await written(folder / "first.jsonl", first.tools)
    exporting = time.perf_counter() - began
    await first.close()
    began = time.perf_counter()
    validate_bundle(folder / "first.jsonl")
    examining = time.perf_counter() - began
    second = await open_container(
        stores=(f"sqlite:///{folder}/second.db",),
        embedder="minilm",
        embedder_key=None,
        clock=system_clock,
        governance=Governance(),
    )
    began = time.perf_counter()
    again = await landed(
        read_in_thread(read_bundle_changes(folder / "first.jsonl", "default")), second.tools, "second"
    )
    importing = time.perf_counter() - began
    same = digest == await written(folder / "second.jsonl", second.tools)
    await second.close()
    return {
        "memories": came.memories,
        "changes": came.changes,
        "held": came.held,
        "problems": len(came.problems) + len(again.problems),
        "import_seconds": round(took, 1),
        "embedding_seconds": round(embedding, 1),
        "share_without_embedder": round(1 - embedding / took, 3),
        "export_seconds": round(exporting, 1),
        "examine_seconds": round(examining, 1),
        "import_with_vectors_seconds": round(importing, 1),
        "identical": same and (folder / "first.jsonl").read_bytes() == (folder / "second.jsonl").read_bytes(),
        "bundle_bytes": (folder / "first.jsonl").stat().st_size,
    }


if __name__ == "__main__":
    count = next((one for one in sys.argv[1:] if one.isdigit()), "100000")
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(asyncio.run(run(int(count), Path(scratch), "made-up" in sys.argv)), indent=2))
