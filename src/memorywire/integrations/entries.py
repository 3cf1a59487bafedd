"""All entries whose keys begin alike, however many pages they fill."""

from memorywire.facades.memory import Memory
from memorywire.model.kv import Entry

_PAGE = 1_000


async def every_entry(memory: Memory, prefix: str) -> list[Entry]:
    """All entries with this prefix, in the order of their keys."""
    found: list[Entry] = []
    after: str | None = None
    while True:
        page = await memory.kv.list(prefix, limit=_PAGE, after=after)
        found.extend(page)
        if page.next is None:
            return found
        after = page.next
