"""Ranks the rows of a shelf: exact cosine and scope-local BM25, ties by id."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memorywire.model.record import DEMOTED_FACTOR
from memorywire.stores.relevance import BIAS, COSINE, K1, TEXT, B, idf, relevance
from memorywire.stores.sqlite.rows import term_hash
from memorywire.stores.sqlite.shelf import Shelf

# How far a score computed in single precision may be from the exact one, relative to it.
_SLACK = 3e-5
_BATCH = 4096
# A smaller share of the shelf is cheaper to copy out than to scan the rest for.
_GATHER_SHARE = 4


@dataclass(frozen=True, slots=True)
class Ranked:
    """A place in the file, its relevance and what that was made of."""

    position: int
    score: float
    signals: Mapping[str, float]


def rank(
    shelf: Shelf, mask: NDArray[np.bool_], vector: bytes | None, terms: Collection[str], limit: int
) -> list[Ranked]:
    """The best `limit` of the masked rows, best first; statistics are taken over the masked rows only."""
    rows = np.flatnonzero(mask)
    if not len(rows) or limit < 1:
        return []
    text = _text_shares(shelf, mask, len(rows), terms)[rows]
    asked = None if vector is None else np.frombuffer(vector, "<f4")
    chosen = _contenders(shelf, rows, asked, text, limit)
    hits = _exactly(shelf, rows[chosen], asked, text[chosen])
    return [hit for _, hit in sorted(hits, key=lambda pair: (-pair[1].score, pair[0]))[:limit]]


def _text_shares(
    shelf: Shelf, mask: NDArray[np.bool_], documents: int, terms: Collection[str]
) -> NDArray[np.float64]:
    """For every row, the share of the query's term weight that it earns among the masked rows."""
    shares = np.zeros(len(shelf))
    total = 0.0
    average = float(shelf.lengths[mask].mean()) or 1.0
    for term in terms:
        holding, counts = shelf.postings.holding(term_hash(term))
        seen = mask[holding]
        holding, counts = holding[seen], counts[seen]
        weight = idf(documents, len(holding))
        total += weight
        shares[holding] += weight * (counts / (counts + K1 * (1 - B + B * shelf.lengths[holding] / average)))
    return shares / total if total else shares


def _contenders(
    shelf: Shelf,
    rows: NDArray[np.int64],
    asked: NDArray[np.float32] | None,
    text: NDArray[np.float64],
    limit: int,
) -> NDArray[np.int64]:
    """Which of the rows could be among the best, ties at the edge included."""
    if len(rows) <= limit:
        return np.arange(len(rows))
    evidence = BIAS + TEXT * text.astype(np.float32)
    if asked is not None:
        evidence += COSINE * _cosines(shelf, rows, asked)
    scores = 1 / (1 + np.exp(-evidence))
    scores[shelf.demoted[rows]] *= DEMOTED_FACTOR
    edge = np.partition(scores, len(rows) - limit)[len(rows) - limit]
    return np.flatnonzero(scores >= edge * (1 - _SLACK))


def _cosines(shelf: Shelf, rows: NDArray[np.int64], asked: NDArray[np.float32]) -> NDArray[np.float32]:
    if len(rows) * _GATHER_SHARE < len(shelf):
        few: NDArray[np.float32] = shelf.matrix[rows] @ asked
        return few
    every: NDArray[np.float32] = shelf.matrix @ asked
    return every[rows]


def _exactly(
    shelf: Shelf,
    rows: NDArray[np.int64],
    asked: NDArray[np.float32] | None,
    text: NDArray[np.float64],
) -> Sequence[tuple[str, Ranked]]:
    cosines = np.zeros(len(rows)) if asked is None else _exact_cosines(shelf, rows, asked)
    demoted, ids, positions = shelf.demoted, shelf.ids, shelf.positions
    hits = []
    for row, cosine, share in zip(rows.tolist(), cosines.tolist(), text.tolist(), strict=True):
        signals = {"vector": cosine, "text": share}
        score = relevance(cosine, share)
        if demoted[row]:
            signals["demoted"] = 1.0
            score *= DEMOTED_FACTOR
        hits.append((ids[row], Ranked(int(positions[row]), score, signals)))
    return hits


def _exact_cosines(shelf: Shelf, rows: NDArray[np.int64], asked: NDArray[np.float32]) -> NDArray[np.float64]:
    """Row by row in double precision; rounded, so that equal vectors tie wherever they stand."""
    wide = asked.astype(np.float64)
    batches = [rows[start : start + _BATCH] for start in range(0, len(rows), _BATCH)]
    return np.concatenate([np.round((shelf.matrix[batch] * wide).sum(axis=1), 12) for batch in batches])
