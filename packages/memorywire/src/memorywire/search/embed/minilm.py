"""all-MiniLM-L6-v2 on this machine, from the `memorywire-minilm` distribution."""

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock

import memorywire_minilm
from memorywire.model.errors import EmbedderFailed
from memorywire.model.space import Space
from memorywire.runtime.threadpool import ThreadPool

MOST_THREADS = 4
# So that whoever comes after a long list does not wait for all of it.
SHARE = 16


class MiniLmEmbedder:
    """Embeds on threads of its own; the model is loaded when first needed.

    The model takes a text or two at a time, and more beside them save nothing: so the texts of all
    who ask are shared out evenly among the threads.
    """

    def __init__(self, threads: int | None = None) -> None:
        """Of `threads`, or of as many as the machine has processors, up to four."""
        self.space = Space(
            model=memorywire_minilm.MODEL,
            revision=memorywire_minilm.REVISION,
            dimension=memorywire_minilm.DIMENSION,
        )
        self._model: memorywire_minilm.Model | None = None
        self._pool: ThreadPool | None = None
        self._loading = Lock()
        self._threads = threads or min(MOST_THREADS, os.cpu_count() or 1)

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        thread_pool = self._start_threads()
        if len(texts) == 1:
            return await thread_pool.do(partial(self.embed_here, texts))
        vectors: list[bytes] = []
        for start in range(0, len(texts), self._threads * SHARE):
            part = texts[start : start + self._threads * SHARE]
            size = -(-len(part) // self._threads)
            shares = [part[first : first + size] for first in range(0, len(part), size)]
            results = await thread_pool.do_each([partial(self.embed_here, share) for share in shares])
            vectors += [vector for share in results for vector in share]
        return vectors

    def embed_here(self, texts: Sequence[str]) -> list[bytes]:
        """As `embed`, on this thread."""
        return self._load_model().embed(texts)

    def begin(self, texts: Sequence[str]) -> Callable[[], list[bytes]]:
        """A function that gives the vectors; on a machine with a second processor they are made meanwhile."""
        model = self._model
        # Nobody who only begins should have to wait until it is loaded.
        return partial(self.embed_here, texts) if model is None else model.begin(texts)

    async def close(self) -> None:
        thread_pool, self._pool, self._model = self._pool, None, None
        if thread_pool is not None:
            await asyncio.to_thread(thread_pool.dismiss)

    def _start_threads(self) -> ThreadPool:
        if self._pool is None:
            self._pool = ThreadPool(self._threads, "memorywire minilm")
        return self._pool

    def _load_model(self) -> memorywire_minilm.Model:
        with self._loading:
            if self._model is None:
                self._model = _open_model(self._threads)
            return self._model


def _open_model(threads: int) -> memorywire_minilm.Model:
    try:
        return memorywire_minilm.load(threads=threads)
    except memorywire_minilm.ModelDamaged as error:
        raise EmbedderFailed(
            f"the built-in model cannot be loaded: {error}",
            fix="install memorywire-minilm again",
        ) from error
