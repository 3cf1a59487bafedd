"""A writer dies at every step of a change; who comes next finds all of it or none of it."""

import asyncio
from pathlib import Path

import pytest

from memorywire.model.change import Change
from memorywire.model.errors import StoreUnavailable
from memorywire.model.record import Record
from memorywire_adapters.markdown import MarkdownStore
from memorywire_adapters.markdown.folder import Folder
from memorywire_adapters.sidecar import OneThread, Sidecar, WriteLock
from memorywire_testing.samples import (
    SPACE,
    a_change,
    a_record,
    a_scope,
    beginning,
    ending,
    everything,
    keep,
    revising,
)
from tests.markdown.files import sheets, with_store


class Dying(Folder):
    """A folder on a disk that fails at the n-th thing it is told to write."""

    def __init__(self, root: Path, steps: int) -> None:
        super().__init__(root)
        self.steps = steps

    def _step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise OSError(5, "the disk is gone")

    def stage(self, content: bytes) -> str:
        self._step()
        return super().stage(content)

    def publish(self, places: dict[str, str]) -> None:
        for name, place in places.items():
            self._step()
            super().publish({name: place})

    def remove(self, places: list[str]) -> None:
        self._step()
        super().remove(places)


async def _written(folder: Dying, change: Change) -> bool:
    thread = OneThread("dying")
    books = await thread.do(lambda: Sidecar(folder.own / "books.db", SPACE))
    store = MarkdownStore(folder, books, WriteLock(folder.own / "turn"), thread, SPACE)
    try:
        await store.write(change)
    except StoreUnavailable:
        return False
    finally:
        await store.close()
    return True


def _three(folder: Path) -> list[Record]:
    scope = a_scope()
    kept = [a_record(scope, f"fact {number}", id=f"m{number}") for number in range(2)]
    with_store(folder, lambda store: keep(store, *kept))
    return [*kept, a_record(scope, "fact 2", id="m2")]


@pytest.mark.parametrize("steps", range(6))
def test_a_change_is_whole_or_not_at_all(steps: int, tmp_path: Path) -> None:
    first, second, third = _three(tmp_path)
    scope = first.scope
    put = revising(first, content="fact 0 again")
    change = a_change(scope, put, beginning(third), ending(second))
    done = asyncio.run(_written(Dying(tmp_path, steps), change))
    found = with_store(tmp_path, lambda store: store.find(everything(scope)))
    # Two files are staged, then the books commit, then the files are moved and one is removed.
    assert found == ([first, second] if steps < 2 else [put.record, third])
    assert done == (steps == 5)
    assert len(sheets(tmp_path)) == 2
    assert list((tmp_path / ".memorywire" / "staged").iterdir()) == []
    if steps >= 2:
        again = with_store(tmp_path, lambda store: store.write(change))
        assert again == with_store(tmp_path, lambda store: store.write(change))
