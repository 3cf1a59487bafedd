"""The metrics as pure functions over ranked ids, and the figures of one question.

`rec@k` is |gold in the first k| / |gold|, `any@k` and `all@k` tell whether some or all of it is there. A
session ranks at its best turn. A token is four characters.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from memorywire_evals.cases import Case, Question

Worth: TypeAlias = Callable[[int], float]

CHARACTERS_PER_TOKEN = 4


def recall_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return the share of the gold among the first k."""
    return len(set(gold) & set(ranking[:k])) / len(set(gold))


def any_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    return float(bool(set(gold) & set(ranking[:k])))


def all_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    return float(set(gold) <= set(ranking[:k]))


def ceiling(sizes: Iterable[int], k: int) -> float:
    """Return the best mean rec@k that gold sets of these sizes allow."""
    shares = [min(k, size) / size for size in sizes]
    return sum(shares) / len(shares)


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> float:
    return next((1 / place for place, id in enumerate(ranking, start=1) if id in gold), 0.0)


def ndcg_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return nDCG@k: a hit at rank i gains 1/log2(i + 1), divided by the best possible order."""
    return _gain(ranking, gold, k, lambda place: 1 / math.log2(place + 1))


def official_ndcg_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return LongMemEval's nDCG@k: ranks 1 and 2 gain 1, rank i after them 1/log2(i)."""
    return _gain(ranking, gold, k, lambda place: 1.0 if place < 3 else 1 / math.log2(place))


def _gain(ranking: Sequence[str], gold: Collection[str], k: int, worth: Worth) -> float:
    wanted = set(gold)
    earned = sum(worth(place) for place, id in enumerate(ranking[:k], start=1) if id in wanted)
    return earned / sum(worth(place) for place in range(1, min(k, len(wanted)) + 1))


def roll_up(ranking: Iterable[str], group: Mapping[str, str]) -> list[str]:
    """Return sessions in the order of their best turns."""
    return list(dict.fromkeys(group[id] for id in ranking if id in group))


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Return how often a positive outscores a negative, ties counting half; computed from average ranks."""
    values = sorted([(value, True) for value in positives] + [(value, False) for value in negatives])
    total, place = 0.0, 0
    while place < len(values):
        end = place
        while end < len(values) and values[end][0] == values[place][0]:
            end += 1
        average = (place + 1 + end) / 2
        total += average * sum(positive for _, positive in values[place:end])
        place = end
    count = len(positives)
    return (total - count * (count + 1) / 2) / (count * len(negatives))


def abstention_at(positives: Sequence[float], negatives: Sequence[float], loss: float = 0.02) -> float:
    """Return the share of negatives below the highest threshold that loses at most `loss` of positives."""
    threshold = sorted(positives)[math.floor(loss * len(positives))]
    return sum(value < threshold for value in negatives) / len(negatives)


def newest_first(ranking: Sequence[str], ages: Sequence[Collection[str]]) -> float:
    """Return whether the newest statement ranks above all older ones; `ages` go from oldest to newest."""
    places = {id: place for place, id in enumerate(ranking)}
    best = [min((places.get(id, len(ranking)) for id in group), default=len(ranking)) for group in ages]
    return float(best[-1] < min(best[:-1]))


def freshest_on_top(ranking: Sequence[str], gold: Collection[str], moments: Mapping[str, int]) -> float:
    """Return whether the newest of the relevant memories is the first hit."""
    freshest = max(moments[id] for id in gold)
    return float(bool(ranking) and ranking[0] in gold and moments[ranking[0]] == freshest)


def contains_answer(texts: Sequence[str], answers: Sequence[str], k: int) -> float:
    """Return SubEM@k: whether an answer occurs in one of the first k texts, ignoring case."""
    seen = [text.casefold() for text in texts[:k]]
    return float(any(answer.casefold() in text for answer in answers for text in seen))


def tokens(text: str) -> int:
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def packed(ranking: Iterable[str], sizes: Mapping[str, int], budget: int) -> list[str]:
    """Return hits in rank order that fit the budget; a hit that does not fit is skipped."""
    taken, left = [], budget
    for id in ranking:
        if sizes[id] <= left:
            taken.append(id)
            left -= sizes[id]
    return taken


def precision(found: Collection[str], wanted: Collection[str]) -> float | None:
    """Return the share of `found` that is wanted; None if both are empty."""
    if not found:
        return 0.0 if wanted else None
    return len(set(found) & set(wanted)) / len(set(found))


def recall(found: Collection[str], wanted: Collection[str]) -> float | None:
    return len(set(found) & set(wanted)) / len(set(wanted)) if wanted else None


def precision_recall(positives: Sequence[float], negatives: Sequence[float]) -> list[tuple[float, float]]:
    """Return (recall, precision) for every threshold, highest first."""
    points = []
    for threshold in sorted(set(positives), reverse=True):
        kept = sum(value >= threshold for value in positives)
        wrong = sum(value >= threshold for value in negatives)
        points.append((kept / len(positives), kept / (kept + wrong)))
    return points


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is at least as large as this share of the values."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


KS = (1, 5, 10, 25, 50)
FEW = 10
"""`any@k` and `all@k` are computed up to this k."""

BUDGETS = (256, 512, 1024, 2048, 4096, 8192)
ACCURACY_BUDGET = 1024


class Key(Struct, frozen=True):
    """The data of a case that scoring needs: sessions, sizes, times and texts of the items.

    `lines` are the items as a reader sees them, with date and speaker.
    """

    sessions: dict[str, str]
    sizes: dict[str, int]
    moments: dict[str, int]
    texts: dict[str, str]
    lines: dict[str, str]
    untrusted: Collection[str]

    @classmethod
    def of(cls, case: Case) -> "Key":
        return cls(
            sessions={item.ref: item.session for item in case.items if item.session is not None},
            sizes={item.ref: tokens(item.content) for item in case.items},
            moments={item.ref: item.occurred_at for item in case.items if item.occurred_at is not None},
            texts={item.ref: item.content for item in case.items},
            lines={item.ref: item.text for item in case.items},
            untrusted=case.untrusted,
        )


def ranking_figures(question: Question, key: Key, ranking: Sequence[str]) -> dict[str, float]:
    """Return all metrics of a ranking that this question allows."""
    figures: dict[str, float] = {}
    if question.gold:
        figures |= _levels("turn", ranking, question.gold, len(key.texts))
        figures |= _budgets(question, key, ranking)
    if question.audited:
        figures |= _levels("audited", ranking, question.audited, len(key.texts))
    if question.gold_sessions:
        figures |= _session_figures(question, key, ranking)
    if question.ages:
        figures["newest-above-older"] = newest_first(ranking, question.ages)
    if question.answers:
        texts = [key.texts[ref] for ref in ranking[:10]]
        figures |= {f"subem@{k}": contains_answer(texts, question.answers, k) for k in (1, 2, 5, 10)}
    if key.untrusted:
        figures["untrusted@5"] = sum(ref in key.untrusted for ref in ranking[:5]) / max(len(ranking[:5]), 1)
    return figures


def default_figures(
    question: Question, key: Key, kept: Sequence[str], cosines: Sequence[float]
) -> dict[str, float]:
    """Return the figures of the default recall: relevancy, evidence, and its share of the whole memory."""
    whole, returned = sum(key.sizes.values()), sum(key.sizes[ref] for ref in kept)
    figures = {"returned-tokens": float(returned)}
    if whole:
        figures["returned-share"] = returned / whole
    if kept:
        figures["relevancy"] = sum(cosines) / len(cosines)
    if question.gold and question.answerable:
        figures["default.rec@5"] = recall_at(kept, question.gold, 5)
        figures["default.any@5"] = any_at(kept, question.gold, 5)
        figures["default.precision"] = precision(kept, question.gold) or 0.0
    return figures


def recency_figures(question: Question, key: Key, ranking: Sequence[str]) -> dict[str, float]:
    """Return recency, and the accuracy of a perfect reader: whether evidence or answer fits the budget."""
    figures: dict[str, float] = {}
    if question.gold and all(ref in key.moments for ref in question.gold):
        figures["recency"] = freshest_on_top(ranking, question.gold, key.moments)
    reach = packed(ranking, key.sizes, ACCURACY_BUDGET)
    if question.gold and question.answerable:
        figures["accuracy-bound"] = float(set(question.gold) <= set(reach))
    elif question.answers:
        texts = [key.texts[ref] for ref in reach]
        figures["accuracy-bound"] = contains_answer(texts, question.answers, len(texts))
    return figures


def _levels(level: str, ranking: Sequence[str], gold: Collection[str], size: int) -> dict[str, float]:
    """Return the figures at each k below the number of ranked items; beyond it, everything is found."""
    deep = [k for k in KS if k < size]
    few = [k for k in deep if k <= FEW]
    figures = {f"{level}.rec@{k}": recall_at(ranking, gold, k) for k in deep}
    figures |= {f"{level}.any@{k}": any_at(ranking, gold, k) for k in few}
    figures |= {f"{level}.all@{k}": all_at(ranking, gold, k) for k in few if k > 1}
    figures[f"{level}.mrr"] = reciprocal_rank(ranking, gold)
    figures[f"{level}.ndcg@10"] = ndcg_at(ranking, gold, 10)
    return figures


def _session_figures(question: Question, key: Key, ranking: Sequence[str]) -> dict[str, float]:
    sessions = roll_up(ranking, key.sessions)
    size = len(set(key.sessions.values()))
    figures = _levels("session", sessions, question.gold_sessions, size)
    figures |= {
        f"session.official-ndcg@{k}": official_ndcg_at(sessions, question.gold_sessions, k) for k in (5, 10)
    }
    return figures


def _budgets(question: Question, key: Key, ranking: Sequence[str]) -> dict[str, float]:
    figures = {}
    for budget in BUDGETS:
        taken = packed(ranking, key.sizes, budget)
        figures[f"evidence@{budget}"] = recall_at(taken, question.gold, len(taken))
    return figures
