"""A Markdown store, opened for one piece of work, and its files as people see them."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from memorywire_adapters.markdown import MarkdownStore, open_store
from memorywire_testing.samples import SPACE

T = TypeVar("T")


def with_store(folder: Path, work: Callable[[MarkdownStore], Awaitable[T]]) -> T:
    """What the work gives on the store in this folder."""

    async def opened() -> T:
        store = await open_store(f"markdown://{folder}", space=SPACE)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(opened())


def sheets(folder: Path) -> list[Path]:
    return sorted((folder / "memories").rglob("*.md"))


def edit(file: Path, old: str, new: str) -> None:
    """As an editor does it."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
