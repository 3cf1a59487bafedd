"""Memory of CrewAI: `Crew(..., memory=MemorywireMemory(memory))`, also of an agent or a flow."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from crewai.memory.types import MemoryMatch, MemoryRecord
from crewai.memory.unified_memory import Memory
from pydantic import PrivateAttr

from memorywire.client.sync import Memory as BlockingMemory
from memorywire.model.errors import CapabilityUnsupported, MemorywireError
from memorywire.model.record import Json
from memorywire_frameworks.calling import CONTEXT_TOKENS

_MOST = 100


class MemorywireMemory(Memory):
    """A crew's memory that needs neither a model nor an embedder of CrewAI.

    CrewAI recalls before each task: first the memories relevant to a good answer, within `budget` tokens,
    then the best matches. The tools of a crew search and save. Task results are stored only with an `llm=`,
    which extracts facts from them. Scopes and categories are stored as tags, and do not restrict recalls.
    """

    budget: int = CONTEXT_TOKENS
    _own: BlockingMemory = PrivateAttr()

    def __init__(self, memory: BlockingMemory, **options: Any) -> None:
        """`options` are the fields of a memory of CrewAI."""
        super().__init__(storage=_Refusing(), **options)
        self._own = memory

    def remember(
        self,
        content: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> MemoryRecord | None:
        """Store one fact; return None if the memory is read-only, or the error as the record's content."""
        if self.read_only:
            return None
        tags = [*(categories or ()), *(["scope:" + scope] if scope else [])]
        try:
            receipt = self._own.remember(content, tags=tags, metadata=metadata or {})
        except MemorywireError as problem:
            return MemoryRecord(content=f"Not kept: {problem.detail}. {problem.fix or ''}".strip())
        return MemoryRecord(id=receipt.id, content=content, scope=scope or "/", categories=categories or [])

    def remember_many(self, contents: list[str], *args: Any, **options: Any) -> list[MemoryRecord]:
        """Store each of them."""
        records = [self.remember(content, *args, **options) for content in contents]
        return [record for record in records if record is not None]

    def extract_memories(self, content: str) -> list[str]:
        """Return the facts in the result of a task, extracted by the model of `llm=`; none without one."""
        extracted: list[str] = super().extract_memories(content) if "llm" in self.model_fields_set else []
        return extracted

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """Return the memories relevant to the query, then its best matches."""
        matches: dict[str, MemoryMatch] = {}
        if self.budget > 0:
            for line in self._own.context(query, budget=self.budget).lines:
                matches[line.id] = _match(line.id, line.content, line.score, None)
        for hit in self._own.recall(query, k=max(1, min(limit, _MOST))).hits:
            matches.setdefault(hit.id, _match(hit.id, hit.text, hit.score, hit.record.created_at))
        return list(matches.values())[:limit]

    def forget(
        self,
        scope: str | None = None,
        categories: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
        record_ids: list[str] | None = None,
    ) -> int:
        """Forget by id; return the number of forgotten memories."""
        if not record_ids:
            raise CapabilityUnsupported("a crew forgets by id only", field="record_ids")
        return len(self._own.forget(record_ids).forgotten_ids)

    def reset(self, scope: str | None = None) -> None:
        """Raise CapabilityUnsupported: a crew cannot clear its memory."""
        raise CapabilityUnsupported("a crew cannot clear its memory", fix="memorywire forget --help")

    def reset_all(self) -> None:
        """Raise, like `reset`."""
        self.reset()


class _Refusing:
    """A placeholder for CrewAI's storage, which the class above does not use."""

    def __getattr__(self, name: str) -> Any:
        raise CapabilityUnsupported(f"a crew's memory in memorywire has no {name}")


def _match(
    id: str, content: str | Mapping[str, Json] | Sequence[Any], score: float, created_at: int | None
) -> MemoryMatch:
    moment = {} if created_at is None else {"created_at": datetime.fromtimestamp(created_at / 1000, UTC)}
    record = MemoryRecord(id=id, content=content if isinstance(content, str) else str(content), **moment)
    return MemoryMatch(record=record, score=max(0.0, score))
