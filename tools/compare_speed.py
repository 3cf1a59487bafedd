"""Compares the speed of two installs in one run: remember, recall, keys, bulk and start, by turns.

    python tools/compare_speed.py BEFORE/.venv/bin/python AFTER/.venv/bin/python [--rounds 40] [--only recall]
    python tools/compare_speed.py ... --instructions     counts instead of timing; needs valgrind

Both must have the same packages installed, or the start is not comparable. One process of each stays open
and runs short slices of the same work in turns, in an order that changes, on one core. Printed are the
medians, and the median of the ratios of neighbouring slices with its 95 % interval: by the clock, and by
processor time, which other programs disturb less. Counted instructions are the difference of a long and a
short run, so they hardly vary from run to run.
"""

import argparse
import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

LIMIT = 1.05

WORK = Path(__file__).with_name("speed_work.py")
# How often a slice calls each operation: some 50 ms each.
SLICES = {
    "remember without embedding": 60,
    "remember": 40,
    "recall without embedding": 50,
    "recall of 160": 50,
    "recall of 340": 50,
    "kv set": 60,
    "kv get": 500,
    "bulk of 3,000 without embedding": 1,
}
STARTS = {
    "start: import memorywire": ["-c", "import memorywire"],
    "start: memorywire --help": ["-m", "memorywire", "--help"],
    "start: first remember": ["-m", "memorywire", "remember", "The red lamp is on floor 9", "--agent", "ana"],
}


class Worker:
    """A process of one install that runs slices of work."""

    def __init__(self, python: str, folder: str) -> None:
        self._python, self._folder, self._starts = python, folder, 0
        self._process = subprocess.Popen(
            [python, WORK, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=build_environment(folder),
        )

    def run(self, what: str) -> tuple[float, float]:
        """The milliseconds of one call: by the clock, and of the processor."""
        if what in STARTS:
            return self._start(STARTS[what])
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{what} {SLICES[what]}\n")
        self._process.stdin.flush()
        clock, processor = json.loads(self._process.stdout.readline())
        return clock, processor

    def _start(self, words: list[str]) -> tuple[float, float]:
        self._starts += 1
        home = f"{self._folder}/start{self._starts}"
        environment = build_environment(home)
        command = [self._python, *words]
        used, started = _processor_time(), time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, cwd=self._folder, env=environment)
        return (time.perf_counter() - started) * 1e3, _processor_time() - used

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def build_environment(home: str) -> dict[str, str]:
    """Without settings or data of the user; compiled modules are kept, or each start would compile them."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "MEMORYWIRE_DATA_DIR": home, "HOME": home, "XDG_DATA_HOME": home}


def _processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1e3


@contextmanager
def open_worker(python: str) -> Iterator[Worker]:
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker(python, folder)
        yield worker
        worker.close()


def compare_times(pythons: Sequence[str], operations: Sequence[str], rounds: int) -> None:
    print("| what | before ms | after ms | clock: ratio | 95 % | processor: ratio | 95 % |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    with ExitStack() as stack:
        workers = [stack.enter_context(open_worker(python)) for python in pythons]
        for what in operations:
            for worker in workers:
                worker.run(what)  # the first slice opens files and warms caches
            pairs = []
            for number in range(rounds):
                order = (0, 1) if number % 2 else (1, 0)
                slices = {at: workers[at].run(what) for at in order}
                pairs.append((slices[0], slices[1]))
            before, after = (statistics.median(pair[at][0] for pair in pairs) for at in (0, 1))
            cells = [describe_ratios([two[at] / one[at] for one, two in pairs]) for at in (0, 1)]
            print(f"| {what} | {before:.3f} | {after:.3f} | {' | '.join(cells)} |", flush=True)


def describe_ratios(ratios: Sequence[float]) -> str:
    """The median and its interval, from the order of the ratios (the sign test)."""
    ordered, half = sorted(ratios), 0.98 * math.sqrt(len(ratios))
    low = ordered[max(0, math.floor(len(ordered) / 2 - half))]
    high = ordered[min(len(ordered) - 1, math.ceil(len(ordered) / 2 + half))]
    ratio = statistics.median(ordered)
    return f"{ratio:.2f}{'' if ratio <= LIMIT else ' (over)'} | {low:.2f} to {high:.2f}"


def compare_instructions(pythons: Sequence[str], operations: Sequence[str]) -> None:
    print("| what | before, thousands | after | ratio |\n|---|--:|--:|--:|")
    for what in operations:
        before, after = (count_instructions(python, what) / 1e3 for python in pythons)
        print(f"| {what} | {before:,.0f} | {after:,.0f} | {after / before:.3f} |", flush=True)


def count_instructions(python: str, what: str) -> float:
    """Instructions of one call."""
    if what in STARTS:
        return _count([python, *STARTS[what]], "")
    calls = (1, 2) if SLICES[what] == 1 else (10, 60)
    short, long = (_count([python, str(WORK), "."], f"{what} {count}\n" * 2) for count in calls)
    return (long - short) / (calls[1] - calls[0]) / 2


def _count(command: list[str], text: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        # Threads that wait would count as well.
        environment = {**build_environment(folder), "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
        command = [*valgrind, *command]
        done = subprocess.run(
            command, input=text, check=True, capture_output=True, text=True, cwd=folder, env=environment
        )
    refs = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    assert refs, done.stderr
    return int(refs[1].replace(",", ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", default="", help="operations whose name contains this")
    parser.add_argument("--core", type=int, help="the core to run on, by default the last one")
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    pythons = [str(path.absolute()) for path in (options.before, options.after)]
    operations = [what for what in (*SLICES, *STARTS) if options.only in what]
    if options.instructions:
        compare_instructions(pythons, operations)
        return
    if hasattr(os, "sched_setaffinity"):
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {max(cores) if options.core is None else options.core})
    print(f"{options.rounds} rounds", file=sys.stderr)
    compare_times(pythons, operations, options.rounds)


if __name__ == "__main__":
    main()
