"""What being written down costs: remembers with the ledger on and off, with nobody watching at all, and the
same rows by SQL alone."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing

from msgspec.structs import replace

from memorywire.app import Container, Governance, open_container
from memorywire.app.dispatch import dispatch
from memorywire.journal.contract import Act
from memorywire.journal.journal import Journal
from memorywire.journal.sqlite import SqliteBackend
from memorywire.model.answers import Remembered
from memorywire.model.change import Change
from memorywire.model.clock import system_clock
from memorywire.model.errors import Conflict
from memorywire.model.record import DEFAULT_TENANT
from memorywire.stores.sqlite import SqliteStore
from memorywire_evals.bench.floor import Floor
from memorywire_evals.bench.report import LEDGER_OFF, UNWATCHED, Latency
from memorywire_evals.bench.stage import AGENT, Stage, kept, store_url
from memorywire_evals.bench.timing import WARM_UP, Step, side_by_side

_MEASURE = "remember without embedding, into a new file"
_FLOOR = "its rows by SQL alone"


class _Unwritten(Journal):
    """A journal that lets every change pass and writes nothing down."""

    async def write(self, act: Act, change: Change | None = None) -> int:
        return await super().write(Act(), change)


async def ledger(stage: Stage) -> list[Latency]:
    """With the ledger, without it, without policy and redaction as well, and without any Python."""
    new = stage.fresh(stage.rounds + WARM_UP)
    await stage.vectors.learn(new)
    async with AsyncExitStack() as houses:
        on = await houses.enter_async_context(_house(stage, "ledger-on"))
        off = await houses.enter_async_context(_house(stage, "ledger-off"))
        alone = await houses.enter_async_context(_house(stage, "unwatched", on=False))
        async with _house(stage, "floor"):
            pass  # it makes the tables
        floor = houses.enter_context(closing(Floor(stage.folder / "floor.db", new, stage.vectors)))
        steps = {
            "on": _remembering(on, new),
            "off": _remembering(_without_ledger(off), new),
            "alone": _remembering(alone, new),
            "floor": _rows_alone(floor),
        }
        spreads = await side_by_side(stage.rounds, steps)
    stage.vectors.unlearn(new)
    return [
        Latency(measure=_MEASURE, size=stage.size, ours=spreads["on"], other=spreads[name], against=against)
        for name, against in (("off", LEDGER_OFF), ("alone", UNWATCHED), ("floor", _FLOOR))
    ]


@asynccontextmanager
async def _house(stage: Stage, name: str, *, on: bool = True) -> AsyncIterator[Container]:
    container = await open_container(
        stores=[store_url(stage.folder, name)],
        embedder=stage.vectors,
        embedder_key=None,
        clock=system_clock,
        governance=Governance(on=on),
    )
    try:
        yield container
    finally:
        await container.close()


def _without_ledger(container: Container) -> Container:
    store = container.context.store
    if not isinstance(store, SqliteStore):
        raise Conflict("only a store that keeps its journal itself can be measured without")
    silent = _Unwritten(SqliteBackend(store.file, store), signer=None, clock=container.context.clock)
    office = replace(container.context.governance, journal=silent)
    return replace(container, context=replace(container.context, office=office))


def _remembering(container: Container, contents: Sequence[str]) -> Step:
    async def step(number: int) -> None:
        payload = {"agent_id": AGENT, "type": "semantic", "content": contents[number]}
        receipt = await dispatch("remember", payload, container, tenant=DEFAULT_TENANT)
        if not isinstance(receipt, Remembered):
            raise Conflict("a remember was not answered with a receipt")
        kept(receipt)

    return step


def _rows_alone(floor: Floor) -> Step:
    async def step(number: int) -> None:
        floor.write()

    return step
