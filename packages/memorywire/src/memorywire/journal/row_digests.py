"""Digests of rows outside of the memories, written into the ledger by the entry that changed them.

A proposal, an edition of the rules, an operator, a token, a webhook or a definition that is edited with
SQL no longer fits the digest that the ledger holds of it. The digests are salted: what a row said cannot be
guessed from them once the row has changed, because only the newest salt is kept.

Every function works inside the caller's transaction.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from memorywire.journal import ledger
from memorywire.journal.backend import Session
from memorywire.journal.entries import Draft, Entry, build_draft, canonical, canonical_bytes
from memorywire.model.record import Json, Scope

KINDS = (
    *("proposal", "links", "edition", "ruled", "register", "operator", "token", "token_key", "webhook"),
    *("definition", "binding", "ingest", "rejected"),
)
RowKey: TypeAlias = tuple[str, tuple[Any, ...]]
"""A kind and the values that name one row of it."""

_SALT_BYTES = 16
_NAMES = ("first", "second", "third")
_AT_ONCE = 1_000


def append(db: Session, drafts: Sequence[Draft], changed: Iterable[RowKey]) -> None:
    """Write entries, the last of which holds the digests of the rows that were changed with it."""
    keys = list(dict.fromkeys(changed))
    if not keys:
        ledger.append(db, drafts)
        return
    salts = [os.urandom(_SALT_BYTES) for _ in keys]
    digests = [hash_row(db, key, salt) for key, salt in zip(keys, salts, strict=True)]
    state_rows = [[kind, list(key), digest] for (kind, key), digest in zip(keys, digests, strict=True)]
    *_, sequence = ledger.append(db, drafts, state=state_rows)
    for (kind, key), salt, digest in zip(keys, salts, digests, strict=True):
        row_key = {"kind": kind, "key": canonical(list(key))}
        if digest is None:
            db.execute("delete_row_salt", row_key)
        else:
            db.execute("set_row_salt", row_key | {"seq": sequence, "salt": salt})


def hash_row(db: Session, key: RowKey, salt: bytes) -> str | None:
    """The salted digest of a row as it is; None when there is none."""
    kind, values = key
    rows = db.rows(f"row_{kind}", dict(zip(_NAMES, values, strict=False)))
    if not rows:
        return None
    state_rows = [[value.hex() if isinstance(value, bytes) else value for value in row] for row in rows]
    return hashlib.sha256(salt + canonical_bytes(state_rows)).hexdigest()


def list_keys(db: Session) -> Iterator[RowKey]:
    """The keys of all rows there are."""
    for kind in KINDS:
        for key in db.rows(f"keys_{kind}"):
            yield kind, tuple(key)


def proposal_keys(id: str) -> tuple[RowKey, RowKey]:
    """A proposal and the memories that it names."""
    return ("proposal", (id,)), ("links", (id,))


def operator_keys(db: Session, name: str) -> list[RowKey]:
    """An operator, all of their tokens, and the key of the tokens' hashes."""
    tokens = [("token", (id,)) for (id,) in db.rows("token_ids_of_operator", {"operator": name})]
    return [("operator", (name,)), *tokens, ("token_key", (1,))]


def definition_keys(db: Session, tenant: str, agent: str) -> list[RowKey]:
    """The definitions of a tenant, and what the agent is bound to, if one is named."""
    every = db.rows("keys_definition")
    bound: list[RowKey] = [("binding", (tenant, agent))] if agent else []
    return [*(("definition", tuple(key)) for key in every if key[0] == tenant), *bound]


def adopt(db: Session) -> None:
    """Write the digests of all rows that an earlier release left without one."""
    existing = {(kind, key) for kind, key, _, _ in db.rows("row_salts")}
    fresh = [(kind, key) for kind, key in list_keys(db) if (kind, canonical(list(key))) not in existing]
    at = int(db.value("last_entry_time"))
    for first in range(0, len(fresh), _AT_ONCE):
        several = fresh[first : first + _AT_ONCE]
        append(db, [build_draft(_build_entry(at, rows=len(several)))], several)


def _build_entry(at: int, **details: Json) -> Entry:
    scope = Scope(agent="*")
    return Entry(at=at, operation="state", scope=scope, actor="upgrade", kind="adopted", details=details)
