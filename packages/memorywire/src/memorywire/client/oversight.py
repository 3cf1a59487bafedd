"""The methods of a client for people who oversee a memory: reviews, rules, reasons, overviews, the ledger."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from memorywire.app.container import Container
from memorywire.client.arguments import checks_arguments
from memorywire.client.options import (
    AuditOptions,
    DecideOptions,
    FacetOptions,
    FeedbackOptions,
    HelpedName,
    ProposalsOptions,
    ReachOptions,
    RecallsOptions,
    ScopeOption,
    TrialOptions,
    TypeName,
    VerbName,
    WriteOptions,
    moments,
)
from memorywire.journal.journal import Journal
from memorywire.journal.ledger import Filters
from memorywire.journal.signed_notes import parse_checkpoints
from memorywire.journal.signer import Signer
from memorywire.model.answers import Grants, Hit, Shared
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.model.oversight import (
    AgentList,
    Erased,
    FacetCounts,
    Judged,
    PersonExport,
    Reasons,
    RecallPage,
    Reverted,
    RuleBook,
    RuleTrial,
)
from memorywire.model.proposal import Decided, ProposalPage, Reviewed
from memorywire.model.record import Json
from memorywire.pipeline.context import unsupported

if TYPE_CHECKING:  # proofs are loaded by those who ask for one
    from memorywire.journal.audit import Examination

A = TypeVar("A")


class Overseeing(ABC):
    """The methods that people use, beside those of the agent."""

    agent_id: str
    user_id: str | None
    tenant: str

    async def proposals(self, **options: Unpack[ProposalsOptions]) -> ProposalPage:
        """Return the proposals that wait for a decision, oldest first.

        Options: `states`, `batch`, `held_by`, `text`, `by_risk`, `after`, `limit`, `user_id`, `all_agents`.
        """
        return await self._ask(ProposalPage, "proposals", self._reach(options))

    async def proposal(self, proposal_id: str, **options: Unpack[ReachOptions]) -> Reviewed:
        """Return one proposal with all details; pass its `seen` to `decide` to decide exactly this state.

        Options: `user_id`, `all_agents`.
        """
        return await self._ask(Reviewed, "proposal", self._reach(options, proposal_id=proposal_id))

    @checks_arguments
    async def decide(
        self, proposal_ids: str | Sequence[str], verb: VerbName, **options: Unpack[DecideOptions]
    ) -> Decided:
        """Approve, edit, reject, merge or supersede proposals of one agent: all of them, or none.

        Options: `reason`, `confirm`, `seen`, `target`, `edit`, `user_id`, `all_agents`.
        """
        ids = [proposal_ids] if isinstance(proposal_ids, str) else list(proposal_ids)
        return await self._ask(Decided, "decide", self._reach(options, proposal_ids=ids, verb=verb))

    @checks_arguments
    async def share(
        self,
        borrower: str,
        ids: str | Sequence[str] = (),
        *,
        types: Sequence[TypeName] = (),
        tags: Sequence[str] = (),
        expires_at: int | datetime | None = None,
        **options: Unpack[WriteOptions],
    ) -> Shared:
        """Let another agent recall memories of this one: those of these ids, types and tags, also later ones.

        Memories of a user are lent only by a grant that names them (`user_id`). The receipt has the
        `share_id` for `unshare`; `undo` takes the change back.

        Options: `approval_required`, `reasoning`, `user_id`.
        """
        fields = {"ids": [ids] if isinstance(ids, str) else list(ids), "types": types, "tags": tags}
        selection = {name: list(values) for name, values in fields.items() if values}
        moment = {} if expires_at is None else moments(expires_at=expires_at)
        payload = self._payload(options, borrower=borrower, **selection, **moment)
        return await self._ask(Shared, "share", payload)

    async def unshare(self, share_id: str, **options: Unpack[WriteOptions]) -> Shared:
        """Revoke a grant at once; `undo` of this change gives it again.

        Options: `approval_required`, `reasoning`, `user_id`.
        """
        return await self._ask(Shared, "unshare", self._payload(options, share_id=share_id))

    async def shares(self, **options: Unpack[ScopeOption]) -> Grants:
        """Return the grants in force that this agent gave, and those that it was given."""
        return await self._ask(Grants, "shares", self._payload(options))

    async def why(self, recall_id: str, **options: Unpack[ReachOptions]) -> Reasons:
        """Return what a recall returned, with the memories as they were then.

        Options: `user_id`, `all_agents`.
        """
        return await self._ask(Reasons, "why", self._reach(options, recall_id=recall_id))

    async def erase(
        self, user_id: str, *, agent_id: str | None = None, reason: str | None = None, dry_run: bool = False
    ) -> Erased:
        """Erase everything of a user, for good: of all agents of the tenant, or of one.

        Current and ended memories, held changes, conversations and keys are erased. When nothing is left, a
        digest without its salt replaces the id of the user in the ledger; `id_removed` says so. Do not name
        the user in `reason`, which stays.
        """
        fields = {"user_id": user_id, "agent_id": agent_id, "reason": reason, "dry_run": dry_run}
        payload = {name: value for name, value in fields.items() if value is not None}
        return await self._ask(Erased, "erase", payload)

    @checks_arguments
    async def export(self, user_id: str, *, agent_id: str | None = None) -> PersonExport:
        """Return everything of a user as a bundle: of all agents of the tenant, or of one.

        It has the current and the ended memories with all versions, and the changes that wait. Its `text` is
        what `memorywire export --user` writes and `memorywire import` reads.
        """
        from memorywire.client.export import export_person

        return await export_person(await self._open(), self.tenant, user_id, agent_id)

    async def agents(self) -> AgentList:
        """Return the agents of the tenant with the numbers of their memories and pending proposals."""
        return await self._ask(AgentList, "agents", {})

    async def facets(self, **options: Unpack[FacetOptions]) -> FacetCounts:
        """Count the newest memories that `list` would return, by the values of their fields.

        Options: `filter`, `types`, `include` (`archived`), `user_id`.
        """
        return await self._ask(FacetCounts, "facets", self._payload(options))

    async def recalls(self, **options: Unpack[RecallsOptions]) -> RecallPage:
        """Return recalls, newest first; with `memory_id`, those that returned this memory.

        Options: `memory_id`, `session_id`, `run_id`, `trace_id`, `before`, `limit`, `user_id`, `all_agents`.
        """
        return await self._ask(RecallPage, "recalls", self._reach(options))

    async def feedback(
        self, recall_id: str, memory_id: str, helped: HelpedName, **options: Unpack[FeedbackOptions]
    ) -> Judged:
        """Record whether a memory that a recall returned was useful. Memories do not change.

        Options: `reason`, `user_id`, `all_agents`.
        """
        fields = {"recall_id": recall_id, "memory_id": memory_id, "helped": helped}
        return await self._ask(Judged, "feedback", self._reach(options, **fields))

    async def rules(self) -> RuleBook:
        """Return the policy in force, all editions of its rules, and the suggested rules."""
        return await self._ask(RuleBook, "rules", {})

    @checks_arguments
    async def set_rules(
        self, rules: Sequence[Mapping[str, Any]], *, if_edition: int | None = None
    ) -> RuleBook:
        """Replace the rules of the policy with this ordered list."""
        edition = {} if if_edition is None else {"if_edition": if_edition}
        return await self._ask(RuleBook, "set_rules", {"rules": list(rules), **edition})

    async def test_rule(self, rule: Mapping[str, Any], **options: Unpack[TrialOptions]) -> RuleTrial:
        """Return what a rule would have done to the changes of the last `days`. Nothing changes.

        Options: `days`, `user_id`.
        """
        return await self._ask(RuleTrial, "test_rule", self._payload(options, rule=rule))

    async def activate_rule(self, name: str) -> RuleBook:
        """Put a suggested rule in force."""
        return await self._ask(RuleBook, "activate_rule", {"name": name})

    async def revert_rule(self, name: str) -> Reverted:
        """Undo, as one change, everything that a learned rule let pass, and switch the rule off."""
        return await self._ask(Reverted, "revert_rule", {"name": name})

    @checks_arguments
    async def audit_log(
        self,
        *,
        subject: str | None = None,
        before: int | None = None,
        limit: int = 20,
        **filters: Unpack[AuditOptions],
    ) -> tuple[dict[str, Json], ...]:
        """Return entries of the ledger, newest first; with `before`, those before that entry.

        `subject` names a change, a proposal or a recall and returns all entries about it, without filters.

        Filters: `operation`, `kind`, `actor`, `memory`, `since`, `until`, `user_id`, `all_agents`.
        """
        selection = self._filters(**filters)
        if subject is not None:
            refuse_filters("subject", filters)
        for name, number in (("limit", limit), ("before", before)):
            if number is not None and (type(number) is not int or number < 1):
                raise InvalidRequest(f"{name} must be a number of entries, at least 1", field=name)
        journal = await self._ledger()
        if subject is None:
            entries = await journal.filter_entries(selection, before=before, limit=limit)
        else:
            entries = await journal.find_entries_about(self.tenant, subject)
        return tuple(row.said for row in entries)

    @checks_arguments
    async def audit_verify(self, *, checkpoint: str | None = None, state: bool = False) -> "Examination":
        """Check that no entry was changed, removed, added or moved: `report.ok`, else `report.fault`.

        `checkpoint` is the result of an earlier `audit_checkpoint`, kept elsewhere. With `state`, the ledger
        is also replayed and compared with the database; `state.differences` lists the differences.
        """
        from memorywire.journal.audit import examine

        journal = await self._ledger()
        saved, unreadable = ((), 0) if checkpoint is None else parse_checkpoints(checkpoint)
        if unreadable or (checkpoint is not None and not saved):
            fix = "pass the result of audit_checkpoint unchanged"
            raise InvalidRequest("this is not a checkpoint", field="checkpoint", fix=fix)
        return await journal.audit(partial(examine, signer=journal.signer, saved=saved, state=state))

    async def audit_checkpoint(self) -> str:
        """Sign the ledger and return the checkpoint; keep it where the owner of the database cannot write."""
        journal = await self._ledger()
        _signer(journal)
        note = await journal.sign()
        if note is None:
            raise NotFound("the ledger is empty", fix="remember something first")
        return note

    async def audit_key(self) -> str:
        """Return the public key of the ledger, which verifies checkpoints and signed hits."""
        await self.audit_checkpoint()
        return str(_signer(await self._ledger()).verifier())

    @checks_arguments
    async def verify_hit(self, hit: Hit | Mapping[str, Any], key: str | None = None) -> bool:
        """Return whether the ledger signed exactly this hit of a recall with `sign=True`.

        `key` is the public key of another ledger. `memorywire.verify_hit(hit, key)` needs no memory.
        """
        from memorywire.journal.signed_hits import verify_hit

        return verify_hit(hit, await self.audit_key() if key is None else key)

    @checks_arguments
    async def audit_export(
        self, path: str | PathLike[str], *, whole: bool = False, **filters: Unpack[AuditOptions]
    ) -> int:
        """Write entries with their proofs as JSON lines and return the number of lines.

        Writes the entries of the agent, or with `whole` all entries, which takes no filters.

        Filters: `operation`, `kind`, `actor`, `memory`, `since`, `until`, `user_id`, `all_agents`.
        """
        from memorywire.journal.audit import export_entries

        if whole:
            refuse_filters("whole", filters)
        selection = None if whole else self._filters(**filters)
        await self.audit_checkpoint()
        journal = await self._ledger()
        signer = _signer(journal)
        return await journal.audit(lambda db: _write(export_entries(db, signer, selection), Path(path)))

    def _filters(self, **filters: Unpack[AuditOptions]) -> Filters:
        known = AuditOptions.__annotations__
        for name in sorted(filters.keys() - known.keys()):
            raise InvalidRequest(f"unknown field {name}", field=name, fix=f"there are: {', '.join(known)}")
        named: dict[str, Any] = {"user_id": None, "all_agents": False, **moments(**filters)}
        agent = None if named.pop("all_agents") else self.agent_id
        user = named.pop("user_id")
        return Filters(tenant=self.tenant, agent=agent, user=self.user_id if user is None else user, **named)

    async def _ledger(self) -> Journal:
        """Return the journal after it has written its buffers."""
        journal = (await self._open()).journal
        if journal is None:
            raise unsupported("audit", "no journal is wired here")
        await journal.settle()
        return journal

    @abstractmethod
    async def _open(self) -> Container: ...

    @abstractmethod
    async def _ask(self, kind: type[A], operation: str, payload: Mapping[str, Json]) -> A: ...

    @abstractmethod
    def _payload(self, options: Mapping[str, Any], **fields: Any) -> dict[str, Json]: ...

    def _reach(self, options: Mapping[str, Any], **fields: Any) -> dict[str, Json]:
        """Build the wire payload of a request that may be about all agents."""
        rest = {name: value for name, value in options.items() if name != "all_agents"}
        payload = self._payload(rest, **fields)
        if options.get("all_agents"):
            del payload["agent_id"]
        return payload


def refuse_filters(option: str, filters: Mapping[str, Any]) -> None:
    """Raise InvalidRequest for filters that the option would ignore."""
    for name in sorted(name for name, value in filters.items() if value not in (None, False)):
        raise InvalidRequest(f"{option} takes no filters", field=name, fix=f"leave out {name}")


def _signer(journal: Journal) -> Signer:
    if journal.signer is None:
        raise unsupported("audit", "a ledger that is in no file is not signed")
    return journal.signer


def _write(lines: Iterator[str], path: Path) -> int:
    from memorywire.journal.audit import write_lines

    try:
        return write_lines(lines, path)
    except OSError as error:
        raise InvalidRequest(f"cannot write {path}: {error.strerror}", field="path") from error
