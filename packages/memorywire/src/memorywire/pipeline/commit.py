"""The one corridor: a planned change is judged, embedded outside any transaction, then committed whole."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.answers import Outcome, Status
from memorywire.model.change import Change
from memorywire.model.proposal import Proposal
from memorywire.model.requests import Request

if TYPE_CHECKING:  # tools name the corridor they lead through
    from memorywire.pipeline.context import Context


class Plan(Struct, frozen=True, kw_only=True):
    """The change that an operation plans, with the request it came from.

    `by_filter` says that a filter selected the memories, rather than ids. `secrets` are the kinds and places
    of what was redacted from the request.
    """

    change: Change
    request: Request
    by_filter: bool = False
    secrets: tuple[tuple[str, str], ...] = ()


class Submitted(Struct, frozen=True, kw_only=True):
    """What became of a plan: committed, staged as a proposal by `rule`, or deferred for want of a store.

    `held` is the change that waits: for a repeated request it is the change of the first one.
    """

    status: Status
    outcomes: tuple[Outcome, ...]
    change_id: str | None = None
    proposal_id: str | None = None
    approval_url: str | None = None
    rule: str | None = None
    held: Change | None = None

    @property
    def stores(self) -> tuple[str, ...]:
        """The stores that hold it."""
        return tuple([outcome.store for outcome in self.outcomes if outcome.error is None])

    @property
    def degraded(self) -> tuple[str, ...]:
        """The stores that do not hold it yet."""
        return tuple([outcome.store for outcome in self.outcomes if outcome.error is not None])

    @property
    def ended(self) -> Status | None:
        """How the write ended, if there was anything to write."""
        return self.status if self.change_id or self.proposal_id else None

    @property
    def staged(self) -> bool:
        """Whether it waits for a person."""
        return self.status is Status.STAGED


Corridor: TypeAlias = Callable[[Plan, "Context"], Awaitable[Submitted]]


async def straight(plan: Plan, context: "Context") -> Submitted:
    """The corridor without governance: the store commits the change; nothing judges it or records it."""
    await context.store.write(await with_vectors(plan.change, context))
    return committed(plan.change.id, touched(plan.change), context)


def committed(change_id: str, memories: int, context: "Context") -> Submitted:
    return Submitted(
        status=Status.COMMITTED,
        outcomes=tuple([Outcome(store=name, count=memories) for name in context.names]),
        change_id=change_id,
    )


def staged(proposal: Proposal, context: "Context") -> Submitted:
    """The result of a plan that was held: its proposal waits for a person."""
    return Submitted(
        status=Status.STAGED,
        outcomes=(),
        proposal_id=proposal.id,
        approval_url=context.governance.address(proposal),
        rule=proposal.rule,
        held=proposal.change,
    )


def untouched(context: "Context") -> Submitted:
    """The result of a plan with nothing to do, or of a dry run."""
    return Submitted(status=Status.COMMITTED, outcomes=tuple(map(_nothing_from, context.names)))


def _nothing_from(store: str) -> Outcome:
    return Outcome(store=store)


def touched(change: Change) -> int:
    """How many memories a change begins, ends or erases."""
    if not change.end and not change.erase and len(change.put) == 1:
        return 1
    return len({put.record.id for put in change.put} | {end.id for end in change.end} | set(change.erase))


def effect(change: Change) -> object:
    """What a plan would do, without the times of planning, to compare two plans."""
    said = [(put.base, put.record.id, put.record.version, put.record.digest) for put in change.put]
    return said, change.end, change.erase


async def with_vectors(change: Change, context: "Context") -> Change:
    """The change with a vector on each put that needs one: not given, not copied, not left out on purpose."""
    missing = [put for put in change.put if put.vector is None and put.like is None and not put.bare]
    if not missing:
        return change
    vectors = iter(await context.embedder.embed([put.record.meaning for put in missing]))
    return replace(
        change,
        put=tuple([replace(put, vector=next(vectors)) if put in missing else put for put in change.put]),
    )
