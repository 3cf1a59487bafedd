"""The ledger in Python: read, verify, sign and export it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from memorywire.app.container import Container
from memorywire.client.options import AuditOptions, moments
from memorywire.journal.journal import Journal
from memorywire.journal.ledger import Filters
from memorywire.journal.signed_notes import parse_checkpoints
from memorywire.journal.signer import Signer
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.model.record import Json
from memorywire.pipeline.context import unsupported

if TYPE_CHECKING:  # proofs are loaded by those who ask for one
    from memorywire.journal.audit import Examination


class Audited(ABC):
    """The methods of a client for its ledger."""

    agent_id: str
    user_id: str | None
    tenant: str

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
        wanted = self._filters(**filters)
        if subject is not None:
            refuse_filters("subject", filters)
        for name, number in (("limit", limit), ("before", before)):
            if number is not None and (type(number) is not int or number < 1):
                raise InvalidRequest(f"{name} is a number of entries, from 1", field=name)
        journal = await self._ledger()
        if subject is None:
            found = await journal.filter_entries(wanted, before=before, limit=limit)
        else:
            found = await journal.find_entries_about(self.tenant, subject)
        return tuple(row.said for row in found)

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
        wanted = None if whole else self._filters(**filters)
        await self.audit_checkpoint()
        journal = await self._ledger()
        signer = _signer(journal)
        return await journal.audit(lambda db: _write(export_entries(db, signer, wanted), Path(path)))

    def _filters(self, **filters: Unpack[AuditOptions]) -> Filters:
        known = AuditOptions.__annotations__
        for name in sorted(filters.keys() - known.keys()):
            raise InvalidRequest(
                f"{name} is not a field here", field=name, fix=f"there are: {', '.join(known)}"
            )
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
