"""all-MiniLM-L6-v2 on this machine, from the `memorywire-minilm` distribution."""

import asyncio
from collections.abc import Sequence
from threading import Lock

import memorywire_minilm
from memorywire.model.errors import EmbedderFailed
from memorywire.model.space import Space

# So that a long list leaves the thread pool now and then.
BATCH = 64


class MiniLmEmbedder:
    """Embeds in a worker thread; the model is loaded when first needed."""

    def __init__(self) -> None:
        self.space = Space(
            model=memorywire_minilm.MODEL,
            revision=memorywire_minilm.REVISION,
            dimension=memorywire_minilm.DIMENSION,
        )
        self._model: memorywire_minilm.Model | None = None
        self._loading = Lock()

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        vectors: list[bytes] = []
        for start in range(0, len(texts), BATCH):
            vectors += await asyncio.to_thread(self._embed, texts[start : start + BATCH])
        return vectors

    async def close(self) -> None:
        self._model = None

    def _embed(self, texts: Sequence[str]) -> list[bytes]:
        return self._loaded().embed(texts)

    def _loaded(self) -> memorywire_minilm.Model:
        with self._loading:
            if self._model is None:
                self._model = _load()
            return self._model


def _load() -> memorywire_minilm.Model:
    try:
        return memorywire_minilm.load()
    except memorywire_minilm.ModelDamaged as error:
        raise EmbedderFailed(
            f"the built-in model cannot be loaded: {error}",
            fix="install memorywire-minilm again",
        ) from error
