"""Writes an act into the tables of the journal, inside a transaction that its caller began."""

from collections.abc import Sequence

import apsw

from memorywire.journal import ledger, register, rejected
from memorywire.journal.contract import Act, Edition
from memorywire.journal.entries import Draft
from memorywire.journal.rows import QUERIES, debt_row, edition_row, proposal_row
from memorywire.model.errors import Conflict
from memorywire.model.proposal import Proposal
from memorywire.model.values import dataclass
from memorywire.stores.sqlite.file import owe_scrub
from memorywire.stores.sqlite.rows import scope_row
from memorywire.stores.sqlite.writer import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """An act with everything done that needs no transaction."""

    act: Act
    drafts: Sequence[Draft]
    apply: Work[int] | None

    def write(self, db: apsw.Connection) -> int:
        sequence = 0 if self.apply is None else self.apply(db)
        act = self.act
        for proposal in act.proposals:
            _keep_proposal(db, proposal)
        for debt in act.debts:
            db.execute(QUERIES["owe"], debt_row(debt))
        for store, change in act.paid:
            _settle(db, store, change, if_owed=act.if_owed)
        if act.edition is not None:
            _keep_edition(db, act.edition)
        for scope, rule, change in act.ruled:
            db.execute(QUERIES["add_ruled"], scope_row(scope) | {"rule": rule, "change": change})
        if act.registered is not None:
            register.enter(db, act.registered)
        for words in act.accepted:
            rejected.accept(db, words)
        for words in act.rejected:
            rejected.reject(db, words)
        ledger.append(db, self.drafts)
        _erase(db, act)
        return sequence


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


def _erase(db: apsw.Connection, act: Act) -> None:
    for scope, id in act.erased:
        ledger.scrub(db, scope, id)
        named = scope_row(scope) | {"id": id, "quoted": f'"{id}"'}
        db.execute(QUERIES["erase_proposals"], named)
        db.execute(QUERIES["erase_queries"], named)
    for scope, digest in act.unsaid:
        db.execute(QUERIES["erase_alike"], scope_row(scope) | {"digest": digest})
    for tenant in {scope.tenant for scope, _ in (*act.erased, *act.unsaid)}:
        rejected.erase(db, tenant)
    if act.erased:
        owe_scrub(db)
