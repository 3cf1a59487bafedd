"""The memory of a case, filled and queried through the public client."""

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct
from msgspec.structs import replace

from memorywire.client.memory import Memory
from memorywire.model.answers import Hit, Remembered, Status
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import MemorywireError
from memorywire.model.record import DEFAULT_TENANT, Json
from memorywire.model.text import CONTENT_CHARS_MAX, in_parts
from memorywire.search.embed import Embedder
from memorywire.stores.remote.client import tenant_named
from memorywire_evals.cases import Case, Item, Question
from memorywire_evals.datasets.files import unique
from memorywire_evals.trajectories import Trajectory


class Moment:
    """A clock set by hand, so that "last week" means the week before the question."""

    def __init__(self) -> None:
        self.at = 0

    def __call__(self) -> int:
        return self.at


class Heard(Struct, frozen=True, kw_only=True):
    """The result of a recall as refs of the case, and its time with the query already embedded."""

    hits: tuple[Hit, ...]
    refs: tuple[str, ...]
    relevance: float
    ms: float


class MemoryUnderTest:
    """The memory of one case. An item's id is `<set>:<case>:<ref>`, so that hits map back to items.

    An item too long for one memory is split into parts; a recalled part counts as the item. `writes` counts
    the remembered parts, `repeated` those answered as duplicates of another memory. Every step is added to
    `trajectory`, unless it is None.
    """

    def __init__(
        self,
        memory: Memory,
        prefix: str,
        moment: Moment,
        now: int,
        items: Sequence[Item],
        trajectory: Trajectory | None = None,
    ) -> None:
        self.memory = memory
        self._trajectory = trajectory
        self._prefix = prefix
        self._ref_of = {
            part.ref: item.ref
            for item in items
            if len(item.content) > CONTENT_CHARS_MAX
            for part in parts_of(item)
        }
        self._moment = moment
        self._now = now
        self.writes = self.repeated = 0
        moment.at = now

    async def tell(
        self,
        items: Sequence[Item],
        marks: Mapping[str, Json] | None = None,
        *,
        watch: Callable[[int], None] | None = None,
    ) -> tuple[str, ...]:
        """Remember every item; return those not stored under their own id, with the reason.

        `watch` gets the number remembered so far.
        """
        parts = [part for item in items for part in parts_of(item)]
        plain = [item for item in parts if not item.supersedes]
        chained = [item for item in parts if item.supersedes]
        fields = [self._fields(item, marks or {}) for item in plain]
        told = await self.memory.remember_many(fields, on_progress=watch)
        for item in chained:  # a superseded item must be stored first
            told += await self.memory.remember_many([self._fields(item, marks or {})])
        self.writes += len(told)
        receipts = list(zip([*plain, *chained], told, strict=True))
        self.repeated += sum(self._is_repetition(item, result) for item, result in receipts)
        if self._trajectory is not None:
            for item, result in receipts:
                self._trajectory.add_written(self.id(item.ref), item, result)
        return tuple(fault for item, result in receipts if (fault := self._fault(item, result)))

    async def ask(self, question: Question, *, asked: str = "own", **options: Json) -> Heard:
        """Recall for a question; `asked` is `foreign` for a question about another case."""
        self._moment.at = self._now if question.asked_at is None else question.asked_at
        began = time.perf_counter()
        scope = "all" if options.get("user_id") is None else "user"
        recalled = await self.memory.recall(question.text, **{"explain": True, "scope": scope, **options})
        ms = (time.perf_counter() - began) * 1000
        hits = recalled.hits
        if self._trajectory is not None:
            self._trajectory.add_retrieved(question, asked, options, ((hit, self._ref(hit)) for hit in hits))
        return Heard(hits=hits, refs=self.refs(hits), relevance=_relevance(hits), ms=ms)

    def refs(self, hits: Sequence[Hit]) -> tuple[str, ...]:
        """Return the refs of the recalled items, each once, at its first position."""
        return unique(map(self._ref, hits))

    def _ref(self, hit: Hit) -> str:
        ref = hit.id.removeprefix(self._prefix)
        return self._ref_of.get(ref, ref)

    def id(self, ref: str) -> str:
        return self._prefix + ref

    def _fields(self, item: Item, marks: Mapping[str, Json]) -> dict[str, Json]:
        fields = {
            "id": self.id(item.ref),
            "content": item.content,
            "type": item.type,
            "session_id": item.session,
            "occurred_at": item.occurred_at,
            "metadata": {**item.metadata, **marks},
            "user_id": item.user,
            "supersedes": [self.id(ref) for ref in item.supersedes] or None,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def _is_repetition(self, item: Item, result: Remembered | MemorywireError) -> bool:
        """Return whether another memory was the duplicate; one with its own id is from an earlier run."""
        if isinstance(result, MemorywireError):
            return False
        return result.status is Status.DUPLICATE and result.id != self.id(item.ref)

    def _fault(self, item: Item, result: Remembered | MemorywireError) -> str | None:
        if isinstance(result, MemorywireError):
            return f"{item.ref}: {result.detail}"
        if result.id != self.id(item.ref):
            return f"{item.ref}: kept as {result.id.removeprefix(self._prefix)}, which says the same"
        return None


@asynccontextmanager
async def open_memory(
    set_name: str,
    case: Case,
    *,
    stores: Sequence[str],
    embedder: Embedder,
    agent: str | None = None,
    trajectory: Trajectory | None = None,
) -> AsyncIterator[MemoryUnderTest]:
    """Open a memory for one case and the stores' tenant, with a separate agent unless one is named."""
    moment = Moment()
    moments = [item.occurred_at for item in case.items if item.occurred_at is not None]
    async with Memory(
        agent or f"eval:{set_name}:{case.id}",
        list(stores),
        tenant=_tenant(stores),
        embedder=embedder,
        clock=moment,
    ) as memory:
        now = max(moments, default=0) + DAY_MS
        yield MemoryUnderTest(memory, f"{set_name}:{case.id}:", moment, now, case.items, trajectory)


def _tenant(stores: Sequence[str]) -> str:
    far = [url.partition("#")[0] for url in stores if url.startswith(("http://", "https://"))]
    return tenant_named(far) or DEFAULT_TENANT


def parts_of(item: Item) -> Iterator[Item]:
    """Yield the item, split into parts if it is too long for one memory."""
    for number, content in enumerate(in_parts(item.content), start=1):
        yield replace(item, ref=_part(item.ref, number), content=content)


def _part(ref: str, number: int) -> str:
    return ref if number == 1 else f"{ref}, part {number}"


def _relevance(hits: Sequence[Hit]) -> float:
    """Return the relevance of the best hit; 0 without hits."""
    if not hits:
        return 0.0
    best = hits[0]
    return (best.signals or {}).get("relevance", best.score)
