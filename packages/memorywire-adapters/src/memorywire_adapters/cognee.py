"""Memories as documents in Cognee, the open source package: `cognee:///folder`.

Each user of an agent has a separate dataset. Cognee's pipeline splits and indexes the documents and adds them
to its graph, but with memorywire's vectors and without a language model.
"""

import asyncio
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

from memorywire.model.capabilities import Feature
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest, StoreUnavailable
from memorywire.model.query import Query
from memorywire.model.record import Json, Scope
from memorywire.model.space import Space
from memorywire_adapters.products import (
    Entry,
    Ref,
    Seen,
    VendorStore,
    agent_label,
    direction,
    locate,
    need_quietly,
    user_label,
)

NAME = "cognee"

_PAYLOAD = "memorywire"
_PIPELINE = "memorywire"
_WHOLE = 1_000_000_000  # a chunk size in tokens so large that a document stays one chunk
_NOWHERE = "http://127.0.0.1:9/v1"
_ACCESS_CONTROL = "ENABLE_BACKEND_ACCESS_CONTROL"
_FOLDER = "SYSTEM_ROOT_DIRECTORY"
# Its vector and graph databases only mark deleted data; the bytes stay in their files.
_LACKS = frozenset({Feature.HARD_DELETE})

# The vectors of the texts being stored or searched; `_Dictated` returns them when Cognee embeds.
_told: ContextVar[Mapping[str, list[float]]] = ContextVar("told")


async def open_store(url: str, *, space: Space) -> VendorStore:
    """Open the store at this URL, creating it if it does not exist. Its vectors belong to `space`."""
    place = locate(url)
    if place.path is None:
        raise InvalidRequest("the URL does not name a folder", field="store", fix="write cognee:///folder")
    _refuse_what_leaks(place.path)
    place.path.mkdir(parents=True, exist_ok=True)
    # In a thread, because importing Cognee takes seconds.
    product = await asyncio.to_thread(Cognee, place.path, space)
    return await VendorStore.opened(product, space, books=place.path / "memorywire.db", lacks=_LACKS)


def _refuse_what_leaks(folder: Path) -> None:
    if os.environ.get(_ACCESS_CONTROL, "true").lower() == "false":
        raise CapabilityUnsupported(
            "without access control, Cognee searches the datasets of all users",
            field="store",
            fix=f"unset {_ACCESS_CONTROL}",
        )
    if NAME in sys.modules and os.environ.get(_FOLDER) != str(folder / "system"):
        raise CapabilityUnsupported(
            "Cognee uses one folder per process, and another folder is open",
            field="store",
            fix="open this folder in a separate process",
        )


class Cognee:
    """Calls Cognee's functions; each document has our key as its id."""

    name = NAME

    def __init__(self, folder: Path, space: Space) -> None:
        self._settings = _settings(folder, space)
        self._dimension = space.dimension
        self._cognee = self._module("")
        failed = self._module(".exceptions").CogneeApiError
        self._missing = self._module(".modules.data.exceptions").DatasetNotFoundError
        self.errors: tuple[type[Exception], ...] = (failed, OSError, RuntimeError, ValueError)
        self._use_our_vectors()

    def _module(self, name: str) -> ModuleType:
        return need_quietly(f"{NAME}{name}", store=NAME, extra=NAME, silence=self._settings)

    def _use_our_vectors(self) -> None:
        embeddings = ".infrastructure.databases.vector.embeddings"
        answer = self._module(f"{embeddings}.EmbeddingEngine").EmbeddingResult
        making = self._module(f"{embeddings}.get_embedding_engine")
        # The package exports a function with the same name as its module.
        maker = sys.modules[f"{NAME}{embeddings}.get_embedding_engine"] if callable(making) else making
        engine = _Dictated(self._dimension, answer)
        maker.__dict__["create_embedding_engine"] = lambda *_: engine

    async def keep(self, entries: Sequence[Entry]) -> Sequence[str]:
        item = self._module(".tasks.ingestion.data_item").DataItem
        in_order = sorted(entries, key=lambda entry: _dataset(entry.record.scope))
        for dataset, some in groupby(in_order, key=lambda entry: _dataset(entry.record.scope)):
            mine = list(some)
            _tell((entry.text, direction(entry.vector, self._dimension)) for entry in mine)
            documents = [
                # `literal_text`, because Cognee would fetch and read a memory that is a URL or a path.
                item(
                    data=entry.text,
                    data_id=UUID(entry.key),
                    external_metadata={_PAYLOAD: entry.payload},
                    literal_text=True,
                )
                for entry in mine
            ]
            await self._cognee.add(documents, dataset_name=dataset)
            await self._index(dataset)
        return [entry.key for entry in entries]

    async def _index(self, dataset: str) -> None:
        task = self._module(".modules.pipelines.tasks.task").Task
        documents = self._module(".tasks.documents")
        cut = self._module(".modules.chunking.TextChunker").TextChunker
        add = self._module(".tasks.storage").add_data_points
        runs = await self._cognee.run_custom_pipeline(
            tasks=[
                task(documents.classify_documents, needs_llm=False),
                task(
                    documents.extract_chunks_from_documents,
                    max_chunk_size=_WHOLE,
                    chunker=cut,
                    needs_llm=False,
                ),
                task(add, task_config={"batch_size": 100}, needs_llm=False),
            ],
            dataset=dataset,
            pipeline_name=_PIPELINE,
            incremental_loading=True,
        )
        if "Errored" in str(runs):
            raise StoreUnavailable("Cognee could not index the data", fix="see its log, then retry")

    async def drop(self, refs: Sequence[Ref]) -> None:
        for ref in refs:
            try:
                await self._cognee.forget(data_id=UUID(ref.key), dataset=_dataset(ref.scope))
            except self._missing:
                continue  # its dataset was deleted

    async def fetch(self, refs: Sequence[Ref]) -> Sequence[Seen]:
        data = self._module(".modules.data.models").Data
        select = need_quietly("sqlalchemy", store=NAME, extra=NAME, silence={}).select
        request = select(data).where(data.id.in_([UUID(ref.key) for ref in refs]))
        database = self._module(".infrastructure.databases.relational").get_relational_engine()
        async with database.get_async_session() as session:
            rows = (await session.execute(request)).scalars().all()
        return [Seen(key=str(row.id), payload=row.external_metadata[_PAYLOAD]) for row in rows]

    async def nearest(self, query: Query, limit: int) -> Sequence[Seen]:
        if not query.text.strip():
            return []  # Cognee searches by text only
        datasets = await self._datasets(query.where.scope)
        if not datasets:
            return []
        _tell([(query.text, direction(query.vector, self._dimension))])
        results = await self._cognee.search(
            query.text, query_type=self._cognee.SearchType.CHUNKS, datasets=datasets, top_k=limit
        )
        return [seen for one in results for seen in _build_entries(one["search_result"])]

    async def _datasets(self, scope: Scope) -> list[str]:
        """Return the existing dataset of the user, or those of all users of the agent."""
        names = [str(one.name) for one in await self._cognee.datasets.list_datasets()]
        if scope.user is not None:
            return [name for name in names if name == _dataset(scope)]
        return [name for name in names if name.startswith(f"{agent_label(scope)}__")]

    async def health(self) -> Mapping[str, Json]:
        datasets = await self._cognee.datasets.list_datasets()
        return {"ok": True, "cognee": str(self._cognee.__version__), "datasets": len(datasets)}

    async def close(self) -> None:
        """Do nothing: Cognee's databases belong to the process and close with it."""


class _Dictated:
    """An embedding engine that returns vectors computed before Cognee was called."""

    model = provider = "memorywire"
    max_completion_tokens = _WHOLE

    def __init__(self, dimension: int, answer: Any) -> None:
        self.dimensions = dimension
        self.tokenizer = self
        self._answer = answer

    async def embed_text(self, text: Sequence[str]) -> Any:
        told, still = _told.get({}), direction(None, self.dimensions)
        return self._answer([told.get(_plain(one), still) for one in text], tokens=len(text))

    def get_vector_size(self) -> int:
        return self.dimensions

    def get_batch_size(self) -> int:
        return 100

    async def input_limit(self) -> None:
        """Do nothing: there is no limit."""

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def _settings(folder: Path, space: Space) -> dict[str, str]:
    """Return the environment variables that Cognee reads when it is imported."""
    # litellm ships the tokenizers, which would otherwise be downloaded.
    tokenizers = find_spec("litellm")
    brought = Path(str(tokenizers and tokenizers.origin)).parent / "litellm_core_utils" / "tokenizers"
    unused = {"PROVIDER": "openai", "ENDPOINT": _NOWHERE, "API_KEY": "none"}
    return {
        **{f"LLM_{name}": value for name, value in unused.items()},
        "LLM_MODEL": "openai/gpt-4o-mini",
        **{f"EMBEDDING_{name}": value for name, value in unused.items()},
        "EMBEDDING_MODEL": "text-embedding-3-small",
        "EMBEDDING_DIMENSIONS": str(space.dimension),
        # Each dataset has separate databases, and each of them would start a subprocess.
        "GRAPH_DATABASE_SUBPROCESS_ENABLED": "false",
        "VECTOR_DB_SUBPROCESS_ENABLED": "false",
        "TELEMETRY_DISABLED": "1",
        "LOG_LEVEL": "ERROR",
        "COGNEE_LOGS_DIR": str(folder / "logs"),
        "TIKTOKEN_CACHE_DIR": str(brought),
        _FOLDER: str(folder / "system"),
        "DATA_ROOT_DIRECTORY": str(folder / "data"),
        "CACHE_ROOT_DIRECTORY": str(folder / "cache"),
    }


def _dataset(scope: Scope) -> str:
    return f"{agent_label(scope)}__{user_label(scope)}"


def _tell(vectors: Iterable[tuple[str, list[float]]]) -> None:
    _told.set({_plain(text): vector for text, vector in vectors})


def _plain(text: str) -> str:
    """Normalise white space, because Cognee changes it when it joins the chunks of a text."""
    return " ".join(text.split())


def _build_entries(hits: Sequence[Mapping[str, Json]]) -> list[Seen]:
    """Return the entries of memorywire; others may keep documents in the same dataset."""
    ours = [(hit["document_id"], json.loads(hit["external_metadata"] or "{}")) for hit in hits]
    return [Seen(key=key, payload=metadata[_PAYLOAD]) for key, metadata in ours if _PAYLOAD in metadata]
