"""What an embedder promises."""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache, partial
from threading import Lock
from typing import Protocol, runtime_checkable
from urllib.parse import SplitResult, parse_qs, urlsplit

from msgspec import Struct, field

import memorywire_minilm
from memorywire.model.errors import EmbedderFailed, EmbedderNotConfigured, InvalidRequest, MemorywireError
from memorywire.model.space import NO_SPACE, Space
from memorywire.runtime.protocols import Ability
from memorywire.runtime.threadpool import ThreadPool

DEFAULT_THREADS = 4
# So that a call after a long list does not wait for all of it.
SHARE = 16


SPACE = Space(
    model=memorywire_minilm.MODEL,
    revision=memorywire_minilm.REVISION,
    dimension=memorywire_minilm.DIMENSION,
)
"""The space of the model that comes along."""


class MiniLmEmbedder:
    """Embeds on threads of its own; the model is loaded when first needed.

    The model takes a text or two at a time, and more beside them save nothing: so the texts of all
    who ask are shared out evenly among the threads.
    """

    languages = frozenset({"en"})

    def __init__(
        self,
        threads: int | None = None,
        *,
        reads_tasks: bool = False,
        tokens: bool = True,
        kernel: str | None = None,
    ) -> None:
        """Of `threads`, or of as many as the machine has processors, up to four. Without `tokens` texts are
        compared as a whole, and not word by word as well. Without a `kernel`, the fastest is used.
        """
        self.kernel = kernel
        self.space = SPACE
        self._reads_tasks = reads_tasks
        self.gives_tokens = tokens and not reads_tasks
        self._tasks: MiniLmEmbedder | None = None
        self._model: memorywire_minilm.Model | None = None
        self._pool: ThreadPool | None = None
        self._loading = Lock()
        self._threads = threads or min(DEFAULT_THREADS, os.cpu_count() or 1)

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        if self._pool is None:
            self._pool = ThreadPool(self._threads, "memorywire minilm")
        thread_pool = self._pool
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
        with self._loading:
            if self._model is None:
                self._model = _open_model(self.kernel, self._threads, self._reads_tasks, self.gives_tokens)
            model = self._model
        return [*model.embed(texts)]

    def begin(self, texts: Sequence[str]) -> Callable[[], list[bytes]]:
        """A function that gives the vectors; on a machine with a second processor they are made meanwhile."""
        model = self._model
        # Starting must not wait until it is loaded.
        if model is None:
            return partial(self.embed_here, texts)
        finish = model.begin(texts)
        return lambda: [*finish()]

    @property
    def tasks(self) -> "MiniLmEmbedder":
        """Reads a text as a task: its vector lies near those of the memories that help with it."""
        if self._tasks is None:
            self._tasks = MiniLmEmbedder(self._threads, reads_tasks=True, kernel=self.kernel)
        return self._tasks

    async def close(self) -> None:
        if self._tasks is not None:
            await self._tasks.close()
        thread_pool, self._pool, self._model = self._pool, None, None
        if thread_pool is not None:
            await asyncio.to_thread(thread_pool.dismiss)


def find_minilm(embedder: "Embedder") -> MiniLmEmbedder:
    """The embedder itself if it is MiniLM, for whose vectors the trained heads are; else one beside it."""
    return embedder if isinstance(embedder, MiniLmEmbedder) else _open_beside()


@cache
def _open_beside() -> MiniLmEmbedder:
    return MiniLmEmbedder()


def _open_model(
    kernel: str | None, threads: int, reads_tasks: bool, has_tokens: bool
) -> memorywire_minilm.Model:
    try:
        return memorywire_minilm.load(kernel, threads=threads, tasks=reads_tasks, tokens=has_tokens)
    except memorywire_minilm.ModelDamaged as error:
        raise EmbedderFailed(
            f"the built-in model cannot be loaded: {error}",
            fix="install memorywire-minilm again",
        ) from error


class Embedder(Protocol):
    """Turns texts into vectors of one embedding space.

    A vector depends on its text alone, not on the others asked for with it. What goes wrong is
    raised as `EmbedderFailed`.
    """

    @property
    def space(self) -> Space:
        """The space its vectors lie in; known before anything is loaded."""

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text, in order: float32 little-endian, of length one."""

    async def close(self) -> None:
        """Lets go of what it holds; closing twice is fine."""


@runtime_checkable
class EmbedsHere(Protocol, metaclass=Ability):
    """An embedder that can also work on the caller's own thread."""

    def embed_here(self, texts: Sequence[str]) -> list[bytes]:
        """As `embed`, blocking this thread."""
        ...


@runtime_checkable
class BeginsHere(EmbedsHere, Protocol, metaclass=Ability):
    """An embedder that can begin, so that the caller does something else meanwhile."""

    def begin(self, texts: Sequence[str]) -> Callable[[], list[bytes]]:
        """A function to call once, on any thread: it blocks until the vectors are there, and gives them."""
        ...


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


AT_ONCE = 4
MOST_TEXTS = 64


class _Asked(Struct, frozen=True):
    texts: Sequence[str]
    vectors: asyncio.Future[list[bytes]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Together:
    """Puts an embedder behind a queue: a call never waits in order to be joined, but calls that wait anyway
    are joined.

    At most `at_once` questions are under way; what is asked meanwhile goes out together when one of them has
    come back. When a joined question fails, each caller's texts are asked alone, so that a text that the
    embedder refuses affects only its own caller.
    """

    def __init__(self, inner: Embedder, *, at_once: int = AT_ONCE) -> None:
        self.space = inner.space
        self._inner = inner
        self._free = at_once
        self._waiting: deque[_Asked] = deque()
        self._tasks: set[asyncio.Task[None]] = set()

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        if not texts:
            return []
        if not self._free:
            self._waiting.append(request := _Asked(texts))
            return await request.vectors
        self._free -= 1
        try:
            return await self._inner.embed(texts)
        finally:
            self._next()

    async def close(self) -> None:
        await self._inner.close()

    def _next(self) -> None:
        """Called when a question came back: ask the next one, for all who wait."""
        batch = self._company()
        if not batch:
            self._free += 1
            return
        # A task, because callers share it: a cancelled caller must not cancel the others.
        task = asyncio.get_running_loop().create_task(self._ask(batch))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _company(self) -> list[_Asked]:
        batch: list[_Asked] = []
        space_left = MOST_TEXTS
        while self._waiting and (not batch or len(self._waiting[0].texts) <= space_left):
            request = self._waiting.popleft()
            if not request.vectors.done():  # else they have given up
                batch.append(request)
                space_left -= len(request.texts)
        return batch

    async def _ask(self, batch: Sequence[_Asked]) -> None:
        try:
            vectors = iter(await self._inner.embed([text for request in batch for text in request.texts]))
            for request in batch:
                _tell(request, [next(vectors) for _ in request.texts])
        except MemorywireError as error:
            await self._ask_alone(batch, error)
        finally:
            self._next()

    async def _ask_alone(self, batch: Sequence[_Asked], error: MemorywireError) -> None:
        if len(batch) == 1:
            _tell(batch[0], error)
            return
        for request in batch:
            try:
                _tell(request, await self._inner.embed(request.texts))
            except MemorywireError as own:
                _tell(request, own)


def _tell(request: _Asked, answer: list[bytes] | MemorywireError) -> None:
    if request.vectors.done():
        return
    if isinstance(answer, MemorywireError):
        request.vectors.set_exception(answer)
    else:
        request.vectors.set_result(answer)


SCHEMES = {"openai+http": "http", "openai+https": "https"}
MOST_NUMBERS = 65_536
MOST_THREADS = 64
FIX = 'use "minilm", "minilm?threads=1", "minilm?tokens=off", "minilm?kernel=NAME", "none" or "openai+https://HOST/v1?model=NAME&dimension=N"'


def open_embedder(url: str = "minilm", *, api_key: str | None = None) -> Embedder:
    """The embedder `url` names; nothing is loaded or asked yet.

    Raises `InvalidRequest` when there is none of that name.
    """
    if url == "minilm":
        return MiniLmEmbedder()
    if url.startswith("minilm?"):
        return _open_minilm(url.removeprefix("minilm?"))
    if url == "none":
        return NoEmbedder()
    parts = _split(url)
    if parts.scheme not in SCHEMES:
        raise _unknown(f"no embedder is called {parts.scheme or url!r}")
    if not parts.hostname or "@" in parts.netloc:
        raise _unknown("the embedder's URL must name a host, and no user")
    if api_key and not (api_key.isascii() and api_key.isprintable()):
        raise _unknown("the embedder's API key contains characters that an HTTP header cannot carry")
    model, dimension = _parameters(parts.query)
    # Imported here, so that only users of an endpoint pay for the HTTP client.
    from memorywire.search.embed.openai import OpenAiEmbedder

    return Together(
        OpenAiEmbedder(
            endpoint=f"{SCHEMES[parts.scheme]}://{parts.netloc}{parts.path.rstrip('/')}/embeddings",
            model=model,
            dimension=dimension,
            api_key=api_key,
        )
    )


def _open_minilm(query: str) -> MiniLmEmbedder:
    options = dict(part.partition("=")[::2] for part in query.split("&"))
    threads, tokens = options.get("threads", "1"), options.get("tokens", "on")
    known = options.keys() <= {"threads", "tokens", "kernel"} and len(options) == query.count("&") + 1
    if not known or not _counts(threads, MOST_THREADS) or tokens not in ("on", "off"):
        raise _unknown(
            f"minilm takes threads=N, 1 to {MOST_THREADS}, tokens=on or off, kernel=NAME, and nothing else"
        )
    kernel = options.get("kernel")
    if kernel is not None and kernel not in (kernels := memorywire_minilm.kernels()):
        raise _unknown(f"kernel {kernel!r} cannot run here, only {', '.join(kernels)}")
    return MiniLmEmbedder(
        int(threads) if "threads" in options else None, tokens=tokens == "on", kernel=kernel
    )


def _counts(text: str, most: int) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) <= most


def _split(url: str) -> SplitResult:
    """The parts of `url`, its port a number when there is one."""
    try:
        parts = urlsplit(url)
        int(parts.port or 0)  # raises when it is not a number
    except ValueError as error:
        raise _unknown(f"the embedder's URL is malformed: {error}") from None
    return parts


def _parameters(query: str) -> tuple[str, int]:
    options = parse_qs(query)
    if set(options) != {"model", "dimension"} or any(len(values) > 1 for values in options.values()):
        raise _unknown("the embedder's URL must give model and dimension once, and nothing else")
    [model], [dimension] = options["model"], options["dimension"]
    if not _counts(dimension, MOST_NUMBERS):
        raise _unknown(f"the embedder's dimension must be 1 to {MOST_NUMBERS}")
    return model, int(dimension)


def _unknown(detail: str) -> InvalidRequest:
    return InvalidRequest(detail, field="embedder", fix=FIX)
