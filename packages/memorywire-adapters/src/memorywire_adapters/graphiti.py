"""Memories as facts in Graphiti's graph on Kuzu: `graphiti:///folder`, `graphiti://` in memory.

A memory is an edge from its user to its agent, in the agent's group. With `?llm=URL&model=NAME` Graphiti can
also extract facts from conversations; OPENAI_API_KEY holds the key of that service.
"""

import asyncio
import os
import uuid
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import apsw

from memorywire.model.capabilities import Feature
from memorywire.model.clock import Clock, system_clock
from memorywire.model.errors import CapabilityUnsupported, StoreBusy
from memorywire.model.query import Query
from memorywire.model.record import Json, Scope
from memorywire.model.space import Space
from memorywire_adapters.products import (
    Entry,
    ExtractingStore,
    Place,
    Ref,
    Seen,
    agent_label,
    direction,
    locate,
    need,
    user_label,
)

NAME = "graphiti"

_PAYLOAD = "memorywire"
_IN_MEMORY = ":memory:"
_NODES = uuid.UUID("6d656d6f-7279-5769-8265-000000000002")
_EVERY_COSINE = -2.0  # by default Graphiti drops hits with a cosine below 0.6
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Kuzu only marks deleted data; the bytes stay in its file.
_LACKS = frozenset({Feature.HARD_DELETE})


async def open_store(url: str, *, space: Space) -> ExtractingStore:
    """Open the store at this URL, creating it if it does not exist. Its vectors belong to `space`."""
    place = locate(url, options=frozenset({"llm", "model"}))
    if place.path is not None:
        place.path.mkdir(parents=True, exist_ok=True)
    # In a thread, because importing Graphiti takes seconds.
    product = await asyncio.to_thread(Graphiti, place, space)
    books = None if place.path is None else place.path / "memorywire.db"
    return await ExtractingStore.opened(product, space, books=books, lacks=_LACKS)


class Graphiti:
    """Stores Graphiti edges and nodes with our keys and vectors, without a language model."""

    name = NAME

    def __init__(self, place: Place, space: Space, clock: Clock = system_clock) -> None:
        self._options = place.options
        self._dimension = space.dimension
        self._clock = clock
        self._edges = self._module("edges").EntityEdge
        self._nodes = self._module("nodes").EntityNode
        self._search = self._module("search.search_utils").edge_similarity_search
        self._everything = self._module("search.search_filters").SearchFilters()
        self.errors: tuple[type[Exception], ...] = (
            RuntimeError,  # the only exception type that Kuzu raises
            self._module("errors").GraphitiError,
            need("openai", store=NAME, extra=NAME).OpenAIError,
        )
        self._known: set[str] = set()
        self._claim = None if place.path is None else _claim_folder(place.path)
        self._driver = self._graph(_IN_MEMORY if place.path is None else str(place.path / "graph.kuzu"))

    def _module(self, name: str) -> ModuleType:
        silence = {"GRAPHITI_TELEMETRY_ENABLED": "false", "EMBEDDING_DIM": str(self._dimension)}
        return need(f"graphiti_core.{name}", store=NAME, extra=NAME, silence=silence)

    def _graph(self, path: str) -> Any:
        """Open a Kuzu graph and create the indexes that this release of Graphiti does not create."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            driver = self._module("driver.kuzu_driver").KuzuDriver(path)
        driver._database = ""
        driver.clone = lambda database: driver
        connection = need("kuzu", store=NAME, extra=NAME).Connection(driver.db)
        connection.execute("INSTALL fts; LOAD EXTENSION fts;")
        if not connection.execute("CALL SHOW_INDEXES() RETURN *;").has_next():
            kind = self._module("driver.driver").GraphProvider.KUZU
            for statement in self._module("graph_queries").get_fulltext_indices(kind):
                connection.execute(statement)
        connection.close()
        return driver

    async def keep(self, entries: Sequence[Entry]) -> Sequence[str]:
        for entry in entries:
            await self._keep(entry)
        return [entry.key for entry in entries]

    async def _keep(self, entry: Entry) -> None:
        record = entry.record
        group = agent_label(record.scope)
        edge = self._edges(
            uuid=entry.key,
            group_id=group,
            source_node_uuid=await self._node(group, user_label(record.scope)),
            target_node_uuid=await self._node(group, group),
            created_at=_instant(record.created_at) or _EPOCH,
            name=record.type.value,
            fact=entry.text,
            fact_embedding=direction(entry.vector, self._dimension),
            valid_at=_instant(record.moment),
            invalid_at=None if record.expires_at is None else _instant(record.expires_at),
            # One string, because some of the graph databases behind Graphiti would round separate floats.
            attributes={_PAYLOAD: entry.payload},
        )
        await edge.save(self._driver)

    async def _node(self, group: str, name: str) -> str:
        """Return the id of the node for the user or agent in the agent's group, creating it if necessary."""
        id = _node_id(group, name)
        if id not in self._known:
            still = direction(None, self._dimension)
            node = self._nodes(uuid=id, group_id=group, name=name, created_at=_EPOCH, name_embedding=still)
            await node.save(self._driver)
            self._known.add(id)
        return id

    async def drop(self, refs: Sequence[Ref]) -> None:
        await self._edges.delete_by_uuids(self._driver, [ref.key for ref in refs])

    async def fetch(self, refs: Sequence[Ref]) -> Sequence[Seen]:
        return _build_entries(await self._edges.get_by_uuids(self._driver, [ref.key for ref in refs]))

    async def nearest(self, query: Query, limit: int) -> Sequence[Seen]:
        # Filter by the source node, which is the user: Graphiti silently ignores a filter by property.
        scope = query.where.scope
        group = agent_label(scope)
        user = None if scope.user is None else _node_id(group, user_label(scope))
        asked = direction(query.vector, self._dimension)
        results = await self._search(
            self._driver, asked, user, None, self._everything, [group], limit, _EVERY_COSINE
        )
        return _build_entries(results)

    async def extract(self, scope: Scope, messages: Sequence[Mapping[str, str]]) -> list[str]:
        """Return the facts that Graphiti extracts; it uses a temporary graph, so nothing is stored."""
        if "llm" not in self._options:
            raise CapabilityUnsupported(
                "Graphiti has no language model to read conversations",
                field="store",
                fix="add ?llm=URL&model=NAME to the URL of the store",
            )
        graph = await asyncio.to_thread(self._graph, _IN_MEMORY)
        reader = self._module("graphiti").Graphiti(
            graph_driver=graph,
            llm_client=self._speaker(),
            embedder=self._still("embedder.client", "EmbedderClient"),
            cross_encoder=self._still("cross_encoder.client", "CrossEncoderClient"),
        )
        results = await reader.add_episode(
            name="conversation",
            episode_body="\n".join(f"{message['role']}: {message['content']}" for message in messages),
            source_description="conversation",
            reference_time=_instant(self._clock()) or _EPOCH,
            group_id=agent_label(scope),
        )
        await asyncio.to_thread(_close, graph)
        return [str(edge.fact) for edge in results.edges]

    def _speaker(self) -> Any:
        config = self._module("llm_client.config").LLMConfig(
            api_key=os.environ.get("OPENAI_API_KEY", "none"),
            base_url=self._options["llm"],
            model=self._options.get("model"),
            small_model=self._options.get("model"),
        )
        return self._module("llm_client.openai_generic_client").OpenAIGenericClient(config=config)

    def _still(self, module: str, kind: str) -> Any:
        """Return an embedder or reranker that scores all texts equally, so that it filters nothing out."""
        vector = direction(None, self._dimension)

        async def create(_: Any, input_data: Any) -> list[float]:
            return vector

        async def create_batch(_: Any, input_data_list: Sequence[str]) -> list[list[float]]:
            return [vector for _ in input_data_list]

        async def rank(_: Any, query: str, passages: Sequence[str]) -> list[tuple[str, float]]:
            return [(passage, 1.0) for passage in passages]

        made = type(
            kind,
            (getattr(self._module(module), kind),),
            {f.__name__: f for f in (create, create_batch, rank)},
        )
        return made()

    async def health(self) -> Mapping[str, Json]:
        counted, _, _ = await self._driver.execute_query(
            "MATCH (e:RelatesToNode_) RETURN count(e) AS entries"
        )
        return {"ok": True, "graphiti": version("graphiti-core"), "entries": counted[0]["entries"]}

    async def close(self) -> None:
        await asyncio.to_thread(_close, self._driver)
        if self._claim is not None:
            self._claim.close()


def _claim_folder(folder: Path) -> apsw.Connection:
    """Lock the folder: Kuzu locks out other processes, but not a second store in this process."""
    claim = apsw.Connection(str(folder / "graph.lock"))
    try:
        claim.execute("BEGIN EXCLUSIVE")
    except apsw.BusyError as error:
        raise StoreBusy("this graph is open already", field="store", fix="close the other store") from error
    return claim


def _close(driver: Any) -> None:
    """Also close the database: Graphiti's `close` leaves that to the collector; the file stays locked."""
    driver.client.close()
    driver.db.close()


def _node_id(group: str, name: str) -> str:
    return str(uuid.uuid5(_NODES, f"{group}\0{name}"))


def _instant(moment: int) -> datetime | None:
    """Convert epoch milliseconds; None if out of range for datetime. The payload has the exact number."""
    try:
        return _EPOCH + timedelta(milliseconds=moment)
    except OverflowError:
        return None


def _build_entries(edges: Sequence[Any]) -> list[Seen]:
    """Return the entries of memorywire; others may keep facts in the same graph."""
    return [
        Seen(key=edge.uuid, payload=edge.attributes[_PAYLOAD])
        for edge in edges
        if _PAYLOAD in edge.attributes
    ]
