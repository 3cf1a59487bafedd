"""Earlier runs (list, show, undo), and what people decided about their steps."""

from collections.abc import Sequence

from msgspec import Struct

from memorywire.journal.acts import Wanted
from memorywire.model.answers import Undone
from memorywire.model.change import Change, Version
from memorywire.model.consolidation import DREAM
from memorywire.model.errors import NotFound
from memorywire.model.proposal import State
from memorywire.model.record import Json, Scope
from memorywire.model.requests import Undo
from memorywire.pipeline.context import Context
from memorywire.pipeline.undo import undo

_MOST = 1_000_000


class Run(Struct, frozen=True, kw_only=True):
    """A run and the change that undid it, if any."""

    change: Change
    undone_by: str | None = None

    def document(self) -> dict[str, Json]:
        document = {"run": self.change.id, "at": self.change.at, "reason": self.change.reason}
        return document | ({} if self.undone_by is None else {"undone_by": self.undone_by})


async def list_runs(scope: Scope, context: Context) -> list[Run]:
    """Return the runs of the scope, newest first."""
    changes = await context.historian(DREAM).changes(scope, _MOST)
    undo_ids = {change.undoes: change.id for change in changes if change.undoes is not None}
    standing = {run: by for run, by in undo_ids.items() if by not in undo_ids}  # an undo can be undone too
    return [
        Run(change=change, undone_by=standing.get(change.id))
        for change in changes
        if change.operation == DREAM
    ]


async def find_restored_ids(scope: Scope, context: Context) -> frozenset[str]:
    """Return the memories that a run removed and an undo restored: later runs leave them alone."""
    ids: set[str] = set()
    for run in await list_runs(scope, context):
        steps = [] if run.undone_by is None else await _load_steps(scope, run.change.id, context)
        ids.update(id for step in steps for id in step["ids"])
    return frozenset(ids)


async def load_run(scope: Scope, run: str, context: Context) -> dict[str, Json]:
    """Return the steps of a run with their reasons, and each version that it began or ended."""
    match = await _find_run(scope, run, context)
    footprint = await context.historian(DREAM).footprint(scope, run)
    if footprint is None:
        raise _run_not_found()
    return {
        **match.document(),
        "steps": await _load_steps(scope, run, context),
        "began": _version_documents(footprint.began),
        "ended": _version_documents(footprint.ended),
    }


async def undo_run(scope: Scope, run: str, context: Context) -> Undone:
    """Undo a whole run. Raises Conflict if a memory it touched has changed since."""
    await _find_run(scope, run, context)
    return await undo(Undo(scope=scope, change_id=run), context)


async def _find_run(scope: Scope, id: str, context: Context) -> Run:
    matches = [run for run in await list_runs(scope, context) if run.change.id == id]
    if not matches:
        raise _run_not_found()
    return matches[0]


def _run_not_found() -> NotFound:
    return NotFound("no such run", field="run", fix="list them with: memorywire dream runs")


async def _load_steps(scope: Scope, run: str, context: Context) -> list[Json]:
    """Return the steps of the run from the ledger; none without a ledger."""
    if context.governance is None:
        return []
    entries = await context.governance.journal.find_entries(scope.tenant, run)
    return [step for entry in entries for step in entry.get("details", {}).get("steps", ())]


def _version_documents(versions: Sequence[Version]) -> list[Json]:
    return [
        {
            "id": version.id,
            "version": version.number,
            "content": None if version.record is None else version.record.content,
            **({} if version.reason is None else {"reason": version.reason.value, "into": version.into}),
        }
        for version in versions
    ]


class Decisions(Struct, frozen=True):
    """The memories with undecided proposals, and the groups of memories whose changes were rejected."""

    waiting: frozenset[str] = frozenset()
    rejected: frozenset[frozenset[str]] = frozenset()

    def is_rejected(self, touched: frozenset[str]) -> bool:
        """Return whether a person rejected changing these together."""
        return any(touched <= ids for ids in self.rejected)


async def load_decisions(scope: Scope, context: Context) -> Decisions:
    if context.governance is None:
        return Decisions()
    states = frozenset({State.PENDING, State.STALE, State.REJECTED})
    filter = Wanted(tenant=scope.tenant, agent=scope.agent, states=states, limit=10_000)
    waiting: set[str] = set()
    rejected: set[frozenset[str]] = set()
    for proposal in await context.governance.journal.list_proposals(filter):
        # The memories that it would touch, and those they would be merged into.
        ends = () if proposal.change is None else proposal.change.end
        ids = proposal.touched | {end.into for end in ends if end.into is not None}
        if proposal.state is State.REJECTED:
            rejected.add(ids)
        else:
            waiting |= ids
    return Decisions(frozenset(waiting), frozenset(rejected))
