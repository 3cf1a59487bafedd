"""The figures of one question, from a ranked list of refs."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from memorywire_evals import metrics
from memorywire_evals.cases import Case, Question

KS = (1, 5, 10, 25, 50)
FEW = 10
"""Up to here, whether some or all of the evidence is there is told apart too."""

BUDGETS = (256, 512, 1024, 2048, 4096, 8192)
ACCURACY_BUDGET = 1024


class Key(Struct, frozen=True):
    """What the scorer must know about a case: where each item belongs, how long and how old it is."""

    sessions: dict[str, str]
    sizes: dict[str, int]
    moments: dict[str, int]
    texts: dict[str, str]
    untrusted: Collection[str]

    @classmethod
    def of(cls, case: Case) -> "Key":
        return cls(
            sessions={item.ref: item.session for item in case.items if item.session is not None},
            sizes={item.ref: metrics.tokens(item.content) for item in case.items},
            moments={item.ref: item.occurred_at for item in case.items if item.occurred_at is not None},
            texts={item.ref: item.content for item in case.items},
            untrusted=case.untrusted,
        )


def ranking_figures(question: Question, key: Key, ranked: Sequence[str]) -> dict[str, float]:
    """Every metric of a ranking that this question allows."""
    figures: dict[str, float] = {}
    if question.gold:
        figures |= _levels("turn", ranked, question.gold, len(key.texts))
        figures |= _budgets(question, key, ranked)
    if question.audited:
        figures |= _levels("audited", ranked, question.audited, len(key.texts))
    if question.gold_sessions:
        figures |= _session_figures(question, key, ranked)
    if question.ages:
        figures["newest-above-older"] = metrics.newest_first(ranked, question.ages)
    if question.answers:
        texts = [key.texts[ref] for ref in ranked[:10]]
        figures |= {f"subem@{k}": metrics.contains_answer(texts, question.answers, k) for k in (1, 2, 5, 10)}
    if key.untrusted:
        figures["untrusted@5"] = sum(ref in key.untrusted for ref in ranked[:5]) / max(len(ranked[:5]), 1)
    return figures


def default_figures(
    question: Question, key: Key, kept: Sequence[str], cosines: Sequence[float]
) -> dict[str, float]:
    """What the default recall is worth, and the four figures recency, efficiency, relevancy, accuracy."""
    whole = sum(key.sizes.values())
    figures = {"efficiency": sum(key.sizes[ref] for ref in kept) / whole} if whole else {}
    if kept:
        figures["relevancy"] = sum(cosines) / len(cosines)
    if question.gold and question.answerable:
        figures["default.rec@5"] = metrics.recall_at(kept, question.gold, 5)
        figures["default.any@5"] = metrics.any_at(kept, question.gold, 5)
        figures["default.precision"] = metrics.precision(kept, question.gold) or 0.0
    return figures


def recency_figures(question: Question, key: Key, ranked: Sequence[str]) -> dict[str, float]:
    """Recency, and the accuracy a perfect reader would have: the evidence, or the answer, is in reach."""
    figures: dict[str, float] = {}
    if question.gold and all(ref in key.moments for ref in question.gold):
        figures["recency"] = metrics.freshest_on_top(ranked, question.gold, key.moments)
    reach = metrics.packed(ranked, key.sizes, ACCURACY_BUDGET)
    if question.gold and question.answerable:
        figures["accuracy-bound"] = float(set(question.gold) <= set(reach))
    elif question.answers:
        texts = [key.texts[ref] for ref in reach]
        figures["accuracy-bound"] = metrics.contains_answer(texts, question.answers, len(texts))
    return figures


def _levels(level: str, ranked: Sequence[str], gold: Collection[str], size: int) -> dict[str, float]:
    """Figures at every k below the size of what is ranked: from there on, everything is found."""
    deep = [k for k in KS if k < size]
    few = [k for k in deep if k <= FEW]
    figures = {f"{level}.rec@{k}": metrics.recall_at(ranked, gold, k) for k in deep}
    figures |= {f"{level}.any@{k}": metrics.any_at(ranked, gold, k) for k in few}
    figures |= {f"{level}.all@{k}": metrics.all_at(ranked, gold, k) for k in few if k > 1}
    figures[f"{level}.mrr"] = metrics.reciprocal_rank(ranked, gold)
    figures[f"{level}.ndcg@10"] = metrics.ndcg_at(ranked, gold, 10)
    return figures


def _session_figures(question: Question, key: Key, ranked: Sequence[str]) -> dict[str, float]:
    sessions = metrics.rolled_up(ranked, key.sessions)
    size = len(set(key.sessions.values()))
    figures = _levels("session", sessions, question.gold_sessions, size)
    figures |= {
        f"session.official-ndcg@{k}": metrics.official_ndcg_at(sessions, question.gold_sessions, k)
        for k in (5, 10)
    }
    return figures


def _budgets(question: Question, key: Key, ranked: Sequence[str]) -> dict[str, float]:
    figures = {}
    for budget in BUDGETS:
        taken = metrics.packed(ranked, key.sizes, budget)
        figures[f"evidence@{budget}"] = metrics.recall_at(taken, question.gold, len(taken))
    return figures
