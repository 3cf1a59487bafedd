"""All entries whose keys begin alike, however many pages they fill."""

from memorywire.client.kv import KeyValue
from memorywire.model.kv import Entry

_PAGE = 1_000


async def entries_of(keys: KeyValue, prefix: str) -> list[Entry]:
    """All entries with this prefix, in the order of their keys."""
    entries: list[Entry] = []
    after: str | None = None
    while True:
        page = await keys.list(prefix, limit=_PAGE, after=after)
        entries.extend(page)
        if page.next is None:
            return entries
        after = page.next
