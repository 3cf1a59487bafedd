"""Compares the speed of two installs in one run: remember, recall, keys, bulk and start, by turns.

    python tools/compare_speed.py BEFORE/.venv/bin/python AFTER/.venv/bin/python [--rounds 9]

Each round runs the same work in both, one after the other, in an order that changes. Printed are the medians
over the rounds and the ratio after/before with the range that the middle half of the rounds covers.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 1.05

WORK = Path(__file__).with_name("speed_work.py")
STARTS = {
    "start: import memorywire": ["-c", "import memorywire"],
    "start: memorywire --help": ["-m", "memorywire", "--help"],
}


def measure(python: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([python, WORK, folder], check=True, capture_output=True, text=True, cwd=folder)
        figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        for name, words in STARTS.items():
            times = []
            for _ in range(5):
                started = time.perf_counter()
                subprocess.run([python, *words], check=True, capture_output=True, cwd=folder)
                times.append((time.perf_counter() - started) * 1e3)
            figures[name] = statistics.median(times)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    rounds: list[dict[str, dict[str, float]]] = []
    pythons = {"before": str(options.before.absolute()), "after": str(options.after.absolute())}
    for number in range(options.rounds):
        names = sorted(pythons, reverse=bool(number % 2))
        rounds.append({name: measure(pythons[name]) for name in names})
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    print("| what | before ms | after ms | ratio | middle half |\n|---|--:|--:|--:|--:|")
    for what in rounds[0]["before"]:
        before, after = (statistics.median(one[name][what] for one in rounds) for name in ("before", "after"))
        ratios = sorted(one["after"][what] / one["before"][what] for one in rounds)
        low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
        ratio = statistics.median(ratios)
        mark = "" if ratio <= LIMIT else " (over 1.05)"
        print(f"| {what} | {before:.3f} | {after:.3f} | {ratio:.2f}{mark} | {low:.2f} to {high:.2f} |")


if __name__ == "__main__":
    main()
