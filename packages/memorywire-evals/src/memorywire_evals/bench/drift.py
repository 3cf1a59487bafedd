"""A long run of writes with duplicates; compares answers, embeddings and cost at its end with its start.

A separate process runs the measured memory, in a SQLite file. The same operations go to `memory://` in
this process, the oracle. Each subject is written three times: as it is, unchanged again (must be answered
as a duplicate), and with another spelling (a search must drop it as a copy). After the filling, each
round hard-deletes the oldest subject, writes a new one, and searches for an existing one, so that the memory
keeps its size: whatever changes over time is drift.
"""

import asyncio
import json
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from msgspec import Struct

from memorywire import __version__
from memorywire.client.memory import Memory
from memorywire.model.errors import Conflict
from memorywire.model.record import Json
from memorywire.search.embed import open_embedder
from memorywire_evals.bench.corpus import Fact, facts
from memorywire_evals.bench.drift_worker import AGENT, CountingEmbedder, Played, Player
from memorywire_evals.metrics import percentile

SEED = 1337
WRITES = 10_000
MINUTES = 30.0
PACE = 4.0

KINDS = ("write", "repetition", "copy", "search", "forget")
_TIMES = 3
"""How often each subject is written."""

_CLOSE = 1e-3
"""Scores closer than this are equal: files store vectors as float16."""

MOST_CPU = 1.25
MOST_RESIDENT = 1.05
"""The maximum cost of the last third, relative to the first third."""


class Drift(Struct, frozen=True, kw_only=True):
    """What to run: `writes` to fill the memory, then `pace` rounds a second for some minutes."""

    folder: Path
    writes: int = WRITES
    minutes: float = MINUTES
    pace: float = PACE
    seed: int = SEED


class Step(Struct, frozen=True, kw_only=True):
    """An operation for the worker; `subject` is the number of its subject."""

    kind: str
    subject: int
    payload: Mapping[str, Any]


class Seen(Struct, frozen=True, kw_only=True):
    """The result of a step at a time in seconds, and its difference to the oracle's, if any."""

    at: float
    step: Step
    ours: Played
    fault: str | None = None


Watch = Callable[[float, str], None]


def retype(text: str) -> str:
    """Return the sentence in another spelling: spacing, case of the first letter, a full stop."""
    return text[:1].swapcase() + text[1:].replace(" ", "  ", 1) + "."


def list_writes(number: int, fact: Fact) -> list[Step]:
    """Return the three writes of a subject."""
    texts = (("write", fact.content), ("repetition", fact.content), ("copy", retype(fact.content)))
    return [
        Step(kind=kind, subject=number, payload={"write": text, "id": f"{number}-{kind}"})
        for kind, text in texts
    ]


class Script:
    """Generates the steps; the same seed gives the same steps."""

    def __init__(self, plan: Drift) -> None:
        self._facts = enumerate(facts(plan.seed))
        self._dice = np.random.default_rng(plan.seed)
        self._live: deque[tuple[int, Fact]] = deque()
        self._filling = -(-plan.writes // _TIMES)

    def fill(self) -> Iterator[Step]:
        for number, fact in islice(self._facts, self._filling):
            self._live.append((number, fact))
            yield from list_writes(number, fact)

    def round(self) -> Iterator[Step]:
        """Forget the oldest subject, write a new one, and search for a random one."""
        old, _ = self._live.popleft()
        yield Step(kind="forget", subject=old, payload={"forget": [f"{old}-write", f"{old}-copy"]})
        number, fact = next(self._facts)
        self._live.append((number, fact))
        yield from list_writes(number, fact)
        asked, about = self._live[self._dice.integers(len(self._live))]
        yield Step(kind="search", subject=asked, payload={"search": about.content})


def find_fault(step: Step, ours: Played, oracle: Played) -> str | None:
    """Return what is wrong with an answer, by itself or compared with the oracle's; None if nothing."""
    name = f"{step.kind} of {step.subject}"
    if (ours.status, ours.id, ours.texts) != (oracle.status, oracle.id, oracle.texts):
        return (
            f"{name}: {ours.status} {ours.id}, {ours.texts} texts embedded; "
            f"the oracle: {oracle.status} {oracle.id}, {oracle.texts}"
        )
    if step.kind == "repetition" and (ours.status, ours.id) != ("duplicate", f"{step.subject}-write"):
        return f"{name}: not recognised, but {ours.status} as {ours.id}"
    if step.kind == "forget" and ours.status != "2 forgotten":
        return f"{name}: {ours.status}"
    if step.kind == "search":
        return _find_search_fault(name, step.subject, ours.hits, oracle.hits)
    return None


def _find_search_fault(
    name: str, asked: int, ours: Sequence[tuple[str, float]], oracle: Sequence[tuple[str, float]]
) -> str | None:
    mine, others = ([_subject(id) for id, _ in hits] for hits in (ours, oracle))
    if str(asked) not in mine:
        return f"{name}: not found"
    if len(set(mine)) < len(mine):
        return f"{name}: a copy is among the hits"
    if len(mine) != len(others) or any(
        abs(score - other) > _CLOSE for (_, score), (_, other) in zip(ours, oracle, strict=True)
    ):
        return f"{name}: other hits or scores than the oracle's"
    # Hits that tie with the last one may be cut off on either side.
    last = min((score for _, score in ours), default=0.0) + _CLOSE
    sure = {_subject(id) for id, score in ours if score > last}
    return None if sure <= set(others) else f"{name}: {sure - set(others)} is none of the oracle's hits"


def _subject(id: str) -> str:
    return id.partition("-")[0]


class _Process:
    """The measured process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def play(self, payload: Mapping[str, Any]) -> Played:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise Conflict("cannot communicate with the measured process")
        stdin.write(json.dumps(payload).encode() + b"\n")
        await stdin.drain()
        line = await stdout.readline()
        if not line:
            raise Conflict("the measured process ended")
        return Played(**json.loads(line))


@asynccontextmanager
async def _open_process(url: str) -> AsyncIterator[_Process]:
    command = (sys.executable, "-m", "memorywire_evals.bench.drift_worker", url)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    try:
        yield _Process(process)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()


@asynccontextmanager
async def _open_oracle() -> AsyncIterator[Player]:
    embedder = CountingEmbedder(open_embedder("minilm"))
    async with Memory(AGENT, ["memory://"], embedder=embedder) as memory:
        yield Player(memory, embedder)
    await embedder.close()


async def run_drift(plan: Drift, watch: Watch) -> dict[str, Json]:
    """Run the plan and return its document; `watch` gets the completed share."""
    with TemporaryDirectory(dir=plan.folder, prefix="drift-") as home:
        file = Path(home) / "drift.db"
        script = Script(plan)
        async with _open_process(f"sqlite:///{file}") as process, _open_oracle() as oracle:

            async def play(step: Step, at: float) -> Seen:
                ours, theirs = await asyncio.gather(process.play(step.payload), oracle.play(step.payload))
                return Seen(at=at, step=step, ours=ours, fault=find_fault(step, ours, theirs))

            filled = []
            for step in script.fill():
                filled.append(await play(step, 0.0))
                watch(0.0, "filling")
            before = file.stat().st_size
            seen = [one async for one in _soak(plan, script, play, watch)]
            size = {"file_mb_before": _mb(before), "file_mb_after": _mb(file.stat().st_size)}
    return build_document(plan, filled, seen) | {"size": size}


async def _soak(plan: Drift, script: Script, play: Any, watch: Watch) -> AsyncIterator[Seen]:
    """Play rounds at the pace of the plan until its minutes are over."""
    began, rounds, seconds = time.monotonic(), 0, plan.minutes * 60
    while (at := time.monotonic() - began) < seconds:
        for step in script.round():
            yield await play(step, at)
        rounds += 1
        watch(at / seconds, "rounds")
        await asyncio.sleep(max(0.0, began + rounds / plan.pace - time.monotonic()))


def build_document(plan: Drift, filled: Sequence[Seen], seen: Sequence[Seen]) -> dict[str, Json]:
    """Return the counts of the filling and of both thirds, and the checks."""
    seconds = plan.minutes * 60
    first = [one for one in seen if one.at < seconds / 3]
    last = [one for one in seen if one.at >= seconds * 2 / 3]
    if not first or not last:
        raise Conflict("the run is too short: its first or last third has no operations")
    thirds = {"first third": summarise(first), "last third": summarise(last)}
    faults = [one.fault for one in (*filled, *seen) if one.fault]
    return {
        "run": {
            "version": __version__,
            "writes": plan.writes,
            "minutes": plan.minutes,
            "pace": plan.pace,
            "seed": plan.seed,
            "store": "sqlite",
            "oracle": "memory",
        },
        "filling": count(filled),
        "soak": count(seen),
        **thirds,
        "faults": len(faults),
        "first faults": faults[:20],
        "checks": list_checks(len(faults), *thirds.values()),
    }


def count(seen: Sequence[Seen]) -> dict[str, Json]:
    """Return the counts of writes, recognised duplicates, searches and embedded texts."""
    writes = [one for one in seen if one.step.kind in ("write", "repetition", "copy")]
    searches = [one for one in seen if one.step.kind == "search"]
    return {
        "writes": len(writes),
        "repeated": sum(one.ours.status == "duplicate" for one in writes),
        "texts embedded for writes": sum(one.ours.texts for one in writes),
        "searches": len(searches),
        "texts embedded for searches": sum(one.ours.texts for one in searches),
        "answers that differ": sum(one.fault is not None for one in seen),
    }


def summarise(seen: Sequence[Seen]) -> dict[str, Json]:
    """Return the cost of each kind of operation, and the median resident memory."""
    resident = [one.ours.resident_mb for one in seen if one.ours.resident_mb is not None]
    kinds = {kind: [one.ours for one in seen if one.step.kind == kind] for kind in KINDS}
    return {
        "operations": {kind: _take(played) for kind, played in kinds.items() if played},
        "resident_mb": round(median(resident), 1) if resident else None,
        **count(seen),
    }


def _take(played: Sequence[Played]) -> dict[str, Json]:
    return {
        "count": len(played),
        "p50_ms": round(percentile([one.ms for one in played], 0.5), 3),
        "p95_ms": round(percentile([one.ms for one in played], 0.95), 3),
        "cpu_p50_ms": round(percentile([one.cpu_ms for one in played], 0.5), 3),
        "texts": round(fmean(one.texts for one in played), 3),
    }


def list_checks(faults: int, first: Mapping[str, Any], last: Mapping[str, Any]) -> list[dict[str, Json]]:
    """Return the checks of drift. They use processor time, because other programs affect wall time."""
    checks = [_check("answers that differ from the oracle's, or are wrong", None, faults, 0)]
    for kind in first["operations"]:
        before, now = (third["operations"][kind] for third in (first, last))
        name, was = f"{kind}: processor time, median ms", before["cpu_p50_ms"]
        checks.append(_check(name, was, now["cpu_p50_ms"], round(was * MOST_CPU, 3)))
        if kind != "search":  # the number of compared hits depends on the question
            checks.append(_check(f"{kind}: texts embedded", before["texts"], now["texts"], before["texts"]))
    if first["resident_mb"] is not None:
        was = first["resident_mb"]
        checks.append(_check("resident memory, MB", was, last["resident_mb"], round(was * MOST_RESIDENT, 1)))
    return checks


def _check(name: str, first: float | None, last: float, most: float) -> dict[str, Json]:
    return {"check": name, "first": first, "last": last, "at most": most, "holds": last <= most}


HEADERS = ("", "first third", "last third", "at most", "")
TIMES = ("operation", "third", "count", "p50 ms", "p95 ms", "processor p50 ms", "texts")


def list_check_rows(document: Mapping[str, Any]) -> Iterator[list[str]]:
    for one in document["checks"]:
        first = "" if one["first"] is None else f"{one['first']:g}"
        verdict = "holds" if one["holds"] else "DRIFTS"
        yield [one["check"], first, f"{one['last']:g}", f"{one['at most']:g}", verdict]


def list_time_rows(document: Mapping[str, Any]) -> Iterator[list[str]]:
    for kind in KINDS:
        for third in ("first", "last"):
            one = document[f"{third} third"]["operations"].get(kind)
            if one:
                figures = ("p50_ms", "p95_ms", "cpu_p50_ms", "texts")
                yield [kind, third, str(one["count"]), *(f"{one[name]:g}" for name in figures)]


def list_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the counts as sentences."""
    run, soak = document["run"], document["soak"]
    for name, part in (("filling", document["filling"]), (f"{run['minutes']:g} minutes", soak)):
        yield (
            f"{name}: {part['writes']} writes, {part['repeated']} of them recognised as repetitions, "
            f"{part['texts embedded for writes']} texts embedded for them; {part['searches']} searches, "
            f"{part['texts embedded for searches']} texts embedded; {part['answers that differ']} answers "
            "differ from the oracle's"
        )
    size = document["size"]
    yield f"the file grew from {size['file_mb_before']} to {size['file_mb_after']} MB: the ledger keeps all"


def _mb(size: int) -> float:
    return round(size / 1e6, 1)
