"""What every product with files has to show: an erased memory's words are in none of them."""

from pathlib import Path

from memorywire.stores.registry import open_store
from memorywire_testing.samples import (
    SPACE,
    a_change,
    a_query,
    a_record,
    a_scope,
    a_vector,
    end,
    ids,
    keep,
)


def holding(folder: Path, words: str) -> list[str]:
    """The files in which these words can be read."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if words.lower().encode() in path.read_bytes().lower()]


def names(folder: Path) -> list[str]:
    """Of everything in the folder."""
    return sorted(path.name for path in folder.rglob("*"))


async def leaves_every_file(url: str, folder: Path) -> None:
    """A memory that is live and one that was forgotten are erased; their neighbour stays."""
    scope = a_scope(user="ana")
    live, ended, other = (
        a_record(scope, f"{name} flies at dawn") for name in ("archaeopteryx", "quetzal", "pelican")
    )
    store = await open_store(url, space=SPACE)
    await keep(store, live, ended, other, vector=a_vector(1))
    await end(store, ended)
    await store.close()
    assert holding(folder, "archaeopteryx")
    store = await open_store(url, space=SPACE)
    await store.write(a_change(scope, erase=(live.id, ended.id)))
    assert (holding(folder, "archaeopteryx"), holding(folder, "quetzal")) == ([], [])
    assert ids(await store.search(a_query(scope, "dawn", a_vector(1)), 9)) == [other.id]
    assert (await store.health())["to_remove"] == 0
    await store.close()
    assert (holding(folder, "archaeopteryx"), holding(folder, "quetzal")) == ([], [])
    assert holding(folder, "pelican")
