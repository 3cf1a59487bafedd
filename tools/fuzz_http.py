"""Sends a real server what Schemathesis makes up from its description, and counts what comes back wrong.

`python tools/fuzz_http.py --cases 20000 --markdown docs/results/http-<day>.md` is the campaign.
"""

import argparse
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, "-m", "memorywire.cli"]
CASES = re.compile(r"(\d+) generated")
SEED = re.compile(r"Seed: (\d+)")
ROUND = 40  # examples for each operation and run; every run has another seed

# A schema cannot say everything: text with a NUL, integers beyond 64 bits, a moment that is past, a
# version that is not current are refused although they fit it. A body that breaks the schema may be too large
# to be looked at.
SETTINGS = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 403, 404, 409, 412, 422]

[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]
"""


@dataclass(frozen=True)
class Outcome:
    """What a campaign found: how many cases, how the server answered, and which runs failed."""

    cases: int
    statuses: Counter[int]
    failures: list[str]
    seeds: list[str]
    seconds: float

    @property
    def faults(self) -> int:
        return sum(count for status, count in self.statuses.items() if status >= 500)


@contextmanager
def server(folder: Path) -> Iterator[tuple[str, str, Path]]:
    """The URL, a token and the log of a server that ends with this."""
    env = {
        **os.environ,
        "MEMORYWIRE_HOME": str(folder),
        "PYTHONPATH": str(ROOT / "packages/memorywire/src"),
        "PYTHONUNBUFFERED": "1",
    }
    add = [*COMMAND, "operator", "add", "fuzz", "--role", "admin", "--tenants", "*", "--json"]
    token = json.loads(subprocess.run(add, env=env, capture_output=True, check=True).stdout)["token"]
    log = folder / "server.log"
    with log.open("wb") as written:
        options = ["serve", "--port", "0", "--json", "--rate", "1000000"]
        process = subprocess.Popen([*COMMAND, *options], env=env, stdout=subprocess.PIPE, stderr=written)
    assert process.stdout is not None
    try:
        url = json.loads(process.stdout.readline())["url"]
        yield url, token, log
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def run(
    url: str, token: str, folder: Path, *, examples: int, phases: str, seed: int | None = None
) -> subprocess.CompletedProcess[str]:
    (folder / "schemathesis.toml").write_text(SETTINGS, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("st")), "run", f"{url}/openapi.json"]
    command += ["--header", f"Authorization: Bearer {token}", "--checks", "all", "--phases", phases]
    command += ["--max-examples", str(examples), "--continue-on-failure", "--warnings", "off", "--no-color"]
    command += ["--exclude-path", "/v0/events"]  # it has no end
    command += ["--exclude-path-regex", "^/v0/reviews/"]  # signed by the secret of a webhook
    # Seconds; nothing here is judged by a clock, since the machine may have other work.
    command += ["--request-timeout", "60", "--max-response-time", "60", "--suppress-health-check", "too_slow"]
    command += ["--generation-database", "none"]
    command += [] if seed is None else ["--seed", str(seed)]
    env = {**os.environ, "no_proxy": "*"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


def campaign(
    cases: int, phases: str = "examples,fuzzing", seconds: float = math.inf, seed: int | None = None
) -> Outcome:
    """Runs until so many cases were sent, or the time is over.

    Each run has another seed: one that was never tried, or `seed` and those that follow it.
    """
    sent, failures, seeds, began = 0, [], [], time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with server(folder) as (url, token, log):
            while sent < cases and time.monotonic() - began < seconds:
                examples = max(2, min(ROUND, (cases - sent) // 50))
                chosen = None if seed is None else seed + len(seeds)
                done = run(url, token, folder, examples=examples, phases=phases, seed=chosen)
                counted = CASES.search(done.stdout)
                if counted is None:
                    raise SystemExit(done.stdout + done.stderr)
                sent += int(counted[1])
                seeds += SEED.findall(done.stdout)
                failures += [done.stdout] if done.returncode else []
                print(f"{sent} cases, {len(failures)} runs with failures", file=sys.stderr)
            statuses = Counter(_statuses(log))
    return Outcome(sent, statuses, failures, seeds, time.monotonic() - began)


def _statuses(log: Path) -> Iterator[int]:
    for line in log.read_text(encoding="utf-8").splitlines():
        if '"status"' in line:
            yield json.loads(line)["status"]


def report(found: Outcome) -> str:
    rows = "\n".join(f"| {status} | {count} |" for status, count in sorted(found.statuses.items()))
    machine = f"CPython {platform.python_version()}, {os.cpu_count()} cores shared with other work"
    runs = f"{len(found.failures)} of {len(found.seeds)} runs with a failed check"
    return f"""# HTTP: generated requests, {time.strftime("%Y-%m-%d")}

```text
python tools/fuzz_http.py --cases {found.cases // 1000 * 1000}
```

Schemathesis, all of its checks, against a server with an operator's token and the default policy; the
requests are made from `/openapi.json`. {machine}.

**{found.cases} cases in {found.seconds:.0f} s: {found.faults} answers of 5xx, {runs}.**

| status | answers |
|---|---|
{rows}

A request that fits its schema may still be refused with 400, 409, 412 or 422, which the checks are told:
no schema says that text has no NUL and integers have 64 bits, that a moment is in the future, or that a
version is current.

Seeds: {", ".join(found.seeds)}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500, help="how many requests to send, at least")
    parser.add_argument("--phases", default="examples,fuzzing", help="phases of Schemathesis")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no run after this")
    parser.add_argument("--seed", type=int, help="the first seed, to see a run again; else they are random")
    parser.add_argument("--markdown", type=Path, help="write a report")
    asked = parser.parse_args()
    found = campaign(asked.cases, asked.phases, asked.seconds, asked.seed)
    for failure in found.failures:
        print(failure)
    print(f"cases={found.cases} 5xx={found.faults} failed_runs={len(found.failures)}", dict(found.statuses))
    if asked.markdown:
        asked.markdown.write_text(report(found), encoding="utf-8")
    return int(bool(found.failures or found.faults))


if __name__ == "__main__":
    sys.exit(main())
