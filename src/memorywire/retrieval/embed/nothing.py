"""The embedder of a memory that is to keep no vectors: whoever asks it for one is told so."""

from collections.abc import Sequence

from memorywire.model.errors import EmbedderNotConfigured
from memorywire.model.space import NO_SPACE


class NoEmbedder:
    """Satisfies Embedder as far as that goes without embedding."""

    space = NO_SPACE

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        if not texts:
            return []
        raise EmbedderNotConfigured(
            "the embedder is `none`, which is for keys and values alone: nothing is remembered or recalled",
            field="embedder",
            fix="set MEMORYWIRE_EMBEDDER=minilm, and `memorywire reembed` a file that has none",
        )

    async def close(self) -> None:
        """Nothing to close."""
