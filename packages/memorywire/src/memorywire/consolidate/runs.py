"""The runs of the past: listed, shown with all they did, and taken back."""

from collections.abc import Sequence

from msgspec import Struct

from memorywire.consolidate.steps import DREAM
from memorywire.model.answers import Undone
from memorywire.model.change import Change, Version
from memorywire.model.errors import NotFound
from memorywire.model.record import Json, Scope
from memorywire.model.requests import Undo
from memorywire.pipeline.context import Context
from memorywire.pipeline.undo import undo

_MOST = 1_000_000


class Run(Struct, frozen=True, kw_only=True):
    """A run: when it was, what it says of itself, and by which change it was taken back."""

    change: Change
    undone_by: str | None = None

    def document(self) -> dict[str, Json]:
        said = {"run": self.change.id, "at": self.change.at, "reason": self.change.reason}
        return said | ({} if self.undone_by is None else {"undone_by": self.undone_by})


async def runs(scope: Scope, context: Context) -> list[Run]:
    """Newest first."""
    changes = await context.historian(DREAM).changes(scope, _MOST)
    undone = {change.undoes: change.id for change in changes if change.undoes is not None}
    standing = {run: by for run, by in undone.items() if by not in undone}  # an undo can be undone too
    return [
        Run(change=change, undone_by=standing.get(change.id))
        for change in changes
        if change.operation == DREAM
    ]


async def brought_back(scope: Scope, context: Context) -> frozenset[str]:
    """The memories that a run took out and an undo brought back: they are not taken out again."""
    return frozenset(
        [
            id
            for run in await runs(scope, context)
            if run.undone_by is not None
            for step in await _steps(scope, run.change.id, context)
            for id in step["ids"]
        ]
    )


async def shown(scope: Scope, run: str, context: Context) -> dict[str, Json]:
    """Everything that a run did: its steps with their reasons, and each version that it began or ended."""
    found = await _run(scope, run, context)
    footprint = await context.historian(DREAM).footprint(scope, run)
    if footprint is None:
        raise _unknown()
    return {
        **found.document(),
        "steps": await _steps(scope, run, context),
        "began": _told(footprint.began),
        "ended": _told(footprint.ended),
    }


async def take_back(scope: Scope, run: str, context: Context) -> Undone:
    """Undo a whole run; Conflict when something it touched has changed since."""
    await _run(scope, run, context)
    return await undo(Undo(scope=scope, change_id=run), context)


async def _run(scope: Scope, id: str, context: Context) -> Run:
    found = [run for run in await runs(scope, context) if run.change.id == id]
    if not found:
        raise _unknown()
    return found[0]


def _unknown() -> NotFound:
    return NotFound("there is no such run", field="run", fix="see: memorywire dream runs")


async def _steps(scope: Scope, run: str, context: Context) -> list[Json]:
    """The steps of the run from the ledger; none without a ledger."""
    if context.office is None:
        return []
    entries = await context.office.journal.about(scope.tenant, run)
    return [step for entry in entries for step in entry.get("details", {}).get("steps", ())]


def _told(versions: Sequence[Version]) -> list[Json]:
    return [
        {
            "id": version.id,
            "version": version.number,
            "content": None if version.record is None else version.record.content,
            **({} if version.reason is None else {"reason": version.reason.value, "into": version.into}),
        }
        for version in versions
    ]
