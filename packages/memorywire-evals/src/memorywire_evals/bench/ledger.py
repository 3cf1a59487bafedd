"""The cost of governance: remembers with and without ledger and policy, and the same rows by plain SQL."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memorywire.app import Container, Governance, open_container
from memorywire.app.dispatch import dispatch
from memorywire.journal.acts import Act
from memorywire.journal.journal import Journal
from memorywire.journal.sqlite import SqliteBackend
from memorywire.model.answers import Remembered
from memorywire.model.change import Change
from memorywire.model.clock import system_clock
from memorywire.model.errors import Conflict
from memorywire.model.record import DEFAULT_TENANT
from memorywire.stores.sqlite import Location, SqliteStore, connect
from memorywire_evals.bench.report import LEDGER_OFF, UNWATCHED, Latency
from memorywire_evals.bench.stage import AGENT, Stage, kept, store_url
from memorywire_evals.bench.timing import WARM_UP, Step, side_by_side

_MEASURE = "remember without embedding, into a new file"
_FLOOR = "its rows by SQL alone"
_TABLES = {
    "change": "SELECT * FROM change ORDER BY seq",
    "version": "SELECT * FROM version ORDER BY position",
    "ledger": "SELECT seq, body, chain FROM ledger ORDER BY seq",  # its other columns are generated
    "ledger_salt": "SELECT * FROM ledger_salt ORDER BY seq",
}
"""The tables in which a governed remember writes one row each."""


class _SilentJournal(Journal):
    """A journal that writes the change but none of its own rows."""

    async def write(self, act: Act, change: Change | None = None) -> int:
        return await super().write(Act(), change)


async def measure_ledger(stage: Stage) -> list[Latency]:
    """Measure remembers in full, without ledger, without policy and redaction, and as rows by SQL."""
    contents = stage.fresh(stage.rounds + WARM_UP)
    await stage.vectors.learn(contents)
    async with AsyncExitStack() as stack:
        on = await stack.enter_async_context(_open(stage, "ledger-on"))
        off = await stack.enter_async_context(_open(stage, "ledger-off"))
        alone = await stack.enter_async_context(_open(stage, "unwatched", on=False))
        floor = stack.enter_context(closing(await _prepare_rows(stage, contents)))
        steps = {
            "on": _remember_step(on, contents),
            "off": _remember_step(_drop_ledger(off), contents),
            "alone": _remember_step(alone, contents),
            "floor": floor.step,
        }
        spreads = await side_by_side(stage.rounds, steps)
    stage.vectors.unlearn(contents)
    return [
        Latency(measure=_MEASURE, size=stage.size, ours=spreads["on"], other=spreads[name], against=against)
        for name, against in (("off", LEDGER_OFF), ("alone", UNWATCHED), ("floor", _FLOOR))
    ]


async def _prepare_rows(stage: Stage, contents: Sequence[str]) -> "_Rows":
    """Remember these contents in one file, to write the same rows to another."""
    async with _open(stage, "floor-source") as container:
        remember = _remember_step(container, contents)
        for number in range(len(contents)):
            await remember(number)
    async with _open(stage, "floor"):
        pass  # creates the tables
    return _Rows(stage.folder / "floor-source.db", stage.folder / "floor.db")


class _Rows:
    """Writes the rows of one remember per step, each step in a separate transaction."""

    def __init__(self, source: Path, target: Path) -> None:
        with closing(connect(Location(path=source))) as db:
            tables = [_read_inserts(db, table, query) for table, query in _TABLES.items()]
        self._transactions = iter([*zip(*tables, strict=True)])
        self._db = connect(Location(path=target))

    async def step(self, number: int) -> None:
        inserts = next(self._transactions)
        self._db.execute("BEGIN IMMEDIATE")
        for statement, row in inserts:
            self._db.execute(statement, row).fetchall()
        self._db.execute("COMMIT")

    def close(self) -> None:
        self._db.close()


def _read_inserts(db: Any, table: str, query: str) -> list[tuple[str, tuple[Any, ...]]]:
    """Return a statement and its values for each row of the query."""
    cursor = db.execute(query)
    columns = ", ".join(column for column, *_ in cursor.get_description())
    values = ", ".join("?" * len(cursor.get_description()))
    statement = " ".join(("INSERT INTO", table, f"({columns})", "VALUES", f"({values})"))
    return [(statement, row) for row in cursor]


@asynccontextmanager
async def _open(stage: Stage, name: str, *, on: bool = True) -> AsyncIterator[Container]:
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


def _drop_ledger(container: Container) -> Container:
    store = container.context.store
    if not isinstance(store, SqliteStore):
        raise Conflict("only a store that keeps its own journal can be measured without one")
    silent = _SilentJournal(SqliteBackend(store.file, store), signer=None, clock=container.context.clock)
    governance = replace(container.context.require_governance(), journal=silent)
    return replace(container, context=replace(container.context, governance=governance))


def _remember_step(container: Container, contents: Sequence[str]) -> Step:
    async def step(number: int) -> None:
        payload = {"agent_id": AGENT, "type": "semantic", "content": contents[number]}
        receipt = await dispatch("remember", payload, container, tenant=DEFAULT_TENANT)
        if not isinstance(receipt, Remembered):
            raise Conflict("a remember was not answered with a receipt")
        kept(receipt)

    return step
