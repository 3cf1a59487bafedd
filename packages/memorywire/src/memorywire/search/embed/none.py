"""The embedder of a memory without vectors: whoever asks it for one gets a problem that says so."""

from collections.abc import Sequence

from memorywire.model.errors import EmbedderNotConfigured
from memorywire.model.space import NO_SPACE


class NoEmbedder:
    """Satisfies Embedder, but embeds nothing."""

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
