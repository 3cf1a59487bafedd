"""The vectors of a question: of all its words, and of what is left of them without names."""

from collections import OrderedDict
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from threading import Lock

from memorywire.model.query import Query, Scored
from memorywire.retrieval.embed import Embedder, EmbedsHere
from memorywire.retrieval.names import without_names
from memorywire.stores.contract import LateAsker, Store

SHORT = 200
"""A question of so many characters is embedded sooner than it is handed to another thread and back."""

_MOST = 256


class Rests:
    """The vectors of what was left of questions lately: the same is asked about many people.

    Safe to share between threads.
    """

    def __init__(self) -> None:
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


class _Wording:
    """The `texts` of a question that are to be embedded, and the question with their vectors."""

    def __init__(self, question: Query, rests: Rests) -> None:
        rest = without_names(question.text)
        self._question = question
        self._rests = rests
        self._nameless = None if rest is None else rests.known(rest)
        self._new = rest if self._nameless is None else None
        self.texts = [question.text] if self._new is None else [question.text, self._new]

    def embedded(self, vectors: Sequence[bytes]) -> Query:
        nameless = self._nameless
        if self._new is not None:
            nameless = vectors[1]
            self._rests.learn(self._new, nameless)
        return replace(self._question, vector=vectors[0], nameless=nameless)


async def embedded(question: Query, embedder: Embedder, rests: Rests) -> Query:
    """The question with its vectors."""
    wording = _Wording(question, rests)
    return wording.embedded(await embedder.embed(wording.texts))


async def searching(
    question: Query, limit: int, store: Store, embedder: Embedder, rests: Rests
) -> Awaitable[list[Scored]]:
    """The search that is to be awaited, once what must be embedded beforehand is embedded.

    Nothing must where embedder and store can do it on the thread that searches.
    """
    if isinstance(embedder, EmbedsHere) and isinstance(store, LateAsker) and len(question.text) <= SHORT:
        wording = _Wording(question, rests)

        def ask() -> Query:
            return wording.embedded(embedder.embed_here(wording.texts))

        return store.search_late(question.where, ask, limit)
    return store.search(await embedded(question, embedder, rests), limit)
