"""The metrics, as pure functions over ranked ids, and the figures of one question.

`rec@k` is |gold in the first k| / |gold|, `any@k` and `all@k` say whether some or all of it is there. A
session ranks where its best turn ranks. A token is four characters.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from memorywire_evals.cases import Case, Question

Worth: TypeAlias = Callable[[int], float]

CHARACTERS_PER_TOKEN = 4


def recall_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """The share of the gold that is among the first k."""
    return len(set(gold) & set(ranking[:k])) / len(set(gold))


def any_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    return float(bool(set(gold) & set(ranking[:k])))


def all_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    return float(set(gold) <= set(ranking[:k]))


def ceiling(sizes: Iterable[int], k: int) -> float:
    """The best mean rec@k that gold sets of these sizes allow."""
    shares = [min(k, size) / size for size in sizes]
    return sum(shares) / len(shares)


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> float:
    return next((1 / place for place, id in enumerate(ranking, start=1) if id in gold), 0.0)


def ndcg_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Each hit at place i is worth 1/log2(i + 1), against the best order possible."""
    return _gain(ranking, gold, k, lambda place: 1 / math.log2(place + 1))


def official_ndcg_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """LongMemEval's own: the first two places count in full, place i after them 1/log2(i)."""
    return _gain(ranking, gold, k, lambda place: 1.0 if place < 3 else 1 / math.log2(place))


def _gain(ranking: Sequence[str], gold: Collection[str], k: int, worth: Worth) -> float:
    wanted = set(gold)
    earned = sum(worth(place) for place, id in enumerate(ranking[:k], start=1) if id in wanted)
    return earned / sum(worth(place) for place in range(1, min(k, len(wanted)) + 1))


def roll_up(ranking: Iterable[str], group: Mapping[str, str]) -> list[str]:
    """Sessions in the order of their best turns."""
    return list(dict.fromkeys(group[id] for id in ranking if id in group))


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """How often a positive outscores a negative, ties counting half: from average ranks."""
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
    """The share of negatives below the highest threshold that costs no more than `loss` of the positives."""
    threshold = sorted(positives)[math.floor(loss * len(positives))]
    return sum(value < threshold for value in negatives) / len(negatives)


def newest_first(ranking: Sequence[str], ages: Sequence[Collection[str]]) -> float:
    """Whether the newest statement stands above every older one; `ages` go from oldest to newest."""
    places = {id: place for place, id in enumerate(ranking)}
    best = [min((places.get(id, len(ranking)) for id in group), default=len(ranking)) for group in ages]
    return float(best[-1] < min(best[:-1]))


def freshest_on_top(ranking: Sequence[str], gold: Collection[str], moments: Mapping[str, int]) -> float:
    """Whether the freshest of the relevant memories is the very first hit."""
    freshest = max(moments[id] for id in gold)
    return float(bool(ranking) and ranking[0] in gold and moments[ranking[0]] == freshest)


def contains_answer(texts: Sequence[str], answers: Sequence[str], k: int) -> float:
    """SubEM@k: whether one of the answers occurs in one of the first k texts, case aside."""
    seen = [text.casefold() for text in texts[:k]]
    return float(any(answer.casefold() in text for answer in answers for text in seen))


def tokens(text: str) -> int:
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def packed(ranking: Iterable[str], sizes: Mapping[str, int], budget: int) -> list[str]:
    """Hits in rank order as long as they fit; one that does not is skipped, the next may."""
    taken, left = [], budget
    for id in ranking:
        if sizes[id] <= left:
            taken.append(id)
            left -= sizes[id]
    return taken


def precision(found: Collection[str], wanted: Collection[str]) -> float | None:
    """The share of what was found that was wanted; no claim when nothing was, and nothing came."""
    if not found:
        return 0.0 if wanted else None
    return len(set(found) & set(wanted)) / len(set(found))


def recall(found: Collection[str], wanted: Collection[str]) -> float | None:
    return len(set(found) & set(wanted)) / len(set(wanted)) if wanted else None


def precision_recall(positives: Sequence[float], negatives: Sequence[float]) -> list[tuple[float, float]]:
    """(recall, precision) of keeping everything from a threshold up, for every threshold, highest first."""
    points = []
    for threshold in sorted(set(positives), reverse=True):
        kept = sum(value >= threshold for value in positives)
        wrong = sum(value >= threshold for value in negatives)
        points.append((kept / len(positives), kept / (kept + wrong)))
    return points


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


KS = (1, 5, 10, 25, 50)
FEW = 10
"""Up to here, whether some or all of the evidence is there is told apart too."""

BUDGETS = (256, 512, 1024, 2048, 4096, 8192)
ACCURACY_BUDGET = 1024


class Key(Struct, frozen=True):
    """What the scorer must know about a case: where each item belongs, how long and how old it is.

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
    """Every metric of a ranking that this question allows."""
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
    """What the default recall is worth: relevancy, evidence, and which share of all memory it returns."""
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
    """Recency, and the accuracy a perfect reader would have: the evidence, or the answer, is in reach."""
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
    """Figures at every k below the size of what is ranked: from there on, everything is found."""
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
