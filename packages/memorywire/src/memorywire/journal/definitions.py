"""Definitions of backends and the agents bound to them; definitions are only added or retired."""

import hashlib
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from memorywire.journal.backend import Session, Work
from memorywire.journal.entries import Entry, canonical, canonical_bytes
from memorywire.journal.journal import Journal
from memorywire.journal.ledger import definition_keys
from memorywire.model.definition import Definition, Edition, definition_of
from memorywire.model.errors import Conflict, NotFound


def hash_definition(definition: Definition) -> str:
    """Return the content hash of a definition; equal definitions have equal hashes on every machine."""
    return f"sha256:{hashlib.sha256(canonical_bytes(definition.document())).hexdigest()}"


class Definitions:
    """The definitions of a journal and the agents bound to them; the ledger records every change."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._backend = journal.backend

    async def find(self, tenant: str, name: str) -> Edition:
        """Return the edition with that digest, or the newest active one of that name; raises NotFound."""
        every = await self.list_editions(tenant)
        editions = [one for one in every if one.digest == name]
        editions = editions or [
            one for one in every if one.definition.name == name and one.retired_at is None
        ]
        if not editions:
            raise NotFound(
                "there is no such definition", field="definition", fix="see: memorywire backends list"
            )
        return editions[-1]

    async def list_editions(self, tenant: str | None) -> list[Edition]:
        """Return all editions of a tenant, or of every tenant, each with the agents bound to it."""
        return await self._backend.read(partial(_list_editions, tenant=tenant))

    async def list_bindings(self, tenant: str | None) -> list[tuple[str, str, str]]:
        """Return (tenant, agent, digest) of every bound agent."""
        return await self._backend.read(partial(_list_bindings, tenant=tenant))

    async def add(self, edition: Edition, entry: Entry) -> None:
        """Add the edition, unless the newest one of its name is equal and not retired."""
        await self._write(partial(_add, edition=edition), entry)

    async def retire(self, edition: Edition, at: int, entry: Entry) -> None:
        """Prevent new bindings to the edition; raises Conflict while an agent is bound to it."""
        if edition.agents:
            raise Conflict(
                f"it still serves {edition.agents[0]}",
                field="definition",
                fix="unbind its agents, or bind them elsewhere",
            )
        row = {"tenant": edition.tenant, "digest": edition.digest, "at": at}
        await self._write(lambda db: db.execute("retire_definition", row), entry)

    async def bind(self, edition: Edition, agent: str, at: int, by: str, entry: Entry) -> None:
        """Bind an agent to the edition; raises Conflict for a retired one."""
        if edition.retired_at is not None:
            raise Conflict("this definition is retired", field="definition", fix="bind another definition")
        row = {
            "tenant": edition.tenant,
            "agent": agent,
            "digest": edition.digest,
            "made_at": at,
            "made_by": by,
        }
        await self._write(lambda db: db.execute("bind", row), entry)

    async def unbind(self, tenant: str, agent: str, entry: Entry) -> None:
        """Remove the agent's binding; raises NotFound if it has none."""
        if all(name != agent for _, name, _ in await self.list_bindings(tenant)):
            raise NotFound("this agent is not bound", field="agent_id")
        await self._write(lambda db: db.execute("unbind", {"tenant": tenant, "agent": agent}), entry)

    async def _write(self, work: Work[object], entry: Entry) -> None:
        changed = partial(definition_keys, tenant=entry.scope.tenant, agent=entry.scope.agent)
        await self._journal.write_with_entry(work, entry, changed)


def _add(db: Session, edition: Edition) -> None:
    editions = [
        one for one in _list_editions(db, edition.tenant) if one.definition.name == edition.definition.name
    ]
    if editions and editions[-1].digest == edition.digest and editions[-1].retired_at is None:
        return
    row = {
        "tenant": edition.tenant,
        "name": edition.definition.name,
        "digest": edition.digest,
        "parent": edition.parent,
        "body": canonical(edition.definition.document()),
        "made_at": edition.made_at,
        "made_by": edition.made_by,
    }
    db.execute("add_definition", row)


def _list_editions(db: Session, tenant: str | None) -> list[Edition]:
    bindings = _list_bindings(db, tenant)
    return [_read_edition(row, bindings) for row in db.rows("definitions", {"tenant": tenant})]


def _list_bindings(db: Session, tenant: str | None) -> list[tuple[str, str, str]]:
    return [(owner, agent, digest) for owner, agent, digest in db.rows("bindings", {"tenant": tenant})]


def _read_edition(row: tuple[Any, ...], bindings: Sequence[tuple[str, str, str]]) -> Edition:
    tenant, _, number, digest, parent, body, made_at, made_by, retired_at = row
    return Edition(
        definition=definition_of(json.loads(body)),
        digest=digest,
        tenant=tenant,
        number=number,
        made_at=made_at,
        made_by=made_by,
        parent=parent,
        retired_at=retired_at,
        agents=tuple(
            agent for owner, agent, bound_digest in bindings if (owner, bound_digest) == (tenant, digest)
        ),
    )
