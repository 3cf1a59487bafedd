"""The vectors of a question: one of all its words, and one of the words without names."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from threading import Lock

from memorywire.model.query import Query, Scored
from memorywire.model.values import replaced
from memorywire.search.embed import BeginsHere, Embedder, EmbedsHere
from memorywire.search.names import without_names
from memorywire.stores.contract import Enough, SupportsDeferredQuery

SHORT = 200
"""Up to this many characters, embedding a question is faster than handing it to another thread."""

BRIEF = 100
QUICK = 0.003
"""A question of up to BRIEF characters is embedded by the thread that asks, if the last one took at most this
many seconds."""

_MOST = 256


class Rests:
    """Vectors of recent questions without their names: the same is often asked about many people.

    Also the seconds that the last embedding took. Safe to share between threads.
    """

    def __init__(self) -> None:
        self.pace = math.inf
        self._lock = Lock()
        self._vectors: OrderedDict[str, bytes] = OrderedDict()

    def known(self, rest: str) -> bytes | None:
        with self._lock:
            vector = self._vectors.get(rest)
            if vector is not None:
                self._vectors.move_to_end(rest)
            return vector

    def learn(self, rest: str, vector: bytes) -> None:
        with self._lock:
            self._vectors[rest] = vector
            if len(self._vectors) > _MOST:
                self._vectors.popitem(last=False)


class Wording:
    """A question that is being embedded: all of its words, and the words without names."""

    def __init__(self, text: str, embedder: Embedder, rests: Rests) -> None:
        rest = without_names(text)
        self._embedder = embedder
        self._rests = rests
        self._nameless = None if rest is None else rests.known(rest)
        self._new = rest if self._nameless is None else None
        self._texts = [text] if self._new is None else [text, self._new]
        self._vectors: Callable[[], list[bytes]] | None = None
        self._completed: Query | None = None

    def begin(self) -> None:
        """Start embedding a short question now, or leave it to the thread that searches."""
        if len(self._texts[0]) > SHORT or not isinstance(self._embedder, EmbedsHere):
            return
        if isinstance(self._embedder, BeginsHere):
            self._vectors = self._embedder.begin(self._texts)
        else:
            self._vectors = partial(self._embedder.embed_here, self._texts)

    async def embedded(self, question: Query) -> Query:
        """The question with its vectors."""
        return self._with(question, await self._embedder.embed(self._texts))

    def late(
        self, question: Query, limit: int, store: SupportsDeferredQuery, enough: Enough | None
    ) -> Awaitable[list[Scored]] | None:
        """The search that gets the vectors when it needs them; None when embedding was not begun."""
        if self._vectors is None:
            return None
        ask = partial(self._complete, question, self._vectors, asyncio.get_running_loop().time)
        brief = len(question.text) <= BRIEF and self._rests.pace <= QUICK
        return store.search_late(question, ask, limit, brief=brief, enough=enough)

    def _complete(
        self, question: Query, vectors: Callable[[], list[bytes]], now: Callable[[], float]
    ) -> Query:
        """The question with the vectors that were begun; a store that has to search again may ask again."""
        if self._completed is None:
            began = now()
            made = vectors()
            self._rests.pace = now() - began
            self._completed = self._with(question, made)
        return self._completed

    def _with(self, question: Query, vectors: Sequence[bytes]) -> Query:
        nameless = self._nameless
        if self._new is not None:
            nameless = vectors[1]
            self._rests.learn(self._new, nameless)
        return replaced(question, vector=vectors[0], nameless=nameless)
