"""A run: the cases of a set one after the other, each written down when it is done, then the summary."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct

from memorywire import __version__
from memorywire.model.record import Json
from memorywire.search.embed import open_embedder
from memorywire_evals.cache import CachedEmbedder
from memorywire_evals.cases import Dataset, Question
from memorywire_evals.datasets import load
from memorywire_evals.examine import Bench, examine
from memorywire_evals.results import Folder, code, digest, hashed, machine, record, without_login
from memorywire_evals.rows import Examined, to_json
from memorywire_evals.sets import Kind
from memorywire_evals.summary import summarise, timing
from memorywire_evals.targets import targets

Told = Callable[[float, int, str], None]


def _nobody(done: float, of: int, note: str) -> None:
    """Nobody looks."""


class Plan(Struct, frozen=True, kw_only=True):
    """What to run and where to put it; without stores, a temporary file that is deleted afterwards."""

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

    def conditions(self, dataset: Dataset) -> dict[str, Json]:
        """What must be equal for two cases to belong to one run."""
        return {
            "set": dataset.name,
            "split": dataset.split,
            "data": dataset.digest,
            "roles": self.roles,
            "store": _schemes(self.stores),
            **_address(self.stores),
            "embedder": without_login(self.embedder),
            "baselines": self.baselines,
            "version": __version__,
            "code": code(Path(__file__).parents[1]),
        }


async def run(plan: Plan, *, date: str, command: str, tell: Told, watch: Told = _nobody) -> dict[str, Json]:
    """The document of the run; what was done before and written down is not done again.

    `tell` is called once for each case, `watch` also within one.
    """
    dataset = await asyncio.to_thread(load, plan.kind, plan.data, split=plan.split, roles=plan.roles)
    conditions = await asyncio.to_thread(plan.conditions, dataset)
    folder = Folder(out=plan.out, version=__version__, name=f"{dataset.name}-{dataset.split}")
    done = {case.case: case for case in folder.begin(conditions, fresh=plan.fresh)}
    wanted = dataset.case_ids[: plan.limit]
    async with context(plan, dataset) as bench:
        for place, id in enumerate(wanted):
            if id not in done:
                tell(place, len(wanted), id)
                advance = partial(_within, watch, place, len(wanted), id)
                case = await examine(dataset.build(id), foreign(plan.kind, dataset, id), bench, advance)
                done[id] = await asyncio.to_thread(folder.add, case)
    tell(len(wanted), len(wanted), "summary")
    cases = [done[id] for id in wanted]
    document = await asyncio.to_thread(_document, plan, conditions, cases, len(dataset.case_ids))
    document |= {"digest": digest(document), "date": date}
    folder.finish(document)
    entry = {name: document[name] for name in ("date", "digest", "machine", "run", "cases")}
    record(plan.out, {**entry, "command": command, "void": document["summary"]["void"]})
    return document


def _within(watch: Told, place: int, of: int, id: str, share: float) -> None:
    watch(place + share, of, id)


def foreign(kind: Kind, dataset: Dataset, id: str) -> tuple[Question, ...]:
    """The next case's answerable questions, which this case cannot answer."""
    if not kind.foreign or len(dataset.case_ids) < 2:
        return ()
    following = dataset.case_ids[(dataset.case_ids.index(id) + 1) % len(dataset.case_ids)]
    return tuple(question for question in dataset.build(following).questions if question.answerable)


@asynccontextmanager
async def context(plan: Plan, dataset: Dataset) -> AsyncIterator[Bench]:
    """Store and embedder for the time of a run."""
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
    """The kinds of store, without their paths and without a password."""
    return " and ".join(url.partition("://")[0] for url in stores) or "sqlite (temporary file)"


def _address(stores: Sequence[str]) -> dict[str, Json]:
    """Tells one store from another of its kind, without saying where it is or how one gets in."""
    if not stores:
        return {}
    return {"address": hashed(" ".join(sorted(without_login(url).partition("?")[0] for url in stores)))}


def _mark(plan: Plan, dataset: Dataset) -> str:
    """Equal for the same memories: what another run left in a store bears another mark."""
    return hashed(f"{dataset.digest} {plan.roles}")
