"""Naming operators, giving and taking tokens: each act is in the ledger with the name, never the token."""

import os
from collections.abc import Callable
from typing import TypeVar

import apsw
from msgspec import Struct

from memorywire.journal import operators, rowstate
from memorywire.journal.entries import Entry, draft
from memorywire.journal.operators import Issued, Operator, Token
from memorywire.journal.sqlite import SqliteJournal
from memorywire.model.clock import Clock
from memorywire.model.ids import Entropy
from memorywire.model.record import Json, Scope

T = TypeVar("T")

_NOBODYS = Scope(agent="*")


class Registry(Struct, frozen=True, kw_only=True):
    """The operators of a journal, changed in the name of `actor`."""

    journal: SqliteJournal
    clock: Clock
    actor: str
    entropy: Entropy = os.urandom

    async def add(self, operator: Operator, *, expires_at: int | None = None) -> Issued:
        """Name an operator and give the first token."""

        def work(db: apsw.Connection) -> Issued:
            operators.add_operator(db, operator)
            return operators.issue(
                db, operator.name, now=self.clock(), expires_at=expires_at, entropy=self.entropy
            )

        return await self._act(work, "added", operator.name, role=operator.role.value)

    async def rotate(self, name: str, *, overlap_ms: int = 0, expires_at: int | None = None) -> Issued:
        """Give a new token; those before it end after the overlap. It ends when they would have ended."""

        def work(db: apsw.Connection) -> Issued:
            return operators.rotate(
                db,
                name,
                now=self.clock(),
                overlap_ms=overlap_ms,
                expires_at=expires_at,
                entropy=self.entropy,
            )

        return await self._act(work, "rotated", name)

    async def revoke(self, name: str) -> bool:
        """Accept no token of this operator any more; False, and no entry, if they were revoked before."""
        return await self._act(lambda db: operators.revoke(db, name, self.clock()), "revoked", name)

    async def known(self) -> list[tuple[Operator, list[Token]]]:
        """Everybody who was ever named, with what is kept of their tokens."""

        def work(db: apsw.Connection) -> list[tuple[Operator, list[Token]]]:
            tokens = operators.tokens(db)
            return [
                (one, [token for token in tokens if token.operator == one.name])
                for one in operators.operators(db)
            ]

        return await self.journal.file.read(work)

    async def _act(self, work: Callable[[apsw.Connection], T], kind: str, name: str, **details: Json) -> T:
        """Do the work and write it into the ledger in one transaction; work that gives False did nothing."""
        entry = Entry(
            at=self.clock(),
            operation="operator",
            scope=_NOBODYS,
            actor=self.actor,
            kind=kind,
            subject=name,
            details=details,
        )

        def written(db: apsw.Connection) -> T:
            done = work(db)
            if done is not False:
                rowstate.append(db, [draft(entry)], rowstate.operator(db, name))
            return done

        return await self.journal.write_by(written)
