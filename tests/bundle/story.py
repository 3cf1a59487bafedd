"""A memory with a past, and the ways to take it out of one store and into another."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from memorywire import Memory
from memorywire.migrate.bundle import Bundle, ExportOptions, export_bundle
from memorywire.migrate.bundle_lines import parse_line, seal_line
from memorywire.migrate.run_import import ImportRequest, import_memories
from memorywire.model.answers import Remembered
from memorywire.model.record import DEFAULT_TENANT, Json
from memorywire.pipeline.context import Context
from tests.engine.quick import Quick

A = TypeVar("A")


def on(
    url: str, story: Callable[[Memory, Context], Awaitable[A]], *, agent: str = "agent", policy: str = "open"
) -> A:
    """Run a story on the memory behind a URL."""

    async def run() -> A:
        async with Memory(agent, [url], policy=policy, embedder=Quick()) as memory:
            return await story(memory, (await memory._open()).context)

    return asyncio.run(run())


async def lived(memory: Memory, facts: int = 12) -> list[str]:
    """Remember, say anew, forget, undo, merge, erase: one of everything that leaves a trace."""
    items = [{"content": f"fact {n} about tea", "user_id": f"u{n % 2}", "tags": ["t"]} for n in range(facts)]
    kept = await memory.remember_many(items)
    ids = [receipt.id for receipt in kept if isinstance(receipt, Remembered)]
    await memory.remember("fact 0 said anew", id=ids[0], if_version=1, user_id="u0")
    gone = await memory.forget(ids[1:3], reason="too old")
    await memory.undo(str(gone.change_id))
    await memory.forget(ids[3])
    await memory.merge(ids[4], [ids[6]], strategy="merge_content", user_id="u0")
    await memory.forget(ids[5], hard_delete=True)
    return ids


async def export_to(path: Path, context: Context, **wanted: bool) -> Bundle:
    with path.open("wb") as file:
        return await export_bundle(file, context, ExportOptions(tenant=DEFAULT_TENANT, **wanted))


async def imported(path: Path, context: Context, **wish: object) -> dict[str, Json]:
    """Import a file that the operator vouches for, unless the wish says otherwise."""
    asked = replace(ImportRequest(path=path, agent="agent", trusted=True), **wish)
    return await import_memories(asked, context, lambda done, total: None)


def bundle_of(path: Path, url: str, facts: int = 12, **wanted: bool) -> list[str]:
    """Live a memory and write it down; the ids of its facts."""

    async def story(memory: Memory, context: Context) -> list[str]:
        ids = await lived(memory, facts)
        await export_to(path, context, **wanted)
        return ids

    return on(url, story)


def unsigned(path: Path) -> bytes:
    """The bundle without the line that signs it, which no other installation can write."""
    lines = path.read_bytes().splitlines(keepends=True)
    return b"".join(line for line in lines if b'"kind":"signature"' not in line)


def resealed(path: Path, edit: Callable[[list[dict[str, Json]]], object]) -> None:
    """Write the bundle as somebody with a program of their own would: every digest holds."""
    lines = [parse_line(line, number) for number, line in enumerate(unsigned(path).splitlines(), start=1)]
    *said, end = lines
    edit(said)
    body = b"".join(seal_line(line) for line in said)
    kinds = Counter(str(line.get("kind")) for line in said)
    kinds["put"] = sum(len(line.get("put", ())) for line in said)
    counts = {kind: count for kind, count in kinds.items() if count}
    path.write_bytes(body + seal_line(end | {"bundle": hashlib.sha256(body).hexdigest(), "counts": counts}))
