"""Writes an act into the tables of the journal, inside a transaction that its caller began."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import apsw
from msgspec import Struct

from memorywire.journal import ledger, people, register, rejected, rowstate
from memorywire.journal.contract import Act, Edition
from memorywire.journal.entries import Draft
from memorywire.journal.ledger import Person
from memorywire.journal.rows import QUERIES, debt_row, edition_row, proposal_row
from memorywire.journal.rowstate import RowKey
from memorywire.model.change import Change
from memorywire.model.errors import Conflict
from memorywire.model.proposal import Proposal
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.sqlite.apply import Settled, tried
from memorywire.stores.sqlite.file import owe_scrub
from memorywire.stores.sqlite.rows import scope_row
from memorywire.stores.sqlite.writer import Work


class Prepared(Struct, frozen=True, kw_only=True):
    """An act with everything done that needs no transaction."""

    act: Act
    drafts: Sequence[Draft]
    apply: Work[int] | None

    def write(self, db: apsw.Connection) -> int:
        sequence = 0 if self.apply is None else self.apply(db)
        act = self.act
        changed: list[RowKey] = [*rowstate.proposals(proposal.id for proposal in act.proposals)]
        for proposal in act.proposals:
            _keep_proposal(db, proposal)
        for debt in act.debts:
            db.execute(QUERIES["owe"], debt_row(debt))
        for store, change in act.paid:
            _settle(db, store, change, if_owed=act.if_owed)
        if act.edition is not None:
            _keep_edition(db, act.edition)
            changed.append(("edition", (act.edition.tenant, act.edition.number)))
        for scope, rule, change in act.ruled:
            db.execute(QUERIES["add_ruled"], scope_row(scope) | {"rule": rule, "change": change})
            changed.append(("ruled", (scope.tenant, rule, change)))
        if act.registered is not None:
            register.enter(db, act.registered)
            changed += register.keys_of(act.registered)
        for words in act.accepted:
            rejected.accept(db, words)
        for words in act.rejected:
            rejected.reject(db, words)
        changed += [("rejected", (words.tenant,)) for words in (*act.accepted, *act.rejected)]
        changed += _erase(db, act)
        gone = self._rename_people(db, changed)
        if self.drafts:
            rowstate.append(db, self.drafts, changed)
        for person in gone:
            people.remove(db, person)
        return sequence

    def _rename_people(self, db: apsw.Connection, changed: list[RowKey]) -> list[Person]:
        """Take the ids of users out of their rows, once nothing that they said is left."""
        act = self.act
        if not act.erased and not act.paid:
            return []
        owners = people.owners(db, act.erased)
        owners |= {((entry.scope.tenant, entry.scope.user), "") for entry in act.entries if entry.scope.user}
        known = (owner for owner in sorted(owners) if people.knows_memories(db, owner[0][0]))
        gone = list({person: None for person, agent in known if not people.is_left(db, person, agent)})
        for person in gone:
            changed += people.rename(db, person)
        return gone


def _keep_proposal(db: apsw.Connection, proposal: Proposal) -> None:
    row = proposal_row(proposal)
    db.execute(QUERIES["add_proposal" if proposal.revision == 1 else "move_proposal"], row)
    if not db.changes():
        raise Conflict(
            "somebody else decided first", field="proposal_id", fix="look at it again: memorywire review show"
        )
    db.execute(QUERIES["unlink_proposal"], row)
    links = [{"tenant": row["tenant"], "memory": id, "proposal": proposal.id} for id in proposal.touched]
    db.executemany(QUERIES["link_proposal"], links)


def _settle(db: apsw.Connection, store: str, change: str, *, if_owed: bool) -> None:
    db.execute(QUERIES["pay"], {"store": store, "change": change})
    if if_owed and not db.changes():
        raise Conflict(f"{store} is not owed change {change} any more", field="change_id")


def _keep_edition(db: apsw.Connection, edition: Edition) -> None:
    try:
        db.execute(QUERIES["add_edition"], edition_row(edition))
    except apsw.ConstraintError as error:
        raise Conflict(
            "somebody else changed the rules first", field="rules", fix="read them again"
        ) from error


def _erase(db: apsw.Connection, act: Act) -> list[RowKey]:
    """Take out what is said of erased memories; gives the rows that were changed."""
    touched: list[tuple[Any, ...]] = []
    for scope, id in act.erased:
        ledger.scrub(db, scope, id)
        named = scope_row(scope) | {"id": id, "quoted": f'"{id}"'}
        touched += db.execute(QUERIES["erase_proposals"], named).fetchall()
        db.execute(QUERIES["erase_queries"], named)
    for scope, digest in act.unsaid:
        touched += db.execute(QUERIES["erase_alike"], scope_row(scope) | {"digest": digest}).fetchall()
    tenants = {scope.tenant for scope, _ in (*act.erased, *act.unsaid)}
    for tenant in tenants:
        rejected.erase(db, tenant)
    if act.erased:
        owe_scrub(db)
    changed = [*rowstate.proposals(id for (id,) in touched)]
    return [*changed, *(("rejected", (tenant,)) for tenant in sorted(tenants))]


def apply_together(db: apsw.Connection, apply: Work[Settled], drafts: Sequence[Draft]) -> Settled:
    """Write all changes by one work; if it raises, nothing of them may stay."""
    sequences = apply(db)
    ledger.append(db, drafts)
    return sequences


def apply_apart(
    db: apsw.Connection, store: SqliteStore, changes: Sequence[Change], drafts: Sequence[Draft]
) -> Settled:
    """Write one change after the other; what one of them raises concerns it alone."""
    works = (
        partial(_apply_one, store=store, change=change, draft=draft)
        for change, draft in zip(changes, drafts, strict=True)
    )
    return [tried(db, work) for work in works]


def _apply_one(db: apsw.Connection, store: SqliteStore, change: Change, draft: Draft) -> int:
    sequence = store.applying(change)(db)
    ledger.append(db, [draft])
    return sequence
