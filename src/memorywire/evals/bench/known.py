"""The default embedder, except for texts whose vectors it was told beforehand."""

from collections.abc import Iterable, Sequence

from memorywire.retrieval.embed import Embedder


class Known:
    """Answers at once for texts it has learned; for others it asks the embedder it stands before.

    With it one and the same store is measured with the embedding step and without.
    """

    def __init__(self, inner: Embedder) -> None:
        self.space = inner.space
        self._inner = inner
        self._vectors: dict[str, bytes] = {}

    def known(self, text: str) -> bytes:
        """The vector of a text it has learned."""
        return self._vectors[text]

    async def learn(self, texts: Sequence[str]) -> None:
        self._vectors.update(zip(texts, await self._inner.embed(texts), strict=True))

    def unlearn(self, texts: Iterable[str]) -> None:
        for text in texts:
            del self._vectors[text]

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        if all(text in self._vectors for text in texts):
            return [self._vectors[text] for text in texts]
        return await self._inner.embed(texts)

    async def close(self) -> None:
        """Stays open: several memories share it, one after the other."""
