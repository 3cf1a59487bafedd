"""Plain rankers over the same texts: BM25, the embedder alone, RRF, the sum of z-scores, a weighted sum."""

from array import array
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from memorywire.search.text import query_terms, terms

K1 = 0.9
B = 0.4
RRF_K = 60

WORDS, DENSE = 0.3, 0.7
USER_SAID = 1.5
"""The recipe that many systems use: both scores scaled to 0..1, added with these weights; what a user said
to an assistant counts more."""

NAMES = ("bm25", "embedder", "rrf", "zsum", "recipe")

Posting: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]


class Baselines:
    """Ranks the texts of one case; ties go to the earlier text. `by_user` marks texts that users said."""

    def __init__(
        self,
        refs: Sequence[str],
        texts: Iterable[str],
        vectors: Sequence[bytes],
        by_user: Sequence[bool] | None = None,
    ) -> None:
        self._refs = list(refs)
        self._boosts = np.where(np.array(by_user or [False] * len(refs), bool), USER_SAID, 1.0)
        lengths, self._postings = _build_index(texts)
        self._damping = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))
        single = np.frombuffer(b"".join(vectors), "<f4")
        self._matrix = single.reshape(len(self._refs), -1).astype(np.float64)

    def rank(self, query: str, vector: bytes, depth: int) -> dict[str, list[str]]:
        """Return the refs in the order of each ranker, best first."""
        text, dense = self._bm25(query), self._matrix @ np.frombuffer(vector, "<f4").astype(np.float64)
        scores = {
            "bm25": text,
            "embedder": dense,
            "rrf": _reciprocal(text) + _reciprocal(dense),
            "zsum": _standard(text) + _standard(dense),
            "recipe": (WORDS * _stretch(text) + DENSE * _stretch(dense)) * self._boosts,
        }
        return {name: self._best(values, depth) for name, values in scores.items()}

    def _bm25(self, query: str) -> NDArray[np.float64]:
        scores = np.zeros(len(self._refs))
        for term in query_terms(query):
            if term in self._postings:
                holding, counts = self._postings[term]
                weight = np.log1p((len(scores) - len(holding) + 0.5) / (len(holding) + 0.5))
                scores[holding] += weight * counts * (K1 + 1) / (counts + self._damping[holding])
        return scores

    def _best(self, scores: NDArray[np.float64], depth: int) -> list[str]:
        return [self._refs[place] for place in np.argsort(-scores, kind="stable")[:depth]]


def _build_index(texts: Iterable[str]) -> tuple[NDArray[np.float64], dict[str, Posting]]:
    """Return the length of each text, and the postings of each term; streams the texts."""
    lengths = array("d")
    results: dict[str, tuple[array[int], array[float]]] = {}
    for place, text in enumerate(texts):
        words = terms(text)
        lengths.append(sum(words.values()))
        for term, count in words.items():
            places, numbers = results.setdefault(term, (array("q"), array("d")))
            places.append(place)
            numbers.append(count)
    postings = {term: (np.array(places), np.array(numbers)) for term, (places, numbers) in results.items()}
    return np.array(lengths), postings


def _reciprocal(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return 1 / (RRF_K + ranks)


def _standard(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = float(scores.std())
    return (scores - scores.mean()) / spread if spread else np.zeros(len(scores))


def _stretch(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale linearly from 0 for the lowest to 1 for the highest."""
    spread = float(np.ptp(scores))
    return (scores - scores.min()) / spread if spread else np.zeros(len(scores))
