"""A file that is replaced under an open store is noticed before anything more is written to it."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.model.errors import StoreUnavailable


def _replace(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


@pytest.mark.parametrize("change", [_replace, Path.unlink], ids=["replaced", "removed"])
def test_a_write_to_a_file_that_is_gone_is_refused(tmp_path: Path, change: Callable[[Path], object]) -> None:
    path = tmp_path / "m.db"

    async def main() -> None:
        async with Memory(stores=f"sqlite://{path}") as memory:
            await memory.remember("Ana drinks tea")
            change(path)
            with pytest.raises(StoreUnavailable, match="while it was open"):
                await memory.remember("Ana drinks coffee")
            await asyncio.sleep(1.1)
            with pytest.raises(StoreUnavailable, match="while it was open"):
                await memory.recall("What does Ana drink?")

    asyncio.run(main())
