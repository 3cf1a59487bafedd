"""The setup for one size: memorywire and the reference design, filled with the same generated memories."""

import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from memorywire.client.bulk import BATCH, Result
from memorywire.client.memory import Memory
from memorywire.model.answers import Remembered, Status
from memorywire.model.clock import system_clock
from memorywire.model.errors import Conflict, MemorywireError
from memorywire.model.ids import IdMint
from memorywire.search.embed.embedder import MiniLmEmbedder
from memorywire_evals.bench.corpus import Fact, facts
from memorywire_evals.bench.reference_design import Item, LinearStore, ReferenceEmbedder, Yardsticks
from memorywire_evals.bench.report import Rate
from memorywire_evals.bench.timing import WARM_UP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_SEED, _CLUSTERS, _BETWEEN, _WITHIN = 1, 3000, 0.6, 0.7


class Known:
    """Returns stored vectors for learned texts; for others it calls the inner embedder.

    So the same store can be measured with embedding and without.
    """

    def __init__(self, inner: MiniLmEmbedder) -> None:
        self.space = inner.space
        self._inner = inner
        self._vectors: dict[str, bytes] = {}

    def known(self, text: str) -> bytes:
        """Return the vector of a learned text."""
        return self._vectors[text]

    async def learn(self, texts: Sequence[str]) -> None:
        self._vectors.update(zip(texts, await self._inner.embed(texts), strict=True))

    def make_up(self, texts: Sequence[str]) -> None:
        """Learn random vectors for these texts, in clusters as embedders make them, without embedding."""
        import numpy as np

        near = self._dice.integers(0, len(self._centres), len(texts))
        rows = self._centres[near] + self._dice.normal(0, _WITHIN, (len(texts), self.space.dimension))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        made = [row.tobytes() for row in rows.astype("<f4")]
        self._vectors.update(zip(texts, made, strict=True))

    @cached_property
    def _dice(self) -> "np.random.Generator":
        import numpy as np

        return np.random.default_rng(_SEED)

    @cached_property
    def _centres(self) -> "NDArray[np.float64]":
        return self._dice.normal(0, _BETWEEN, (_CLUSTERS, self.space.dimension))

    def unlearn(self, texts: Iterable[str]) -> None:
        for text in texts:
            del self._vectors[text]

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        return self._all(texts) or await self._inner.embed(texts)

    def embed_here(self, texts: Sequence[str]) -> list[bytes]:
        """Like `embed`, on this thread."""
        return self._all(texts) or self._inner.embed_here(texts)

    def begin(self, texts: Sequence[str]) -> Callable[[], list[bytes]]:
        """Start embedding; return a function that returns the vectors."""
        known = self._all(texts)
        return (lambda: known) if known else self._inner.begin(texts)

    def _all(self, texts: Sequence[str]) -> list[bytes]:
        """Return the vectors if all of these texts are learned; else an empty list."""
        known = [self._vectors[text] for text in texts if text in self._vectors]
        return known if len(known) == len(texts) else []

    async def close(self) -> None:
        """Do nothing: several memories share it, one after the other."""


AGENT = "bench"
SMALL_USER = "small"

MOST_EMBEDDED = 200_000
"""Larger stages get random vectors: embedding that many texts would take longer than all else."""

_MANY_SCANNED, _FEW_SCANS = 200_000, 10  # larger scans take seconds, so they run less often
_OTHER_USERS = 50
_SMALL_SHARE = 1000  # one of this many memories belongs to the small user ...
_SMALL_LEAST = 10  # ... who has at least this many
_CHUNK = 2048

Watch = Callable[[str], None]


class Stage(Struct, kw_only=True):
    """The setup of the measures of one size, already filled."""

    size: int
    rounds: int
    folder: Path
    vectors: Known
    reference: ReferenceEmbedder | None
    ours: Memory
    linear: LinearStore
    yardsticks: Yardsticks
    source: Iterator[Fact]
    questions: list[str]
    small: list[Fact]

    def fresh(self, count: int) -> list[str]:
        """Return contents that are not stored yet."""
        return [fact.content for fact in islice(self.source, count)]

    def asked(self, count: int, turn: int = 0) -> list[str]:
        """Return questions about memories from all over the store; other turns differ if possible."""
        start = turn * count
        return [self.questions[(start + at) % len(self.questions)] for at in range(count)]

    @property
    def scans(self) -> int:
        """The number of rounds of a linear scan."""
        return self.rounds if self.size <= _MANY_SCANNED else min(self.rounds, _FEW_SCANS)

    @property
    def url(self) -> str:
        return store_url(self.folder, "ours")

    @property
    def linear_path(self) -> Path:
        return self.folder / "linear.db"


def store_url(folder: Path, name: str) -> str:
    return f"sqlite:///{folder.absolute()}/{name}.db"


def user_of(number: int, size: int) -> str:
    """Return the user of the memory with this number: many users, one of them small."""
    step = max(1, min(_SMALL_SHARE, size // _SMALL_LEAST))
    return SMALL_USER if number % step == 0 else f"user-{number % _OTHER_USERS}"


def mint() -> IdMint:
    return IdMint(system_clock)


def kept(receipt: Result) -> None:
    """Raise unless the memory was stored: otherwise a failed remember would look fast."""
    if isinstance(receipt, MemorywireError):
        raise receipt
    if not isinstance(receipt, Remembered) or receipt.status is not Status.COMMITTED:
        raise Conflict("a made-up memory was not kept")


@asynccontextmanager
async def open_stage(
    size: int,
    *,
    rounds: int,
    folder: Path,
    vectors: Known,
    reference: ReferenceEmbedder | None,
    watch: Watch,
) -> AsyncIterator[tuple[Stage, list[Rate]]]:
    """Yield a filled stage, and the rates of filling it."""
    linear, yardsticks = LinearStore(folder / "linear.db", mint()), Yardsticks(folder)
    async with Memory(AGENT, [store_url(folder, "ours")], embedder=vectors) as ours:
        stage = Stage(
            size=size,
            rounds=rounds,
            folder=folder,
            vectors=vectors,
            reference=reference,
            ours=ours,
            linear=linear,
            yardsticks=yardsticks,
            source=facts(),
            questions=[],
            small=[],
        )
        rates = await _fill(stage, watch)
        yield stage, rates
    linear.close()
    yardsticks.close()


async def _fill(stage: Stage, watch: Watch) -> list[Rate]:
    cost = _Spent()
    every = max(1, stage.size // (8 * (stage.rounds + WARM_UP)))
    for first in range(0, stage.size, _CHUNK):
        watch(f"filling {stage.size:,}: {10 * (10 * first // stage.size)} %")
        chunk = list(islice(stage.source, min(_CHUNK, stage.size - first)))
        await _keep(stage, first, chunk, cost)
        stage.questions += [fact.question for at, fact in enumerate(chunk, first) if at % every == 0]
        stage.small += [fact for at, fact in enumerate(chunk, first) if user_of(at, stage.size) == SMALL_USER]
    size = stage.size
    embedded = Rate(measure="bulk remember", size=size, ours=size / (cost.embedding + cost.ours))
    return [
        *([] if size > MOST_EMBEDDED else [embedded]),
        Rate(
            measure="bulk remember without embedding",
            size=size,
            ours=size / cost.ours,
            other=size / cost.linear,
            against=f"reference, {BATCH} to a commit",
        ),
    ]


class _Spent(Struct):
    """Seconds spent filling, by activity."""

    embedding: float = 0.0
    ours: float = 0.0
    linear: float = 0.0


async def _keep(stage: Stage, first: int, chunk: Sequence[Fact], cost: _Spent) -> None:
    """Store the same memories with the same vectors in both stores."""
    texts = [fact.content for fact in chunk]
    users = [user_of(at, stage.size) for at in range(first, first + len(chunk))]
    moments = [time.perf_counter()]
    if stage.size > MOST_EMBEDDED:
        stage.vectors.make_up(texts)
    else:
        await stage.vectors.learn(texts)
    moments.append(time.perf_counter())
    given = [{"content": text, "user_id": user} for text, user in zip(texts, users, strict=True)]
    for receipt in await stage.ours.remember_many(given):
        kept(receipt)
    moments.append(time.perf_counter())
    items: list[Item] = [
        (text, user, stage.vectors.known(text)) for text, user in zip(texts, users, strict=True)
    ]
    for start in range(0, len(items), BATCH):
        stage.linear.fill(AGENT, items[start : start + BATCH])
    moments.append(time.perf_counter())
    stage.vectors.unlearn(texts)
    cost.embedding += moments[1] - moments[0]
    cost.ours += moments[2] - moments[1]
    cost.linear += moments[3] - moments[2]
