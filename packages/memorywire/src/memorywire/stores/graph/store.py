"""The SQLite store with edges between its memories."""

from collections.abc import Collection, Sequence

import apsw

from memorywire.model.capabilities import Feature
from memorywire.model.change import Change
from memorywire.model.edge import Edge, relate
from memorywire.model.record import Scope
from memorywire.stores.document import migrations
from memorywire.stores.graph.edges import (
    catch_up,
    has_edges,
    hash_names,
    is_current,
    read_edges,
    read_namesakes,
    remove_erased,
)
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.sqlite.apply import GroupResult
from memorywire.stores.sqlite.migrate import add_tables
from memorywire.stores.sqlite.writer import Work


class GraphStore(SqliteStore):
    """A SqliteStore whose changes update edges in the same transaction; implements SupportsEdges.

    Reads of the past have no edges. A read-only file has only the edges that are stored in it.
    """

    name = "graph"
    _has_edges = True

    @property
    def features(self) -> frozenset[Feature]:
        return super().features | {Feature.GRAPH}

    async def prepare(self) -> None:
        """Add the tables, and the edges of versions that were written without them."""
        if self.file.read_only:
            self._has_edges = await self.file.read(has_edges)
        else:
            await self.file.write(_prepare)

    def applying(self, change: Change) -> Work[int]:
        work = super().applying(change)

        def apply_and_link(db: apsw.Connection) -> int:
            sequence = work(db)
            catch_up(db)
            remove_erased(db, change.scope.tenant, change.erase)
            return sequence

        return apply_and_link

    def applying_each(self, changes: Sequence[Change]) -> Work[GroupResult] | None:
        work = super().applying_each(changes)
        if work is None:
            return None

        def apply_and_link(db: apsw.Connection) -> GroupResult:
            sequences = work(db)
            catch_up(db)
            return sequences

        return apply_and_link

    async def edges(self, scope: Scope, ids: Sequence[str], besides: Collection[str] = ()) -> list[Edge]:
        if not self._has_edges:
            return []
        current = [record.id for record in await self.get(scope, ids)]
        await self._catch_up()
        names = hash_names(set(besides))

        def read(db: apsw.Connection) -> list[Edge]:
            pairs = read_namesakes(db, scope, current, names)
            return sorted({*read_edges(db, scope, current), *(relate(*pair) for pair in pairs)})

        return await self.file.read(read)

    async def _catch_up(self) -> None:
        """Update the edges for the writes of processes that opened the file as plain SQLite."""
        if not self.file.read_only and not await self.file.read(is_current):
            await self.file.write(catch_up)


def _prepare(db: apsw.Connection) -> None:
    add_tables(db, "graph", migrations(__package__))
    catch_up(db)
