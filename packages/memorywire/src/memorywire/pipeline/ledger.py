"""What the ledger records of changes and proposals: ids, counts and reasons, never a memory's words."""

from collections.abc import Sequence

from memorywire.journal.entries import Entry, contents_of, contents_of_each, told_beside
from memorywire.model.change import Change
from memorywire.model.proposal import Proposal
from memorywire.model.record import Json
from memorywire.pipeline.context import Context


def entry_of(change: Change, kind: str, context: Context, **details: Json) -> Entry:
    """What the ledger says of a change: which versions began, ended and were erased."""
    said: dict[str, Json] = {name: value for name, value in details.items() if value is not None}
    if change.end:
        said["ended"] = [[end.id, end.version, end.reason.value] for end in change.end]
        if into := [[end.id, end.into] for end in change.end if end.into is not None]:
            said["into"] = into
    if change.erase:
        said["erased"] = list(change.erase)
    if change.undoes is not None:
        said["undoes"] = change.undoes
    beside = told_beside(change)
    if beside is not None:
        said["change"] = beside
    return Entry(
        at=change.at,
        operation=change.operation,
        scope=change.scope,
        actor=context.governance.caller,
        kind=kind,
        subject=change.id,
        details=said,
        contents=contents_of(change),
    )


def entries_of(changes: Sequence[Change], rules: Sequence[str | None], context: Context) -> list[Entry]:
    """What the ledger says of committed changes, each of which begins one version and does nothing else."""
    actor = context.governance.caller
    details: dict[str | None, dict[str, Json]] = {rule: {"rule": rule} for rule in rules}
    details[None] = {}
    told = zip(changes, rules, contents_of_each(changes), strict=True)
    return [
        Entry(
            at=change.at,
            operation=change.operation,
            scope=change.scope,
            actor=actor,
            kind="committed",
            subject=change.id,
            details=details[rule]
            if (beside := told_beside(change)) is None
            else {**details[rule], "change": beside},
            contents=contents,
        )
        for change, rule, contents in told
    ]


def entry_about(proposal: Proposal, kind: str, actor: str, at: int, **details: Json) -> Entry:
    """What the ledger says of a proposal: what it would touch and why it was held, not what it says."""
    found = {"secrets": _listed(proposal.secrets), "signs": _listed(proposal.instructions)}
    return Entry(
        at=at,
        operation=proposal.operation,
        scope=proposal.scope,
        actor=actor,
        kind=kind,
        subject=proposal.id,
        details={
            "rule": proposal.rule,
            "memories": sorted(proposal.touched),
            **{name: value for name, value in found.items() if value},
            **{name: value for name, value in details.items() if value is not None},
        },
    )


def _listed(findings: tuple[tuple[str, str], ...]) -> list[Json]:
    return [list(finding) for finding in findings]
