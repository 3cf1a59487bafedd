"""Fits the score of a new value in `memorywire.search.relevance`, and prints the numbers to put there.

    python tools/fit_revisions.py            fit on the parts train and dev of `memorywire eval facts`
    python tools/fit_revisions.py --folds 5  also measure on stores that were held out

Each question offers the best fact and the later ones; the score is fitted so that the right one has the best
chance (a conditional logit with a quadratic penalty). Questions on facts that were not updated take part: for
them the right choice is mostly the best fact itself. The set-off is added to the fitted bias: an outdated
fact misleads more than one about something else.
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memorywire.model.query import Query, Where
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.search.embed import open_embedder
from memorywire.search.question import find_boilerplate, find_names
from memorywire.search.reference import Candidate, compare_facts, cosine, floats, rank
from memorywire.search.relevance import NEW_VALUE, REWORDED, TOP, Fact, measure_new_values, weight
from memorywire.search.text import CHANGED, find_telling, query_terms, read_hidden_terms, terms
from memorywire_evals.assistant.data import Store, read_stores

Floats = NDArray[np.float64]

INPUTS = [*NEW_VALUE][1:]
PENALTY = 10.0
SET_OFF = 0.35
GROUPS = ("updated", "paraphrase", "lookup")
_DAY = 86_400_000
_SCOPE = Scope(tenant="t", agent="a")


class Choice(NamedTuple):
    """A question: the inputs of each later fact, and which one is right (0: the best fact itself)."""

    store: str
    group: str
    inputs: Floats
    right: int | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--parts", nargs="+", default=["train", "dev"])
    parser.add_argument("--folds", type=int, default=0)
    parser.add_argument("--set-off", type=float, default=SET_OFF)
    options = parser.parse_args()
    choices = asyncio.run(_read(options.parts))
    for fold in range(options.folds):
        held = {
            name
            for at, name in enumerate(sorted({one.store for one in choices}))
            if at % options.folds == fold
        }
        bias, weights = _fit([one for one in choices if one.store not in held])
        _report(
            f"fold {fold}", [one for one in choices if one.store in held], bias + options.set_off, weights
        )
    bias, weights = _fit(choices)
    _report("all", choices, bias + options.set_off, weights)
    numbers = {"bias": bias + options.set_off, **dict(zip(INPUTS, weights.tolist(), strict=True))}
    print(json.dumps({name: round(value, 3) for name, value in numbers.items()}, indent=1))


async def _read(parts: Sequence[str]) -> list[Choice]:
    embedder = open_embedder("minilm")
    choices = []
    for part in parts:
        for store in read_stores(part):
            if store.group in GROUPS:
                texts = [*(note.text for note in store.memories), *(one.text for one in store.questions)]
                vectors = [floats(vector) for vector in await embedder.embed(texts)]
                choices += _build_choices(part, store, vectors)
    await embedder.close()
    return choices


def _build_choices(part: str, store: Store, vectors: Sequence[tuple[float, ...]]) -> list[Choice]:
    records = [
        Record(
            id=note.id,
            scope=_SCOPE,
            type=MemoryType.SEMANTIC,
            content=note.text,
            created_at=_DAY * (1 + place),
            updated_at=_DAY * (1 + place),
        )
        for place, note in enumerate(store.memories)
    ]
    candidates = [
        Candidate(record, vector, terms(record.words))
        for record, vector in zip(records, vectors, strict=False)
    ]
    known = {candidate.record.id: candidate for candidate in candidates}
    results = []
    for question, vector in zip(store.questions, vectors[len(records) :], strict=True):
        if question.gold is None:
            continue
        query = Query(
            where=Where(scope=_SCOPE, alive_at=_DAY * 999),
            text=question.text,
            boilerplate=find_boilerplate(question.text),
            settled=True,  # then no fact passes another by a guess
        )
        hits = rank(candidates, vector, query, TOP)
        near = compare_facts([known[hit.record.id].vector for hit in hits])
        facts = [
            _build_fact(
                known[hit.record.id], known[hits[0].record.id], weight(hit.score), value, question.text
            )
            for hit, value in zip(hits, near, strict=True)
        ]
        pairs = measure_new_values(facts)
        ids = [facts[0].id, *(facts[index].id for index in pairs)]
        inputs = np.array([pair[1:] for pair in pairs.values()], float)
        right = ids.index(question.gold) if question.gold in ids else None
        results.append(Choice(f"{part}:{store.id}", store.group, inputs.reshape(-1, len(INPUTS)), right))
    return results


def _build_fact(candidate: Candidate, older: Candidate, evidence: float, near: float, text: str) -> Fact:
    """The fact as the ranker would ask for it; words of the question may tell it from the older one."""
    record, words = candidate.record, query_terms(text)
    missing = {word for word in words if word in older.terms and word not in candidate.terms}
    is_reworded = cosine(candidate.vector, older.vector) >= REWORDED
    lacks = bool(missing if is_reworded else missing & find_telling(words, find_names(text)))
    follows = record.moment > older.record.moment and not lacks
    changes = CHANGED in read_hidden_terms(record)
    return Fact(record.id, near, evidence, candidate.terms.total(), changes, follows)


def _fit(choices: Sequence[Choice], steps: int = 600, rate: float = 0.003) -> tuple[float, Floats]:
    """The bias and the weights; by gradient ascent with momentum on inputs of one scale."""
    everything = np.concatenate([one.inputs for one in choices])
    middle, scale = everything.mean(axis=0), everything.std(axis=0) + 1e-9
    data = [
        (np.c_[np.ones(len(one.inputs)), (one.inputs - middle) / scale], one.right)
        for one in choices
        if one.right is not None and len(one.inputs)
    ]
    factors, step = np.zeros(len(INPUTS) + 1), np.zeros(len(INPUTS) + 1)
    for _ in range(steps):
        slope = -PENALTY * factors
        slope[0] = 0.0
        for rows, right in data:
            odds = np.exp(np.r_[0.0, rows @ factors])
            slope -= (odds / odds.sum())[1:] @ rows
            if right:
                slope += rows[right - 1]
        step = 0.9 * step + slope
        factors = factors + rate * step
    weights = factors[1:] / scale
    return float(factors[0] - weights @ middle), weights


def _report(name: str, choices: Sequence[Choice], bias: float, weights: Floats) -> None:
    for part in sorted({one.store.partition(":")[0] for one in choices}):
        for group in GROUPS:
            some = [one for one in choices if one.store.startswith(f"{part}:") and one.group == group]
            before = [one.right == 0 for one in some]
            after = [_choose(one, bias, weights) == one.right for one in some]
            if some:
                print(f"{name}: {part} {group} {np.mean(before):.3f} -> {np.mean(after):.3f} of {len(some)}")


def _choose(choice: Choice, bias: float, weights: Floats) -> int:
    scores = bias + choice.inputs @ weights
    return 1 + int(scores.argmax()) if len(scores) and scores.max() > 0 else 0


if __name__ == "__main__":
    main()
