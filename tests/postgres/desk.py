"""What the tests of this store share: naming a schema, opening a store, looking past it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg

from memorywire.model.space import Space
from memorywire_postgres.location import locate
from memorywire_postgres.store import EXACT, PostgresStore
from memorywire_testing.samples import SPACE

T = TypeVar("T")


@dataclass(frozen=True)
class Server:
    """A running server, by the URL of its superuser."""

    dsn: str

    def url(self, schema: str, **options: object) -> str:
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"{self.dsn}{'&' if '?' in self.dsn else '?'}schema={schema}{more}"


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@asynccontextmanager
async def opened(url: str, *, space: Space = SPACE, exact: int = EXACT) -> AsyncIterator[PostgresStore]:
    """A store at this URL, closed at the end."""
    store = await PostgresStore.opened(locate(url), space, exact=exact)
    try:
        yield store
    finally:
        await store.close()


def rows(url: str, sql: str, *bindings: Any, tenant: str = "default") -> list[Any]:
    """What a plain connection reads in the schema of a URL, past the store."""
    location = locate(url)
    with psycopg.connect(location.dsn) as db:
        db.execute(f"SET LOCAL search_path = {location.schema}, public")
        db.execute("SELECT set_config('memorywire.tenant', %s, true)", (tenant,))
        return db.execute(sql, bindings or None).fetchall()
