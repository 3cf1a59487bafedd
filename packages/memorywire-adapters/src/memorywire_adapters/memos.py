"""Memories in MemTensor's MemOS, in its general text memory: `memos:///folder`.

`memos://HOST:PORT/folder` keeps them in a Qdrant server; the folder then holds only the sidecar. With
`?llm=URL&model=NAME` MemOS can also extract facts from conversations; OPENAI_API_KEY is that service's key.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from memorywire.model.capabilities import Feature
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest, StoreBusy, StoreCorrupt
from memorywire.model.query import Query
from memorywire.model.record import Json, Scope
from memorywire.model.space import Space
from memorywire_adapters.products import (
    Entry,
    ExtractingStore,
    OneThread,
    Place,
    Ref,
    Seen,
    agent_label,
    direction,
    locate,
    need_quietly,
    user_label,
)
from memorywire_adapters.qdrant import overwrite_what_is_deleted

NAME = "memos"

_COLLECTION = "memorywire"
_PAYLOAD = "memorywire"
_AT_ONCE = 100
# An address without a server: MemOS builds a model and an embedder even if they are not used.
_NOWHERE = "http://127.0.0.1:9/v1"


async def open_store(url: str, *, space: Space) -> ExtractingStore:
    """Open the store at this URL, creating it if it does not exist. Its vectors belong to `space`."""
    place = locate(url, options=frozenset({"llm", "model"}))
    if place.path is None:
        raise InvalidRequest("the URL does not name a folder", field="store", fix="write memos:///folder")
    place.path.mkdir(parents=True, exist_ok=True)
    product = MemOS(place, place.path, space)
    erases = await product.open()
    lacks: frozenset[Feature] = frozenset() if erases else frozenset({Feature.HARD_DELETE})
    return await ExtractingStore.opened(product, space, books=place.path / "memorywire.db", lacks=lacks)


class MemOS:
    """MemOS's GeneralTextMemory, used from one thread: one collection, every search filtered by scope."""

    name = NAME

    def __init__(self, place: Place, folder: Path, space: Space) -> None:
        self.errors: tuple[type[Exception], ...] = (OSError,)
        self._place = place
        self._folder = folder
        self._dimension = space.dimension
        self._thread = OneThread(NAME)
        self._memory: Any = None

    async def open(self) -> bool:
        """Open MemOS; return whether deleted data is also overwritten in its files."""
        return await self._thread.do(self._open)

    def _open(self) -> bool:
        configs = _load("memos.configs.memory", self._folder)
        memories = _load("memos.memories.factory", self._folder)
        self._items = _load("memos.memories.textual.item", self._folder)
        refusal = _load("qdrant_client.http.exceptions", self._folder).ApiException
        self.errors = (OSError, refusal, _load("openai", self._folder).OpenAIError)
        # MemOS warns about features that a local Qdrant lacks, which are not used here.
        logging.getLogger(NAME).setLevel(logging.ERROR)
        made = configs.MemoryConfigFactory(backend="general_text", config=self._configuration())
        try:
            self._memory = memories.MemoryFactory.from_config(made)
        except RuntimeError as error:  # the local Qdrant raises this if its folder is locked
            raise StoreBusy(
                "another process has this folder open",
                field="store",
                fix="to share it between processes, use a Qdrant server",
            ) from error
        return overwrite_what_is_deleted(self._memory.vector_db.client)

    def _configuration(self) -> dict[str, Json]:
        options, host = self._place.options, self._place.host
        where = {"url": f"http://{host}"} if host else {"path": str(self._folder / "qdrant")}
        shape = {"collection_name": _COLLECTION, "vector_dimension": self._dimension}
        model = {
            "model_name_or_path": options.get("model", "none"),
            "api_key": os.environ.get("OPENAI_API_KEY", "none"),
        }
        speaker = {**model, "api_base": options.get("llm", _NOWHERE)}
        embedder = {**model, "provider": "openai", "base_url": _NOWHERE}
        return {
            "extractor_llm": {"backend": "openai", "config": speaker},
            "embedder": {"backend": "universal_api", "config": embedder},
            "vector_db": {"backend": "qdrant", "config": {**where, **shape, "distance_metric": "cosine"}},
        }

    async def keep(self, entries: Sequence[Entry]) -> Sequence[str]:
        for start in range(0, len(entries), _AT_ONCE):
            await self._keep([self._item(entry) for entry in entries[start : start + _AT_ONCE]])
        return [entry.key for entry in entries]

    async def _keep(self, items: Sequence[Mapping[str, Json]]) -> None:
        await self._do(lambda memory: memory.vector_db.add(items))

    def _item(self, entry: Entry) -> dict[str, Json]:
        """Return the item that MemOS itself would store, with our vector and payload."""
        record = entry.record
        metadata = {
            "user_id": user_label(record.scope),
            "agent_id": agent_label(record.scope),
            "session_id": record.session_id,
            "type": record.type.value,
            "confidence": 100 * record.confidence,  # MemOS uses 0 to 100
            "tags": list(record.tags),
            "version": record.version,
            _PAYLOAD: entry.payload,
        }
        item = self._items.TextualMemoryItem(id=entry.key, memory=entry.text, metadata=metadata)
        return {
            "id": entry.key,
            "vector": direction(entry.vector, self._dimension),
            "payload": item.model_dump(),
        }

    async def drop(self, refs: Sequence[Ref]) -> None:
        await self._do(lambda memory: memory.delete([ref.key for ref in refs]))

    async def fetch(self, refs: Sequence[Ref]) -> Sequence[Seen]:
        return _build_entries(
            await self._do(lambda memory: memory.vector_db.get_by_ids([ref.key for ref in refs]))
        )

    async def nearest(self, query: Query, limit: int) -> Sequence[Seen]:
        # `memory.search` has no filter and would return entries of other users.
        scope = query.where.scope
        mine = {"metadata.agent_id": agent_label(scope)}
        if scope.user is not None:
            mine["metadata.user_id"] = user_label(scope)
        asked = direction(query.vector, self._dimension)
        return _build_entries(
            await self._do(lambda memory: memory.vector_db.search(asked, limit, filter=mine))
        )

    async def extract(self, scope: Scope, messages: Sequence[Mapping[str, str]]) -> list[str]:
        if "llm" not in self._place.options:
            raise CapabilityUnsupported(
                "MemOS has no language model to read conversations",
                field="store",
                fix="add ?llm=URL&model=NAME to the URL of the store",
            )
        try:
            results = await self._do(lambda memory: memory.extract([dict(message) for message in messages]))
        except KeyError as error:
            raise StoreCorrupt(
                "the language model did not answer in the format that MemOS expects"
            ) from error
        return [str(one.memory) for one in results]

    async def health(self) -> Mapping[str, Json]:
        entries = await self._do(lambda memory: memory.vector_db.count())
        return {"ok": True, "memos": version("MemoryOS"), "entries": entries}

    async def close(self) -> None:
        await self._do(lambda memory: memory.vector_db.client.close())
        self._thread.end()

    async def _do(self, work: Callable[[Any], Any]) -> Any:
        return await self._thread.do(lambda: work(self._memory))


def _build_entries(items: Sequence[Any]) -> list[Seen]:
    """Return the entries of memorywire; others may keep memories in the same collection."""
    ours = [(item.id, item.payload["metadata"]) for item in items]
    return [Seen(key=key, payload=metadata[_PAYLOAD]) for key, metadata in ours if _PAYLOAD in metadata]


def _load(module: str, folder: Path) -> ModuleType:
    """Import a module of MemOS or of its dependencies."""
    return need_quietly(module, store=NAME, extra=NAME, silence={"MEMOS_BASE_PATH": str(folder)})
