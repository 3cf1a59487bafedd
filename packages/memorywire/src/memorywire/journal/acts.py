"""Acts: what the journal writes in one transaction, all of it or none of it.

An act holds ledger entries, proposals, outbox entries, rules, updates of the register of memories, rejected
words and the memories that an erase removes. The last entry of an act also holds the digests of the rows
that the act changed (`ledger.append_with_rows`), so that an audit detects a later edit of a row.

Theory of operation of the outbox. A store that is not in the journal's database cannot commit together with
it. So the journal first writes the change as an outbox entry for that store (`Act.outbox`). Then the store
writes it. Then the act that acknowledges it (`Act.acknowledged`) is written together with the entries of
the ledger. A crash between two of these steps leaves the outbox entry, and the change is delivered
again: stores recognise a change by its id, so a second delivery changes nothing. Entries have positions,
and a store gets its changes in that order. An entry that failed gets a later `due_at`. With `Act.if_pending`
an act conflicts when another process has acknowledged the entry, so that no delivery is recorded twice.
`pipeline.transaction` delivers; this module only stores.

*Users whose content was erased completely.* A mark replaces their id in every remaining row. The ledger
never holds the id of a user, only the mark; `ledger_person` maps marks to users.

Every function works inside the caller's transaction.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal import ledger
from memorywire.journal.backend import Row, Session, bind_scope
from memorywire.journal.entries import Draft, Entry, build_draft
from memorywire.journal.ledger import Person, RowKey
from memorywire.model.change import Change
from memorywire.model.codec import dumps, loads
from memorywire.model.errors import Conflict
from memorywire.model.ids import Entropy
from memorywire.model.proposal import OutboxEntry, Proposal, Queue, Risk, State
from memorywire.model.record import DEFAULT_TENANT, Json, Scope


class Known(Struct, frozen=True, kw_only=True):
    """The register's row of a memory, which is read without a call to its store.

    `digest` is None for a memory whose end was registered before its beginning.
    """

    scope: Scope
    version: int
    digest: str | None
    live: bool


class Edition(Struct, frozen=True, kw_only=True):
    """A version of a tenant's rules, set by a person at time `at`; the newest version is in force.

    The rules of the default tenant apply to every tenant.
    """

    number: int
    at: int
    by: str
    rules: tuple[Json, ...]
    tenant: str = DEFAULT_TENANT


class Words(Struct, frozen=True, kw_only=True):
    """A keyed digest of the words of a proposal; the words cannot be derived from it."""

    tenant: str
    digest: bytes
    proposal: str


Loan: TypeAlias = tuple[str, str, str]
"""Borrower, lender, and the id of the grant, which is a record of the lender."""


class Act(Struct, frozen=True, kw_only=True, gc=False):
    """Rows that are written together, all or none.

    The stored revision of an existing proposal must be one lower, else the act conflicts. `outbox` are
    changes that a store has not written yet. `acknowledged` are those it has written, as (store, change id);
    with `if_pending` the act conflicts when one of them is no longer in the outbox. `ruled` records which
    changes a rule let pass, as (scope, rule, change id). The journal deletes its records of the content of
    `erased` memories, and proposals with the same words as one of them: `unsaid` holds (scope, digest of the
    words). `registered` is a change to enter in the register of memories. `rejected` are words that a person
    rejected, `accepted` are words whose rejection is withdrawn. `loans` records the grants that the change
    gives.
    """

    entries: tuple[Entry, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    outbox: tuple[OutboxEntry, ...] = ()
    acknowledged: tuple[tuple[str, str], ...] = ()
    if_pending: bool = False
    edition: Edition | None = None
    ruled: tuple[tuple[Scope, str, str], ...] = ()
    erased: tuple[tuple[Scope, str], ...] = ()
    unsaid: tuple[tuple[Scope, str], ...] = ()
    registered: Change | None = None
    rejected: tuple[Words, ...] = ()
    accepted: tuple[Words, ...] = ()
    loans: tuple[Loan, ...] = ()


class Wanted(Struct, frozen=True, kw_only=True):
    """A filter of proposals: of an agent (or all agents of the tenant), in these states, after `after`.

    `rule` is the rule that held them, `text` a text they contain. Oldest first; `by_risk`: riskiest first.
    """

    tenant: str
    agent: str | None = None
    user: str | None = None
    states: frozenset[State] = frozenset()
    batch: str | None = None
    rule: str | None = None
    text: str | None = None
    by_risk: bool = False
    after: str | None = None
    limit: int = 100
    queue: Queue | None = None


_KEY_BYTES = 32
_NEVER_AGAIN = 2**62  # higher than every version number


class PreparedActs:
    """Acts whose entries are already encoded, so that the transaction only writes."""

    def __init__(self, acts: Sequence[Act]) -> None:
        self._acts: list[tuple[Act, list[Draft]]] = []
        self._has_only_entries = True  # the usual case
        for act in acts:
            self._acts.append((act, [*map(build_draft, act.entries)]))
            self._has_only_entries = self._has_only_entries and act == Act(entries=act.entries)

    def write(self, db: Session, indexes: Sequence[int]) -> None:
        """Write the acts with these indexes, in order."""
        chosen = [*map(self._acts.__getitem__, indexes)]
        if self._has_only_entries:
            drafts = [*chain.from_iterable(map(itemgetter(1), chosen))]
            if drafts:
                ledger.append(db, drafts)  # batched: a few statements for all acts
            return
        for act, drafts in chosen:
            _write_act(db, act, drafts)


def _write_act(db: Session, act: Act, drafts: Sequence[Draft]) -> None:
    keys = _write_rows(db, act)
    if act.erased or act.unsaid:
        keys += _erase(db, act)
    gone = _rename_people(db, act, keys) if act.erased or act.acknowledged else []
    if drafts:
        ledger.append_with_rows(db, drafts, keys)
    for person in gone:
        _remove_person(db, person)


def _write_rows(db: Session, act: Act) -> list[RowKey]:
    """Write every part of the act except its erasures; return the keys of the changed rows."""
    keys: list[RowKey] = []
    for proposal in act.proposals:
        _put_proposal(db, proposal)
        keys += ledger.proposal_keys(proposal.id)
    for entry in act.outbox:
        db.execute("put_outbox_entry", _outbox_row(entry))
    for store, change in act.acknowledged:
        deleted = db.execute("delete_outbox_entry", {"store": store, "change": change})
        if act.if_pending and not deleted:
            raise Conflict(f"change {change} is no longer in the outbox of {store}", field="change_id")
    if act.edition is not None:
        _add_edition(db, act.edition)
        keys.append(("edition", (act.edition.tenant, act.edition.number)))
    for scope, rule, change in act.ruled:
        db.execute("add_ruled_change", bind_scope(scope) | {"rule": rule, "change": change})
        keys.append(("ruled", (scope.tenant, rule, change)))
    for borrower, lender, id in act.loans:
        tenant = act.entries[0].scope.tenant
        db.execute("add_loan", {"tenant": tenant, "borrower": borrower, "lender": lender, "id": id})
    if act.registered is not None:
        keys += _register(db, act.registered)
    for words in act.accepted:
        db.execute("accept_words", {"tenant": words.tenant, "digest": words.digest})
        keys.append(("rejected", (words.tenant,)))
    for words in act.rejected:
        row = {"tenant": words.tenant, "digest": words.digest, "proposal": words.proposal}
        db.execute("reject_words", row)
        keys.append(("rejected", (words.tenant,)))
    return keys


def _rename_people(db: Session, act: Act, keys: list[RowKey]) -> list[Person]:
    """Replace the ids of users without remaining content by marks; return these users."""
    owners = _find_owners(db, act.erased)
    owners |= {((entry.scope.tenant, entry.scope.user), "") for entry in act.entries if entry.scope.user}
    visible = (owner for owner in sorted(owners) if _has_memories(db, owner[0][0]))
    gone = list({person: None for person, agent in visible if not _has_content(db, person, agent)})
    for person in gone:
        keys += _rename_person(db, person)
    return gone


def _put_proposal(db: Session, proposal: Proposal) -> None:
    row, is_new = _proposal_row(proposal), proposal.revision == 1
    if is_new:
        db.lock_ledger()  # so that two transactions cannot both add the same request
    if not db.execute("add_proposal" if is_new else "update_proposal", row):
        message = "the same request waits already" if is_new else "another reviewer decided first"
        fix = None if is_new else "look again: memorywire review show"
        raise Conflict(message, field="proposal_id", fix=fix)
    db.execute("unlink_proposal", row)
    links = [{"tenant": row["tenant"], "memory": id, "proposal": proposal.id} for id in proposal.touched]
    db.execute_many("link_proposal", links)


def _add_edition(db: Session, edition: Edition) -> None:
    row = {
        "tenant": edition.tenant,
        "number": edition.number,
        "at": edition.at,
        "by": edition.by,
        "rules": json.dumps(edition.rules, ensure_ascii=False),
    }
    if not db.execute("add_edition", row):
        raise Conflict("another caller changed the rules first", field="rules", fix="read them again")


def _erase(db: Session, act: Act) -> list[RowKey]:
    """Delete salts, proposals and queries about erased memories; return the keys of the changed rows."""
    proposals: list[Row] = []
    for scope, id in act.erased:
        ledger.delete_salts(db, scope, id)
        memory = bind_scope(scope) | {"id": id, "quoted": f'"{id}"'}
        proposals += db.rows("erase_proposals", memory)
        db.execute("erase_queries", memory)
    for scope, digest in act.unsaid:
        proposals += db.rows("erase_proposals_like", bind_scope(scope) | {"digest": digest})
    tenants = {scope.tenant for scope, _ in (*act.erased, *act.unsaid)}
    for tenant in tenants:
        db.execute("erase_rejected_words", {"tenant": tenant})
    if act.erased:
        db.schedule_scrub()
    keys = [key for (id,) in proposals for key in ledger.proposal_keys(id)]
    return [*keys, *(("rejected", (tenant,)) for tenant in sorted(tenants))]


def _register(db: Session, change: Change) -> list[RowKey]:
    """Enter the versions that the change begins, ends and erases; changes may arrive in any order.

    Returns the keys of the rows it may have changed.
    """
    owner = bind_scope(change.scope)
    for end in change.end:
        db.execute("end_registered", owner | {"id": end.id, "version": end.version})
    for put in change.put:
        record = put.record
        version = {"id": record.id, "version": record.version, "digest": record.digest}
        db.execute("begin_registered", bind_scope(record.scope) | version)
    for id in change.erase:
        db.execute("end_registered", owner | {"id": id, "version": _NEVER_AGAIN})
    ids = [*(end.id for end in change.end), *(put.record.id for put in change.put), *change.erase]
    return [("register", (change.scope.tenant, id)) for id in ids]


def find_registered(db: Session, tenant: str, ids: Sequence[str]) -> Mapping[str, Known]:
    """Return the register's rows of these ids; ids that are not registered are left out."""
    rows = db.rows("registered_memories", {"tenant": tenant, "ids": json.dumps(list(ids))})
    return {
        id: Known(
            scope=Scope(tenant=tenant, agent=agent, user=user),
            version=version,
            digest=digest,
            live=bool(live),
        )
        for id, agent, user, version, digest, live in rows
    }


def find_proposals(db: Session, statement: str, bindings: Mapping[str, Any]) -> list[Proposal]:
    """Return the proposals that a named statement selects."""
    return [_read_proposal(*row) for row in db.rows(statement, bindings)]


def list_outbox(
    db: Session, store: str | None = None, *, after: int = 0, limit: int | None = None
) -> list[OutboxEntry]:
    """Return the changes that stores have not written yet, oldest first."""
    bindings = {"store": store, "after": after, "limit": -1 if limit is None else limit}
    return [_read_outbox_entry(*row) for row in db.rows("outbox_entries", bindings)]


def list_editions(db: Session, tenant: str, limit: int) -> list[Edition]:
    """The editions of a tenant's rules, newest first."""
    return [
        Edition(tenant=tenant, number=number, at=at, by=by, rules=tuple(json.loads(rules)))
        for number, at, by, rules, tenant in db.rows("editions", {"tenant": tenant, "limit": limit})
    ]


def bind_filter(filters: Wanted) -> dict[str, Any]:
    """Return the SQL parameters of a filter of proposals."""
    queue = filters.queue
    return {
        "assignee": None if queue is None else queue.assignee,
        "awake_at": None if queue is None or queue.snoozed else queue.at,
        "snoozed_at": queue.at if queue is not None and queue.snoozed else None,
        "tenant": filters.tenant,
        "agent": filters.agent,
        "user": filters.user,
        "batch": filters.batch,
        "rule": filters.rule,
        "text": filters.text,
        "states": json.dumps([state.value for state in filters.states or State]),
        "after": filters.after,
        "limit": filters.limit,
    }


def _proposal_row(proposal: Proposal) -> dict[str, Any]:
    """Return the row of a proposal; content is only in the columns that an erase clears, as `plan`."""
    plan = replace(proposal, secrets=(), instructions=(), similar=(), decision=None)
    body = replace(proposal, request=None, change=None, features=None, comments=())
    puts = proposal.change.put if proposal.change is not None else ()
    return bind_scope(proposal.scope) | {
        "id": proposal.id,
        "state": proposal.state.value,
        "revision": proposal.revision,
        "batch": proposal.batch,
        "key": proposal.key,
        "digest": puts[0].record.digest if len(puts) == 1 else None,
        "risk": list(Risk).index(proposal.risk),
        "expires_at": proposal.expires_at,
        "body": dumps(body),
        "plan": dumps(plan) if proposal.request is not None else None,
    }


def _read_proposal(body: str, plan: str | None, state: str, revision: int) -> Proposal:
    """Read a proposal; state and revision come from their columns, because an erase may have changed them."""
    proposal = replace(loads(Proposal, body), state=State(state), revision=revision)
    if plan is None:
        return proposal
    planned = loads(Proposal, plan)
    content = {name: getattr(planned, name) for name in ("request", "change", "features", "comments")}
    return replace(proposal, **content)


def _outbox_row(entry: OutboxEntry) -> dict[str, Any]:
    return {
        "store": entry.store,
        "change": entry.change.id,
        "at": entry.at,
        "tries": entry.tries,
        "due_at": entry.due_at,
        "error": entry.error,
        "body": dumps(entry.change),
    }


def _read_outbox_entry(
    store: str, at: int, tries: int, due_at: int, error: str | None, body: str, position: int
) -> OutboxEntry:
    return OutboxEntry(
        store=store,
        change=loads(Change, body),
        at=at,
        tries=tries,
        due_at=due_at,
        error=error,
        position=position,
    )


def find_proposed(db: Session, scope: Scope, ids: Iterable[str]) -> frozenset[str]:
    """Return those of the ids that a stored proposal of this scope refers to."""
    bindings = bind_scope(scope) | {"ids": json.dumps(list(ids))}
    return frozenset(id for (id,) in db.rows("proposed_memories", bindings))


def read_hash_key(db: Session) -> bytes | None:
    """Return this database's key for keyed hashes, or None if it was not created yet."""
    key: bytes | None = db.value("hash_key")
    return None if key is None else bytes(key)


def make_hash_key(db: Session, entropy: Entropy) -> bytes:
    """Return this database's key for keyed hashes; creates it if there is none."""
    if read_hash_key(db) is None:
        db.execute("add_hash_key", (entropy(_KEY_BYTES),))
    return bytes(db.value("hash_key"))


# Shorter user ids are not replaced inside texts: they occur in too many unrelated words.
_TELLING = 4


def _find_owners(db: Session, erased: Iterable[tuple[Scope, str]]) -> set[tuple[Person, str]]:
    """Return the users who own the erased memories, each with the agent that erased them."""
    owners: set[tuple[Person, str]] = set()
    ids: dict[tuple[str, str], list[str]] = {}
    for scope, id in erased:
        if scope.user is not None:
            owners.add(((scope.tenant, scope.user), scope.agent))
        else:
            ids.setdefault((scope.tenant, scope.agent), []).append(id)
    for (tenant, agent), several in ids.items():
        users = _find_users(db, tenant, several)
        owners |= {((tenant, user), agent) for user in users}
    return owners


def _find_users(db: Session, tenant: str, ids: Sequence[str]) -> set[str]:
    bindings = {"tenant": tenant, "ids": json.dumps(ids)}
    statements = ["registered_owners"]
    if _sees_memories(db, tenant):
        statements.append("memory_owners")
    return {user for statement in statements for (user,) in db.rows(statement, bindings)}


def _has_memories(db: Session, tenant: str) -> bool:
    """Return whether this database lists the memories of the tenant, in the register or in a store.

    Without a list, it is unknown whether an erased memory was the last one of its user.
    """
    return bool(db.value("has_register", {"tenant": tenant})) or _sees_memories(db, tenant)


def _has_content(db: Session, person: Person, agent: str = "") -> bool:
    """Return whether this database still holds content of the user, stored or pending."""
    tenant, user = person
    bindings = {"tenant": tenant, "user": user}
    if _sees_memories(db, tenant):
        if agent and db.value("has_live_memories", bindings | {"agent": agent}):
            return True
        if db.value("has_contents", bindings):
            return True
    quoted = json.dumps(user, ensure_ascii=False)
    return bool(db.value("has_pending_rows", bindings | {"quoted": quoted}))


def _rename_person(db: Session, person: Person) -> list[RowKey]:
    """Replace the user's id by their mark in every table except `ledger_person`.

    Returns the keys of the changed rows of which the ledger holds digests.
    """
    tenant, user = person
    bindings = {"tenant": tenant, "user": user, "mark": ledger.find_mark(db, person)}
    if _sees_memories(db, tenant):
        for statement in ("rename_versions", "rename_changes"):
            db.execute(statement, bindings)
    keys: list[RowKey] = [
        (kind, tuple(key))
        for kind in ("ruled", "register")
        for key in db.rows(f"{kind}_keys_of_person", bindings)
    ]
    for table in ("recalls", "ruled", "register", "ingests", "reads"):
        db.execute(f"rename_{table}", bindings)
    if len(user) >= _TELLING:
        db.execute("drop_queries_with_person", bindings)
        _rewrite_runs(db, bindings)
    proposals = db.rows("proposals_of_person", bindings)
    for id, body in proposals:
        db.execute("rename_proposal", {**bindings, "id": id, "body": _rewrite(body, bindings)})
    db.schedule_scrub()
    return [*keys, *(key for id, _ in proposals for key in ledger.proposal_keys(str(id)))]


def forget_person(db: Session, person: Person, drafts: Sequence[Draft]) -> bool:
    """Replace the user's id everywhere and append an entry; False, without a change, while content exists.

    If no row contains the id, no entry is appended.
    """
    if _has_content(db, person):
        return False
    tenant, user = person
    if db.value("is_person_in_rows", {"tenant": tenant, "user": user}):
        ledger.append_with_rows(db, drafts, _rename_person(db, person))
        _remove_person(db, person)
    return True


def _remove_person(db: Session, person: Person) -> None:
    """Delete the mapping from the mark to the user, the last row that holds the user's id."""
    tenant, user = person
    db.execute("delete_person", {"tenant": tenant, "user": user})


def _rewrite_runs(db: Session, bindings: dict[str, str]) -> None:
    for id, body in db.rows("runs_with_person", bindings):
        db.execute("rewrite_run", {"id": id, "body": _rewrite(body, bindings)})
    for run, sequence, payload in db.rows("run_events_with_person", bindings):
        place = {"run": run, "sequence": sequence}
        db.execute("rewrite_run_event", place | {"payload": _rewrite(payload, bindings)})


def _rewrite(text: Any, bindings: dict[str, str]) -> str:
    """Return the JSON of an object with the id replaced by the mark; its top-level names are unchanged."""
    fields = {
        name: _replace_user(value, bindings["user"], bindings["mark"])
        for name, value in json.loads(text).items()
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _replace_user(value: Json, user: str, mark: str) -> Json:
    if isinstance(value, str):
        if value == user:
            return mark
        return value.replace(user, mark) if len(user) >= _TELLING else value
    if isinstance(value, list):
        return [_replace_user(item, user, mark) for item in value]
    if isinstance(value, dict):
        return {
            name.replace(user, mark) if len(user) >= _TELLING else name: _replace_user(item, user, mark)
            for name, item in value.items()
        }
    return value


def _sees_memories(db: Session, tenant: str) -> bool:
    """Return whether the memories are in this database; if so, make those of the tenant visible."""
    if not db.value("has_memories"):
        return False
    db.see_tenant(tenant)
    return True
