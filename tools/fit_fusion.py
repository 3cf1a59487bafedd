"""Compares weights of the ranking's signals on the development parts of several sets, each set left out once.

    python tools/fit_fusion.py FOLDER                   the weights as they are, and without each signal
    python tools/fit_fusion.py FOLDER --samples 30      weights drawn at random, near those as they are
    python tools/fit_fusion.py FOLDER --set SPOKE=1.5   these weights beside those as they are

FOLDER is that of the evaluation sets. The memories of every set are written once; then all questions are
asked with each choice of weights, through the client, by the ranker that every store uses. The worth of a
choice on a set is the mean of R@5, R@10 and MRR. For each set the tool also prints what it gains by the
choice that is best on the *other* sets: a gain that holds there was not fitted to the set. The numbers for
`memorywire.search.relevance` are printed last; a choice that is hardly better than the present one is not
worth a change.
"""

import argparse
import asyncio
import random
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np

from memorywire.index import arrays, ranking, ties
from memorywire.search import reference, relevance
from memorywire.search.embed import open_embedder
from memorywire_evals.cases import Case
from memorywire_evals.datasets import load
from memorywire_evals.memory_under_test import MemoryUnderTest, open_memory
from memorywire_evals.metrics import Key, ranking_figures
from memorywire_evals.run import CachedEmbedder
from memorywire_evals.sets import KINDS

SETS = ("locomo", "realtalk", "prefeval", "beam", "halumem")
METRICS = ("turn.rec@5", "turn.rec@10", "turn.mrr")
MODULES = (relevance, reference, ranking, ties, arrays)
DEPTH = 50

NEAR = {
    "TEXT_WEIGHT": (1.25, 1.5, 1.75, 2.0, 2.4),
    "TEXT_POWER": (1.25, 1.5, 1.75),
    "COSINE_POWER": (1.75, 2.0, 2.25),
    "SPOKE": (1.3, 1.5, 1.7, 1.9),
    "MACHINE_SAID": (0.35, 0.5, 0.7),
    "MACHINE_LENDS": (0.25, 0.5, 1.0),
    "IN_TIME": (1.2, 1.3, 1.5),
    "ASKING": (0.3, 0.5, 0.65),
    "LENGTHY": (200, 400, 800),
    "WORD_MATCH": (1.0, 1.25, 1.5, 1.75),
    "WORD_FLOOR": (0.42, 0.45, 0.48, 0.5),
}
WITHOUT = {
    "terms": {"TEXT_WEIGHT": 0.0},
    "words": {"WORD_MATCH": 0.0},
    "speaker": {"SPOKE": 1.0},
    "role": {"MACHINE_SAID": 1.0, "MACHINE_LENDS": 1.0},
    "time": {"IN_TIME": 1.0, "AGO": 1.0},
    "asks": {"ASKING": 0.0},
    "brevity": {"LENGTHY": 1e9},
    "newest of facts": {"NEAR_TIE": 2.0},
    "newest session": {"LEADERS_TIE": 2.0},
}

Weights = Mapping[str, float]
Asked = Sequence[tuple[Case, MemoryUnderTest]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--samples", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", dest="chosen", nargs="+", default=[], metavar="NAME=VALUE")
    parser.add_argument("--cache", type=Path, help="where embedded texts are kept between runs")
    options = parser.parse_args()
    choices: dict[str, Weights] = {"as they are": {}}
    if options.chosen:
        pairs = [one.partition("=") for one in options.chosen]
        if unknown := [name for name, _, value in pairs if name not in NEAR or not value]:
            parser.error(f"not a weight with a value: {', '.join(unknown)}; weights are {', '.join(NEAR)}")
        choices[" ".join(options.chosen)] = {name: float(value) for name, _, value in pairs}
    dice = random.Random(options.seed)
    for number in range(options.samples):
        names = dice.sample(sorted(NEAR), dice.choice([2, 4, 6]))
        choices[f"sample {number + 1}"] = {name: dice.choice(NEAR[name]) for name in names}
    if len(choices) == 1:
        choices |= {f"without {name}": weights for name, weights in WITHOUT.items()}
    asyncio.run(_compare(options, choices))


async def _compare(options: argparse.Namespace, choices: Mapping[str, Weights]) -> None:
    embedder = CachedEmbedder(open_embedder("minilm"), options.cache)
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            memories = {}
            for name in options.sets:
                dataset = load(KINDS[name], options.folder, split="dev", roles="all")
                memories[name] = [
                    (case, await _fill(stack, name, case, embedder, f"{folder}/{name}-{number}.db"))
                    for number, case in enumerate(map(dataset.build, dataset.case_ids))
                ]
            worth = []
            print(f"{'':24}" + "".join(f"{name:>28}" for name in options.sets) + f"{'mean':>8}")
            for label, weights in choices.items():
                with _Patched(weights):
                    figures = [await _measure(asked) for asked in memories.values()]
                worth.append([float(np.mean(figure)) for figure in figures])
                cells = ["  ".join(f"{value:.4f}" for value in figure) for figure in figures]
                mean = f"{np.mean(worth[-1]):8.4f}"
                print(f"{label:24}" + "".join(f"{cell:>28}" for cell in cells) + mean, flush=True)
    await embedder.release()
    _show_left_out(options.sets, choices, np.array(worth))


async def _fill(
    stack: AsyncExitStack, name: str, case: Case, embedder: CachedEmbedder, path: str
) -> MemoryUnderTest:
    """A memory with everything that the case remembers; it stays open."""
    memory = await stack.enter_async_context(
        open_memory(name, case, stores=[f"sqlite:///{path}"], embedder=embedder)
    )
    await memory.tell(case.items)
    return memory


async def _measure(asked: Asked) -> list[float]:
    """R@5, R@10 and MRR over the questions that have evidence."""
    rows = []
    for case, memory in asked:
        key = Key.of(case)
        for question in case.questions:
            if question.gold and question.answerable:
                heard = await memory.ask(question, k=DEPTH, min_relevance="off")
                figures = ranking_figures(question, key, heard.refs)
                rows.append([figures[metric] for metric in METRICS])
    return [float(value) for value in np.mean(rows, axis=0)]


class _Patched:
    """Weights of the ranking, in every module that has read them, for as long as it is entered."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._before = [
            (module, name, getattr(module, name))
            for module in MODULES
            for name in weights
            if hasattr(module, name)
        ]

    def __enter__(self) -> None:
        for module, name, _ in self._before:
            setattr(module, name, self._weights[name])

    def __exit__(self, *_: object) -> None:
        for module, name, value in self._before:
            setattr(module, name, value)


def _show_left_out(sets: Sequence[str], choices: Mapping[str, Weights], worth: np.ndarray) -> None:
    """What each set gains by the choice that is best on the others, and the choice that is best on all."""
    gains, labels = worth - worth[0], list(choices)
    print("\nleft out: the best choice on the other sets, and its gain there and on the one left out")
    for at, name in enumerate(sets):
        others = np.delete(gains, at, axis=1).mean(axis=1) if len(sets) > 1 else gains[:, 0]
        best = int(others.argmax())
        print(f"{name:12} {labels[best]:24} {others[best]:+.4f} {gains[best, at]:+.4f}")
    best = int(gains.mean(axis=1).argmax())
    print(f"\nbest on all: {labels[best]} {dict(choices[labels[best]])}")


if __name__ == "__main__":
    main()
