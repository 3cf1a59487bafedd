"""Definitions of backends and which agents they serve; nothing is changed, only added or retired.

Every function works inside the caller's transaction.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import apsw

from memorywire.journal.canonical import canonical, encoded
from memorywire.journal.ingest_queue import QUERIES
from memorywire.model.definition import Definition, Edition, definition_of
from memorywire.model.errors import Conflict, NotFound


def digest_of(definition: Definition) -> str:
    """The name of a definition by its content: equal for equal definitions, wherever they were made."""
    return f"sha256:{hashlib.sha256(encoded(canonical(definition.document()))).hexdigest()}"


def add(db: apsw.Connection, edition: Edition) -> None:
    """Keep the edition, unless the newest of its name is the same and still stands."""
    known = [one for one in editions(db, edition.tenant) if one.definition.name == edition.definition.name]
    if known and known[-1].digest == edition.digest and known[-1].retired_at is None:
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
    db.execute(QUERIES["add_definition"], row)


def edition(db: apsw.Connection, tenant: str, named: str) -> Edition:
    """The edition of that digest, or the newest that stands of that name."""
    every = editions(db, tenant)
    found = [one for one in every if one.digest == named]
    found = found or [one for one in every if one.definition.name == named and one.retired_at is None]
    if not found:
        raise NotFound("there is no such definition", field="definition", fix="see: memorywire backends list")
    return found[-1]


def editions(db: apsw.Connection, tenant: str | None) -> list[Edition]:
    """All of a tenant's, or of everybody's, each with the agents it serves."""
    bound = bindings(db, tenant)
    rows = db.execute(QUERIES["definitions"], {"tenant": tenant})
    return [_edition(row, bound) for row in rows]


def retire(db: apsw.Connection, found: Edition, at: int) -> None:
    """No agent can be bound to it any more; an edition that still serves one cannot be retired."""
    if found.agents:
        raise Conflict(
            f"it still serves {found.agents[0]}",
            field="definition",
            fix="unbind its agents, or bind them elsewhere",
        )
    db.execute(QUERIES["retire_definition"], {"tenant": found.tenant, "digest": found.digest, "at": at})


def bind(db: apsw.Connection, found: Edition, agent: str, at: int, by: str) -> None:
    if found.retired_at is not None:
        raise Conflict("this definition is retired", field="definition", fix="bind one that is not")
    row = {"tenant": found.tenant, "agent": agent, "digest": found.digest, "made_at": at, "made_by": by}
    db.execute(QUERIES["bind"], row)


def unbind(db: apsw.Connection, tenant: str, agent: str) -> bool:
    """End the agent's binding; False when it had none."""
    db.execute(QUERIES["unbind"], {"tenant": tenant, "agent": agent})
    return bool(db.changes())


def bindings(db: apsw.Connection, tenant: str | None) -> list[tuple[str, str, str]]:
    """(tenant, agent, digest) of every agent that is bound."""
    return [
        (owner, agent, digest) for owner, agent, digest in db.execute(QUERIES["bindings"], {"tenant": tenant})
    ]


def _edition(row: tuple[Any, ...], bound: Sequence[tuple[str, str, str]]) -> Edition:
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
        agents=tuple(agent for owner, agent, named in bound if (owner, named) == (tenant, digest)),
    )
