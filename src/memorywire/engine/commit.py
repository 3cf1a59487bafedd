"""The one corridor: a planned change is embedded outside any transaction, then committed whole."""

from dataclasses import replace

from memorywire.engine.tools import Tools
from memorywire.model.change import Change


async def commit(change: Change, tools: Tools) -> int:
    """Commit the change to the store; give the commit sequence."""
    return await tools.store.write(await with_vectors(change, tools))


async def with_vectors(change: Change, tools: Tools) -> Change:
    """The change with a vector on every put that neither brings nor copies one."""
    bare = [put for put in change.put if put.vector is None and put.like is None]
    if not bare:
        return change
    vectors = iter(await tools.embedder.embed([put.record.text for put in bare]))
    return replace(
        change,
        put=tuple(replace(put, vector=next(vectors)) if put in bare else put for put in change.put),
    )
