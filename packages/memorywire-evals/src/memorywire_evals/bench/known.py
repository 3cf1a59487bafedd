"""The default embedder, except for texts whose vectors it was told beforehand."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from memorywire.search.embed.minilm import MiniLmEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SEED, _CLUSTERS, _BETWEEN, _WITHIN = 1, 3000, 0.6, 0.7


class Known:
    """Answers at once for texts it has learned; for others it asks the embedder it stands before.

    With it one and the same store is measured with the embedding step and without.
    """

    def __init__(self, inner: MiniLmEmbedder) -> None:
        self.space = inner.space
        self._inner = inner
        self._vectors: dict[str, bytes] = {}

    def known(self, text: str) -> bytes:
        """The vector of a text it has learned."""
        return self._vectors[text]

    async def learn(self, texts: Sequence[str]) -> None:
        self._vectors.update(zip(texts, await self._inner.embed(texts), strict=True))

    def make_up(self, texts: Sequence[str]) -> None:
        """Vectors of these texts that mean nothing, in clusters as embedders make them, and at once."""
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
        """As `embed`, on this thread."""
        return self._all(texts) or self._inner.embed_here(texts)

    def begin(self, texts: Sequence[str]) -> Callable[[], list[bytes]]:
        """What gives the vectors, which may be made meanwhile."""
        known = self._all(texts)
        return (lambda: known) if known else self._inner.begin(texts)

    def _all(self, texts: Sequence[str]) -> list[bytes]:
        """The vectors, if it has learned all of these texts; else None."""
        known = [self._vectors[text] for text in texts if text in self._vectors]
        return known if len(known) == len(texts) else []

    async def close(self) -> None:
        """Stays open: several memories share it, one after the other."""
