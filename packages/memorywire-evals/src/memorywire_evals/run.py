"""Runs the cases of a set, saves each when finished, and summarises; checks parity of shared memories."""

import asyncio
import hashlib
import json
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from functools import partial
from pathlib import Path
from threading import Lock

from msgspec import Struct
from msgspec.structs import asdict, replace

import memorywire
from memorywire import __version__
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.model.space import Space
from memorywire.search.embed import Embedder, open_embedder
from memorywire.search.relevance import read_tokens
from memorywire_evals.cases import Case, Dataset, Question
from memorywire_evals.datasets import load
from memorywire_evals.examine import Bench, examine
from memorywire_evals.memory_under_test import MemoryUnderTest, open_memory
from memorywire_evals.results import (
    OURS,
    PUBLISHED,
    Examined,
    Folder,
    code,
    digest,
    hash_text,
    machine,
    record,
    to_json,
    without_login,
    write_document,
)
from memorywire_evals.seeds import arrange, combine, restore
from memorywire_evals.sets import Kind
from memorywire_evals.summary import summarise, timing
from memorywire_evals.tables import targets
from memorywire_evals.trajectories import SUFFIX, Trajectories, Trajectory
from memorywire_minilm import Reading

_SCHEMA = "CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"

_AT_ONCE = 512
"""Texts embedded and cached per batch: an interrupted run keeps the finished batches."""


class CachedEmbedder:
    """Caches the vectors of an embedder by a hash of space and text, in a file if one is named.

    It outlives the memories that use it: their `close` does nothing; `release` closes it.
    """

    def __init__(self, inner: Embedder, path: Path | None = None) -> None:
        self._inner = inner
        self._form = "\0tokens" if getattr(inner, "gives_tokens", False) else ""
        self._lock = Lock()
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        # An empty name is a temporary file: large sets do not fit in memory.
        self._db = sqlite3.connect(str(path or ""), timeout=60, check_same_thread=False, isolation_level=None)
        try:
            self._db.execute("PRAGMA journal_mode = WAL")  # two runs may share a file
            self._db.execute("PRAGMA synchronous = OFF")  # vectors lost in a crash are embedded again
            self._db.execute(_SCHEMA)
        except sqlite3.DatabaseError as error:
            self._db.close()
            busy = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
            cause = "another run writes to it" if busy else "a damaged one may be deleted"
            raise InvalidRequest(
                f"{path} cannot be used for embedded texts: {error}",
                field="cache",
                fix=f"name another file with --cache; {cause}",
            ) from error
        self.hits = 0
        self.misses = 0

    @property
    def space(self) -> Space:
        return self._inner.space

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        vectors: list[bytes] = []
        for start in range(0, len(texts), _AT_ONCE):
            vectors += await self._embed(texts[start : start + _AT_ONCE])
        return vectors

    async def _embed(self, texts: Sequence[str]) -> list[bytes]:
        keys = [self._key(text) for text in texts]
        known = await asyncio.to_thread(self._read, keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        self.hits += len(texts) - len(missing)
        self.misses += len(missing)
        if missing:
            vectors = await self._inner.embed(list(missing.values()))
            values = [vector + (read_tokens(vector) or b"") for vector in vectors]
            fresh = dict(zip(missing, values, strict=True))
            await asyncio.to_thread(self._write, fresh)
            known |= fresh
        return [self._build_reading(text, known[key]) for text, key in zip(texts, keys, strict=True)]

    def _build_reading(self, text: str, value: bytes) -> bytes:
        """Return the vector at the start of the value, with the tokens that follow it."""
        size = 4 * self.space.dimension
        return Reading.of(text, value[:size], value[size:]) if self._form else value

    async def close(self) -> None:
        """Do nothing: other memories use the embedder."""

    async def release(self) -> None:
        """Close the file and the inner embedder."""
        self._db.close()
        await self._inner.close()

    def _key(self, text: str) -> bytes:
        return hashlib.blake2b(f"{self.space}{self._form}\0{text}".encode(), digest_size=16).digest()

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        with self._lock:
            asked = (
                (key, self._db.execute("SELECT value FROM vector WHERE key = ?", (key,))) for key in keys
            )
            rows = [(key, row) for key, cursor in asked if (row := cursor.fetchone())]
        return {key: row[0] for key, row in rows}

    def _write(self, fresh: dict[bytes, bytes]) -> None:
        with self._lock, closing(self._db.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            cursor.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", fresh.items())
            cursor.execute("COMMIT")


Told = Callable[[float, int, str], None]


def _nobody(done: float, of: int, note: str) -> None:
    """Ignore progress."""


class Plan(Struct, frozen=True, kw_only=True):
    """What to run and where to write it; without `stores`, a temporary file is used.

    A run uses one `seed`; `seeds` is the number of runs. With `trajectories`, every step is
    written to a file.
    """

    kind: Kind
    data: Path
    out: Path
    split: str = "test"
    roles: str = "all"
    stores: tuple[str, ...] = ()
    limit: int | None = None
    fresh: bool = False
    baselines: bool = True
    embedder: str = "minilm"
    embedder_key: str | None = None
    cache: Path | None = None
    seeds: int = 1
    seed: int = 0
    trajectories: bool = False

    def conditions(self, dataset: Dataset) -> dict[str, Json]:
        """Return the conditions that all cases of one run share."""
        return {
            "set": dataset.name,
            "split": dataset.split,
            "data": dataset.digest,
            "roles": self.roles,
            "store": _schemes(self.stores),
            **_address(self.stores),
            "embedder": without_login(self.embedder),
            "baselines": self.baselines,
            **({"seed": self.seed} if self.seed else {}),
            "version": __version__,
            "code": code(Path(memorywire.__file__).parent, Path(__file__).parent),
        }


async def run(plan: Plan, *, date: str, command: str, tell: Told, watch: Told = _nobody) -> dict[str, Json]:
    """Run the plan and return its document; finished cases of an interrupted run are not repeated.

    `tell` is called once for each case, `watch` also during a case.
    """
    dataset = await asyncio.to_thread(load, plan.kind, plan.data, split=plan.split, roles=plan.roles)
    conditions = await asyncio.to_thread(plan.conditions, dataset)
    folder = Folder(out=plan.out, version=__version__, name=_name(plan, dataset))
    done = {case.case: case for case in folder.begin(conditions, fresh=plan.fresh)}
    wanted = dataset.case_ids[: plan.limit]
    steps = Trajectories(folder.trajectories) if plan.trajectories else None
    async with context(plan, dataset) as bench:
        for place, id in enumerate(wanted):
            if id in done and (steps is None or steps.has(id)):
                continue
            tell(place, len(wanted), id)
            advance = partial(_within, watch, place, len(wanted), id)
            trajectory = None if steps is None else Trajectory(id)
            case = dataset.build(id)
            results = await examine(
                arrange(case, plan.seed),
                foreign(plan.kind, dataset, id),
                replace(bench, trajectory=trajectory),
                advance,
            )
            if steps is not None and trajectory is not None:  # the line marks the case as finished
                await asyncio.to_thread(steps.save, trajectory)
            done[id] = await asyncio.to_thread(folder.add, restore(results, case))
    tell(len(wanted), len(wanted), "summary")
    cases = [done[id] for id in wanted]
    document = await asyncio.to_thread(_document, plan, conditions, cases, len(dataset.case_ids))
    document |= {"digest": digest(document), "date": date}
    kept = await asyncio.to_thread(folder.finish, document)
    entry = {name: document[name] for name in ("date", "digest", "machine", "run", "cases", "timing")}
    entry |= {"file": kept.relative_to(plan.out).as_posix(), "figures": _list_figures(document["summary"])}
    if steps is not None:
        joined = await asyncio.to_thread(steps.join, wanted, kept.with_suffix(SUFFIX))
        entry["trajectories"] = joined.relative_to(plan.out).as_posix()
    record(plan.out, {**entry, "command": command, "void": document["summary"]["void"]})
    return document


def _name(plan: Plan, dataset: Dataset) -> str:
    return f"{dataset.name}-{dataset.split}" + (f"-seed{plan.seed}" if plan.seed else "")


async def run_seeds(plan: Plan, *, date: str, command: str, tell: Told) -> dict[str, Json]:
    """Run the plan once per seed; return the combined document. Each run is saved by itself as well."""
    documents = []
    for seed in range(plan.seeds):
        one = replace(plan, seed=seed)
        documents.append(await run(one, date=date, command=command, tell=tell, watch=tell))
    first = documents[0]
    document: dict[str, Json] = {
        "run": first["run"],
        "cases": first["cases"],
        "view": first["summary"]["view"],
        **combine(documents),
        "machine": machine(),
        "date": date,
        "command": command,
    }
    name = f"{first['run']['set']}-{first['run']['split']}-seeds"
    ours = document["views"][document["view"]].get(OURS, {})
    document["figures"] = {**ours, **document["admission"], **document["ingest"]}
    tables = ("views", "categories", "admission", "ingest")
    await asyncio.to_thread(write_document, plan.out, name, document, tables)
    return document


def _list_figures(summary: dict[str, Json]) -> dict[str, Json]:
    """Return our figures in the headline view, those of admission, and the dedup rate."""
    table = summary["views"].get(summary["view"], {"systems": {}})
    single = {name: value for name, value in summary["admission"].items() if not isinstance(value, list)}
    repeated = {name: value for name, value in summary["ingest"].items() if name == "dedup rate"}
    return {**table["systems"].get(OURS, {}), **single, **repeated}


def _within(watch: Told, place: int, of: int, id: str, share: float) -> None:
    watch(place + share, of, id)


def foreign(kind: Kind, dataset: Dataset, id: str) -> tuple[Question, ...]:
    """Return the next case's answerable questions, which this case cannot answer."""
    if not kind.foreign or len(dataset.case_ids) < 2:
        return ()
    following = dataset.case_ids[(dataset.case_ids.index(id) + 1) % len(dataset.case_ids)]
    return tuple(question for question in dataset.build(following).questions if question.answerable)


@asynccontextmanager
async def context(plan: Plan, dataset: Dataset) -> AsyncIterator[Bench]:
    """Open the store and embedder of a run."""
    embedder = CachedEmbedder(open_embedder(plan.embedder, api_key=plan.embedder_key), plan.cache)
    try:
        with tempfile.TemporaryDirectory(prefix="memorywire-eval-") as folder:
            yield Bench(
                set_name=f"{plan.kind.name}-{_mark(plan, dataset)}",
                stores=plan.stores or (f"sqlite:///{folder}/eval.db",),
                embedder=embedder,
                baselines=plan.baselines,
            )
    finally:
        await embedder.release()


def _document(plan: Plan, conditions: dict[str, Json], cases: list[Examined], whole: int) -> dict[str, Json]:
    headlines = [target.metric for target in targets(plan.kind.name)]
    return {
        "run": conditions,
        "cases": {"done": len(cases), "of": whole},
        "summary": summarise(plan.kind, cases, headlines),
        "timing": timing(cases),
        "machine": machine(),
        "rows": [row for case in cases for row in to_json(case)["rows"]],
    }


def _schemes(stores: Sequence[str]) -> str:
    """Return the schemes of the store URLs, without paths and passwords."""
    return " and ".join(url.partition("://")[0] for url in stores) or "sqlite (temporary file)"


def _address(stores: Sequence[str]) -> dict[str, Json]:
    """Return a hash of the store URLs, which identifies them without revealing address or login."""
    if not stores:
        return {}
    return {"address": hash_text(" ".join(sorted(without_login(url).partition("?")[0] for url in stores)))}


def _mark(plan: Plan, dataset: Dataset) -> str:
    """Return a hash of the data, so that memories of other data in a store get other names."""
    return hash_text(f"{dataset.digest} {plan.roles}")


MARK = "haystack"


class Parity(Struct, frozen=True, kw_only=True):
    """The result of the comparison; `leaks` counts hits that belong to another case."""

    cases: int
    questions: int
    memories: int
    leaks: int
    differences: tuple[str, ...]


async def recorded(plan: Plan, *, date: str, command: str, tell: Told) -> dict[str, Json]:
    """Compare, and return the document, which is saved with those of the runs and in their ledger."""
    results = await parity(plan, tell=tell)
    dataset = await asyncio.to_thread(load, plan.kind, plan.data, split=plan.split, roles=plan.roles)
    conditions = await asyncio.to_thread(plan.conditions, dataset)
    document = {
        **asdict(results),
        "differences": list(results.differences),
        "run": {name: value for name, value in conditions.items() if name != "baselines"},
        "machine": machine(),
        "date": date,
    }
    place = plan.out / __version__ / f"{dataset.name}-{dataset.split}-parity.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, sort_keys=True, indent=1) + "\n"
    await asyncio.to_thread(place.write_text, text, encoding="utf-8")
    await asyncio.to_thread(record, plan.out, {**document, "command": command})
    return document


async def parity(plan: Plan, *, tell: Told) -> Parity:
    """Fill both kinds of memory with the same items and ids of the same order, and compare their answers."""
    dataset = load(plan.kind, plan.data, split=plan.split, roles=plan.roles)
    wanted = dataset.case_ids[: plan.limit]
    differences: list[str] = []
    leaks = questions = memories = 0
    async with context(plan, dataset) as given:
        # A normal run of this set stores the same memories without the mark.
        bench = replace(given, set_name=f"{given.set_name}-parity")
        for place, id in enumerate(wanted):
            tell(place, 2 * len(wanted), f"fill {id}")
            case = dataset.build(id)
            memories += len(case.items)
            differences += await _fill(case, bench)
        for place, id in enumerate(wanted, start=len(wanted)):
            tell(place, 2 * len(wanted), f"ask {id}")
            case = dataset.build(id)
            questions += len(case.questions)
            results, leaked = await _compare(case, bench)
            differences += results
            leaks += leaked
    return Parity(
        cases=len(wanted),
        questions=questions,
        memories=memories,
        leaks=leaks,
        differences=tuple(differences),
    )


async def _fill(case: Case, bench: Bench) -> list[str]:
    """Fill both memories; return the items not stored. Both get the mark, so that the texts are equal."""
    faults: list[str] = []
    marks = {MARK: case.id}
    for name, opened in (("alone", _alone), ("shared", _share_memory)):
        async with opened(case, bench) as seat:
            faults += [f"{case.id} {name} lacks {fault}" for fault in await seat.tell(case.items, marks)]
    return faults


async def _compare(case: Case, bench: Bench) -> tuple[list[str], int]:
    async with _alone(case, bench) as alone, _share_memory(case, bench) as shared:
        differences, leaks = [], 0
        known = {item.ref for item in case.items}
        for question in case.questions:
            own = await alone.ask(question, k=PUBLISHED, min_relevance="off")
            filtered = await shared.ask(
                question, k=PUBLISHED, min_relevance="off", filter={f"metadata.{MARK}": case.id}
            )
            leaks += sum(ref not in known for ref in filtered.refs)
            if own.refs != filtered.refs:
                differences.append(_difference(question.id, own.refs, filtered.refs))
            elif known and not own.refs:  # equal empty answers prove nothing
                differences.append(f"{question.id}: nothing was recalled")
        return differences, leaks


def _alone(case: Case, bench: Bench) -> AbstractAsyncContextManager[MemoryUnderTest]:
    return open_memory(bench.set_name, case, stores=bench.stores, embedder=bench.embedder)


def _share_memory(case: Case, bench: Bench) -> AbstractAsyncContextManager[MemoryUnderTest]:
    """Open the memory of the agent that all cases share, separate from other runs in the store.

    It uses the stores' tenant: a token of a server may be valid for no other.
    """
    name = f"{bench.set_name}-shared"
    return open_memory(name, case, stores=bench.stores, embedder=bench.embedder, agent=f"eval:{name}")


def _difference(question: str, alone: tuple[str, ...], shared: tuple[str, ...]) -> str:
    for place, (own, other) in enumerate(zip(alone, shared, strict=False), start=1):
        if own != other:
            return f"{question}: at place {place} {own} alone, {other} shared"
    return f"{question}: {len(alone)} hits alone, {len(shared)} shared"
