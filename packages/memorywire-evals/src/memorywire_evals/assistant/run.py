"""Runs a set for an assistant's memory; the document has no time: the same run gives the same bytes."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from memorywire.client.memory import Memory
from memorywire.model.record import Json
from memorywire.search.embed import Embedder, open_embedder
from memorywire_evals.assistant import data, facts, reading, tasks
from memorywire_evals.memory_under_test import Moment
from memorywire_evals.results import OURS
from memorywire_evals.run import CachedEmbedder
from memorywire_evals.tables import Target, targets

Tell = Callable[[float, int, str], None]

CONTEXT = "context"
RECALL = "recall"
WITHOUT_FLOOR = "recall without a floor"
_ASKS: dict[str, tasks.Ask] = {
    CONTEXT: tasks.ask_context,
    RECALL: tasks.ask_recall,
    WITHOUT_FLOOR: tasks.ask_recall_without_floor,
}


class Run(Struct, frozen=True, kw_only=True):
    """What to measure, and the store and embedder to use."""

    set_name: str
    part: str = "test"
    store: str = "memory://"
    embedder: str = "minilm"
    embedder_key: str | None = None
    cache: Path | None = None
    baseline: str | None = None


async def measure(run: Run, tell: Tell) -> dict[str, Json]:
    """Return the document of a set: figures by system, a table with targets, a row for each question."""
    embedder = CachedEmbedder(open_embedder(run.embedder, api_key=run.embedder_key), run.cache)
    try:
        figures, rows = await _MEASURES[run.set_name](run, embedder, tell)
    finally:
        await embedder.release()
    return {
        "set": run.set_name,
        "part": run.part,
        "digest": data.digest(run.set_name, run.part),
        "embedder": run.embedder.partition("?")[0],
        "figures": figures,
        "tables": {name: build_table(run.set_name, one) for name, one in figures.items()},
        "rows": rows,
    }


def build_table(set_name: str, figures: Mapping[str, float]) -> list[dict[str, Json]]:
    """Return a line for each figure of the set's table, with its target."""
    return [
        _build_line(target, figures[target.metric])
        for target in targets(set_name)
        if target.metric in figures
    ]


def _build_line(target: Target, figure: float) -> dict[str, Json]:
    return {
        "figure": target.label,
        "at least": target.floor,
        "aim": target.aim,
        OURS: figure,
        "less": target.less,
        "stands": target.verdict(figure),
    }


Measured = tuple[dict[str, dict[str, float]], dict[str, Json]]


async def _measure_reading(run: Run, embedder: Embedder, tell: Tell) -> Measured:
    messages = data.read_messages(run.part)
    tell(0, len(messages), "messages")
    async with _open(run, "reading", embedder, reading.moment_after(messages)) as memory:
        readings = await reading.read_all(messages, memory)
    return {OURS: reading.score(messages, readings)}, {OURS: reading.rows(messages, readings)}


async def _measure_tasks(run: Run, embedder: Embedder, tell: Tell) -> Measured:
    people = data.read_people(run.part)
    names = [CONTEXT] if run.baseline is None else [RECALL, WITHOUT_FLOOR]
    answers: dict[str, list[tasks.Answer]] = {name: [] for name in names}
    for place, person in enumerate(people):
        tell(place, len(people), person.id)
        async with _open(run, f"tasks:{person.id}", embedder, tasks.moment_after(person)) as memory:
            await tasks.store_notes(person, memory)
            for name in names:
                answers[name] += await tasks.ask_all(person, memory, _ASKS[name])
    return (
        {name: tasks.score(some) for name, some in answers.items()},
        {name: tasks.rows(some) for name, some in answers.items()},
    )


async def _measure_facts(run: Run, embedder: Embedder, tell: Tell) -> Measured:
    stores: Sequence[data.Store] = data.read_stores(run.part)
    answers: list[facts.Answer] = []
    for place, store in enumerate(stores):
        tell(place, len(stores), store.id)
        agent = f"facts:{store.group}:{store.id}"
        async with _open(run, agent, embedder, facts.moment_after(store)) as memory:
            await facts.store_notes(store, memory)
            answers += await facts.ask_all(store, memory)
    return {OURS: facts.score(answers)}, {OURS: facts.rows(answers)}


_MEASURES = {"reading": _measure_reading, "tasks": _measure_tasks, "facts": _measure_facts}


@asynccontextmanager
async def _open(run: Run, agent: str, embedder: Embedder, at: int) -> AsyncIterator[Memory]:
    """Open a memory whose clock is fixed at `at`."""
    moment = Moment()
    moment.at = at
    async with Memory(f"eval:{agent}", [run.store], embedder=embedder, clock=moment) as memory:
        yield memory
