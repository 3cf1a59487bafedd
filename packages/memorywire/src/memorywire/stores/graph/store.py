"""The embedded store with edges: what is linked to a good hit is worth more than by its own words."""

from collections.abc import Callable, Sequence

import apsw
from msgspec.structs import replace

from memorywire.model.change import Change
from memorywire.model.query import Enough, Query, Scored
from memorywire.model.record import DEMOTED_FACTOR, Scope, Standing
from memorywire.search.relevance import relevance, weight
from memorywire.search.text import name_words
from memorywire.stores.document import migrations
from memorywire.stores.graph.edges import (
    Edge,
    Kind,
    Node,
    catch_up,
    has_edges,
    hash_names,
    is_current,
    read_edges,
    read_namesakes,
    remove_erased,
    walk,
)
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.sqlite.apply import GroupResult
from memorywire.stores.sqlite.migrate import add_tables
from memorywire.stores.sqlite.writer import Work

SEEDS = 8
"""How many of the best hits lend evidence to what is linked to them."""

STRONG = 0.5
"""Only a hit of this relevance lends: what is linked to a poor hit is no answer either."""

_SURE = 1 - 1e-12
_DISTANCE = "graph"


class GraphStore(SqliteStore):
    """A SqliteStore whose changes also keep the edges, in the same transaction.

    A memory that is linked to one of the best hits has at least a share of that hit's evidence, less with
    every step; the signal `graph` tells how many there are. The past has no edges. A file that can only be
    read has the edges that were kept in it, if any were.
    """

    name = "graph"
    _has_edges = True

    async def prepare(self) -> None:
        """Add the tables, and the edges of what was written without them."""
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

    async def search_late(
        self,
        question: Query,
        ask: Callable[[], Query],
        limit: int,
        *,
        brief: bool = False,
        enough: Enough | None = None,
    ) -> list[Scored]:
        queries: list[Query] = []

        def ask_once() -> Query:
            queries.append(ask())
            return queries[-1]

        hits = await super().search_late(question, ask_once, max(limit, SEEDS), brief=brief)
        return await self._follow_links(queries[-1], hits, limit) if queries else hits[:limit]

    async def _follow_links(self, query: Query, hits: Sequence[Scored], limit: int) -> list[Scored]:
        """The best hits, after the best of them have lent evidence to what is linked to them."""
        seeds = {hit.record.id: weight(min(hit.score, _SURE)) for hit in hits[:SEEDS] if hit.score >= STRONG}
        if not seeds or query.where.as_of is not None or not self._has_edges:
            return list(hits[:limit])
        await self._catch_up()
        query_names = hash_names(set(name_words(query.text)))
        scope = query.where.scope
        nodes = await self.file.read(lambda db: walk(db, scope, seeds, query_names))
        near = {hit.record.id for hit in hits}
        records = await self.get(scope, [id for id in nodes if id not in near])
        far = [Scored(record=one, score=0.0, signals={}) for one in records if query.where.matches(one)]
        results = [_raise_score(hit, nodes.get(hit.record.id)) for hit in (*hits, *far)]
        return sorted(results, key=lambda hit: (-hit.score, hit.record.id))[:limit]

    async def edges(self, scope: Scope, ids: Sequence[str]) -> list[Edge]:
        """Every edge that begins or ends at one of these current memories, by source, kind and target.

        Two that share a name relate to each other, whichever of them is called the source.
        """
        if not self._has_edges:
            return []
        current = [record.id for record in await self.get(scope, ids)]
        await self._catch_up()

        def read(db: apsw.Connection) -> list[Edge]:
            pairs = (sorted(pair) for pair in read_namesakes(db, scope, current))
            name_edges = (Edge(source, Kind.RELATES_TO, target) for source, target in pairs)
            return sorted({*read_edges(db, scope, current), *name_edges})

        return await self.file.read(read)

    async def _catch_up(self) -> None:
        """Catch up with writers that opened the file as plain SQLite."""
        if not self.file.read_only and not await self.file.read(is_current):
            await self.file.write(catch_up)


def _prepare(db: apsw.Connection) -> None:
    add_tables(db, "graph", migrations(__package__))
    catch_up(db)


def _raise_score(hit: Scored, node: Node | None) -> Scored:
    if node is None:
        return hit
    worth = relevance(node.worth) * (DEMOTED_FACTOR if hit.record.standing is Standing.DEMOTED else 1.0)
    if worth <= hit.score:
        return hit
    return replace(hit, score=worth, signals={**hit.signals, _DISTANCE: float(node.distance)})
