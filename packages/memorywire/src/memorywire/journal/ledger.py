"""The append-only ledger of all operations, in order, with proofs that no entry was changed or removed.

Theory of operation.

*Entries.* Each change, proposal, decision, recall and act of an operator appends one entry: a canonical
JSON text (`entries`). It contains ids, counts and reasons, and commits to content by salted digests
(`ledger_salt`), never by the content. A hard delete removes the salt: the digest then reveals nothing, and
the entry stays valid. In the same way an entry contains a mark instead of a user id; only `ledger_person`
maps marks to users.

*Hash chain.* Entries have sequence numbers from 1 without gaps. `chain[n] = SHA-256(chain[n-1] ||
leaf[n])`, where `leaf[n]` is the Merkle leaf hash of the text. An attacker who edits, removes, inserts or
reorders an entry has to rewrite every chain hash after it.

*Merkle tree.* The leaves form the tree of RFC 9162 (`merkle`). Its root proves single entries (inclusion)
and growth (consistency) without the rest of the log. The right edge of the tree is saved with each
signature, so that the next one reads only newer entries.

*Signed tree heads.* A `TreeHead` is the name of the log, the edge of its tree and the end of its chain. Its
checkpoint (origin, size, root) is signed with an Ed25519 key and appended to a file next to the database
(`signer`), and is sent to witnesses if any are configured. `sign` refuses to sign a log whose chain is
broken.

*What a verifier can detect.* From the rows alone: a broken chain, so a single edit is found. With the
checkpoints and the public key: any rewrite of an entry under a signed checkpoint, and a log that was
truncated or rebuilt. With a checkpoint that was stored elsewhere: the same, against an
attacker who has the database, the key and the checkpoint file.

*What it cannot detect.* Entries after the last checkpoint can be rewritten by any process that can write to
the database. An attacker with the database, the key and all checkpoints can rebuild everything; only a
checkpoint stored elsewhere reveals it. The ledger does not reveal operations that were never appended, and it
proves content only while the salt exists.

*Digests of rows.* The entry that changes a proposal, an edition of the rules, an operator, a token, a webhook
or a definition holds the digest of that row (`append_with_rows`): a row that is edited with SQL no longer
matches it. These digests are salted too. Only the newest salt of a row is stored, so its earlier values
cannot be guessed.

Every function that takes a `Session` works inside the caller's transaction.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict

from memorywire.journal.backend import JournalBackend, Session
from memorywire.journal.entries import Draft, Entry, build_draft, canonical, canonical_bytes, mark_of
from memorywire.journal.merkle import HASH_BYTES, Edge
from memorywire.journal.signed_notes import Checkpoint
from memorywire.journal.signer import Signer
from memorywire.model.errors import StoreCorrupt, StoreError
from memorywire.model.record import Json, Scope

GENESIS = bytes(HASH_BYTES)
_SALT_BYTES = 16
_PAGE = 1000  # entries per page of a read
# Unsigned entries can still be rewritten, so a signature is due at this count or this age of them.
MOST_UNSIGNED = 1_000
LONGEST_UNSIGNED_MS = 60_000
Person: TypeAlias = tuple[str, str]
"""(tenant, user)."""


class Row(NamedTuple):
    """A stored entry; `body` is the text that is hashed.

    `user` is the id of the user whose mark is in the body, or None after the mapping was deleted.
    """

    seq: int
    body: str
    chain: bytes
    user: str | None = None

    @property
    def leaf(self) -> bytes | None:
        """The leaf hash of the body; None if tampering left bytes that are not UTF-8."""
        try:
            return leaf_hash(self.body.encode())
        except UnicodeEncodeError:
            return None

    @property
    def said(self) -> dict[str, Json]:
        """The entry as a JSON object: actor, agent, at, kind, operation, seq, tenant and optional fields."""
        entry: dict[str, Json] = json.loads(self.body)
        return entry if self.user is None else entry | {"user": self.user}


class Salted(NamedTuple):
    """A commitment: its entry, its version and its salt, which is None after a hard delete."""

    seq: int
    version: int
    salt: bytes | None


class Filters(Struct, frozen=True, kw_only=True):
    """A filter of entries; None matches everything. `memory` is an id that the entry must contain."""

    tenant: str | None = None
    agent: str | None = None
    user: str | None = None
    operation: str | None = None
    kind: str | None = None
    actor: str | None = None
    memory: str | None = None
    since: int | None = None
    until: int | None = None


class Event(Struct, frozen=True, kw_only=True):
    """A ledger entry that is not a recall: its number, operation, subject, actor and outcome (`kind`).

    `subject` is the id of the change or proposal, `memories` are the ids in the entry.
    """

    id: int
    at: int
    operation: str
    kind: str
    tenant: str
    agent: str
    actor: str
    user: str | None = None
    subject: str | None = None
    memories: tuple[str, ...] = ()


def leaf_hash(body: bytes) -> bytes:
    """The hash of an entry as a leaf of the Merkle tree (RFC 9162)."""
    return sha256(b"\0" + body).digest()


def link(chain: bytes, leaf: bytes) -> bytes:
    """The chain hash after one more leaf."""
    return sha256(chain + leaf).digest()


def has_ledger(db: Session) -> bool:
    """Return whether this database has a ledger."""
    return bool(db.value("has_ledger"))


def read_head(db: Session) -> tuple[int, bytes]:
    """Return the number of entries and the chain hash of the last one."""
    row = db.row("ledger_head")
    return (0, GENESIS) if row is None else (row[0], row[1])


def append(db: Session, drafts: Sequence[Draft], *, state: Json = None) -> list[int]:
    """Append entries and return their sequence numbers, which start at 1 and have no gaps.

    `state` holds the digests of changed rows, for the last of the entries.
    """
    db.lock_ledger()
    marks: dict[Person | None, str | None] = {None: None}
    first = next(filter(None, map(attrgetter("person"), drafts)), None)
    if first is None:
        last, chain = read_head(db)
    else:  # one statement reads head and mark, because each may cost a round trip
        row = db.row("ledger_head_for", _bind_person(first))
        last, chain, mark = row or (0, GENESIS, None)
        marks[first] = mark or find_mark(db, first)
    rows, salts = [], []
    for sequence, draft in enumerate(drafts, last + 1):
        if draft.person is not None and draft.person not in marks:
            marks[draft.person] = find_mark(db, draft.person)
        is_last = sequence == last + len(drafts)
        body = draft.complete(sequence, marks[draft.person], state if is_last else None)
        chain = link(chain, leaf_hash(body.encode()))
        rows.append((sequence, body, chain))
        salts += [(sequence, *salt) for salt in draft.salts]
    db.execute_many("append_entry", rows)
    db.execute_many("add_salt", salts)
    return list(range(last + 1, last + 1 + len(drafts)))


def find_mark(db: Session, person: Person) -> str:
    """Return the mark of this user in the ledger; creates it if there is none."""
    return db.value("person_mark", _bind_person(person)) or _add_mark(db, person)


def _add_mark(db: Session, person: Person) -> str:
    salt = os.urandom(_SALT_BYTES)
    mark = mark_of(salt, *person)
    db.execute("add_person", _bind_person(person) | {"mark": mark, "salt": salt})
    return mark


def _bind_person(person: Person) -> dict[str, str | bytes]:
    tenant, user = person
    return {"tenant": tenant, "user": user}


def delete_salts(db: Session, scope: Scope, id: str) -> None:
    """Delete the salts of an agent's memory, so that its digests reveal nothing any more."""
    db.execute("delete_salts", {"tenant": scope.tenant, "agent": scope.agent, "id": id})


def filter_entries(
    db: Session, filters: Filters, *, before: int | None = None, limit: int | None = None
) -> list[Row]:
    """Return matching entries, newest first; `before` is the last number of the previous page."""
    mention = None if filters.memory is None else canonical(filters.memory)
    page = {"memory": mention, "before": before, "limit": -1 if limit is None else limit}
    return [_read_row(*row) for row in db.rows("filter_entries", asdict(filters) | page)]


def find_entries_about(db: Session, tenant: str, subject: str) -> list[Row]:
    """The entries whose subject is this change, proposal or recall, newest first."""
    return [_read_row(*row) for row in db.rows("entries_about", {"tenant": tenant, "subject": subject})]


def count_operations_by_day(db: Session, tenant: str, newest: int) -> list[tuple[int, str, int]]:
    """Count the operations among the newest entries, as (days since the epoch, operation, count)."""
    rows = db.rows("operations_by_day", {"tenant": tenant, "newest": newest})
    return [(day, operation, count) for day, operation, count in rows]


def find_entry(db: Session, sequence: int) -> Row | None:
    row = db.row("entry", (sequence,))
    return None if row is None else _read_row(*row)


def read_entries(db: Session, after: int = 0) -> Iterator[Row]:
    """Yield every entry after number `after`, in order."""
    for page in _read_pages(db, after):
        for row in page:
            yield _read_row(*row)


def _read_pages(db: Session, after: int) -> Iterator[list[tuple[int, bytes | None, bytes | None]]]:
    """Yield the rows in pages, so that a long log is never held in memory as a whole."""
    while page := db.rows("entries_after", (after, _PAGE)):
        yield [(sequence, body, chain) for sequence, body, chain in page]
        after = page[-1][0]


def _hash_leaf(body: bytes) -> bytes:
    """Return the leaf hash of a body; empty for a body that is not UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return b""
    return leaf_hash(body)


def find_salts(db: Session, tenant: str, memory: str) -> list[Salted]:
    """Return all commitments to versions of a memory, oldest first."""
    return [Salted(*row) for row in db.rows("salts_of_memory", {"tenant": tenant, "memory": memory})]


def _read_row(seq: int, body: bytes | None, chain: bytes | None, user: str | None = None) -> Row:
    """Decode a row without raising, so that a damaged row does not prevent reading the others."""
    return Row(seq, (body or b"").decode(errors="surrogateescape"), chain or b"", user)


def read_last_sequence(db: Session) -> int:
    """The number of the newest entry."""
    return int(db.value("last_sequence"))


def list_tenants(db: Session) -> list[str]:
    """Every tenant whose memory ever changed or was to be changed, by name."""
    return [tenant for (tenant,) in db.rows("tenants")]


def find_events(db: Session, after: int, *, tenant: str | None, limit: int) -> tuple[list[Event], int]:
    """Return the next events, and the number to continue from; entries that are no events are skipped."""
    newest = read_last_sequence(db)
    rows = db.rows("events", {"after": after, "tenant": tenant, "limit": limit})
    events = [_build_event(sequence, json.loads(body), user) for sequence, body, user in rows]
    return events, events[-1].id if len(events) == limit else max(after, newest)


def _build_event(sequence: int, entry: dict[str, Json], user: str | None) -> Event:
    return Event(
        id=sequence,
        at=entry["at"],
        operation=entry["operation"],
        kind=entry["kind"],
        tenant=entry["tenant"],
        agent=entry["agent"],
        actor=entry["actor"],
        user=user or entry.get("user"),
        subject=entry.get("subject"),
        memories=_list_memories(entry),
    )


def _list_memories(entry: dict[str, Json]) -> tuple[str, ...]:
    details = entry.get("details", {})
    starts = [commitment["id"] for commitment in entry.get("commitments", ())]
    ended = [end[0] for end in details.get("ended", ())]
    return tuple(dict.fromkeys([*starts, *ended, *details.get("erased", ()), *details.get("memories", ())]))


class TreeHead(Struct, frozen=True, kw_only=True):
    """The state that a signature covers: the log's name, the tree's right edge, the last chain hash."""

    origin: str
    edge: Edge
    chain: bytes

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(origin=self.origin, size=self.edge.size, root=self.edge.root)


def build_origin(first: Row) -> str:
    """Return the name of a log, derived from its first entry, so that a rebuilt log has another name."""
    return f"memorywire/{(first.leaf or b'').hex()[:32]}"


def read_signed_size(db: Session) -> int:
    """Return how many entries are signed, according to this database."""
    return _read_edge(db)[0].size


def count_unsigned(db: Session) -> tuple[int, int | None]:
    """Return the number of unsigned entries and the time of the first one."""
    ((count, since),) = db.rows("unsigned_entries")
    return int(count or 0), None if since is None else int(since)


def is_signing_due(db: Session, now: int) -> bool:
    """Return whether enough entries are unsigned, or one has been for long enough."""
    count, since = count_unsigned(db)
    return count >= MOST_UNSIGNED or (since is not None and now - since >= LONGEST_UNSIGNED_MS)


def read_tree_head(db: Session) -> TreeHead | None:
    """Return the current head of the log, None if it is empty; raises StoreCorrupt if the chain is broken."""
    first = find_entry(db, 1)
    if first is None:
        return None
    edge, chain = _read_edge(db)
    leaves = []
    expected = edge.size
    for page in _read_pages(db, edge.size):
        for sequence, body, stored_chain in page:
            expected += 1
            leaf = _hash_leaf(body or b"")
            chain = link(chain, leaf)
            if sequence != expected or stored_chain != chain:
                raise StoreCorrupt(
                    f"entry {expected} of the ledger does not follow from those before it",
                    fix="find out more with: memorywire audit verify",
                )
            leaves.append(leaf)
    return TreeHead(origin=build_origin(first), edge=edge.grow(leaves), chain=chain)


def save_tree_head(db: Session, head: TreeHead) -> None:
    """Store how far the log is signed."""
    edge = head.edge
    db.execute("set_tree_edge", {"size": edge.size, "chain": head.chain, "nodes": b"".join(edge.nodes)})


def _read_edge(db: Session) -> tuple[Edge, bytes]:
    row = db.row("tree_edge")
    if row is None:
        return Edge(), GENESIS
    size, chain, nodes = row
    hashes = [nodes[at : at + HASH_BYTES] for at in range(0, len(nodes), HASH_BYTES)]
    return Edge(size, tuple(hashes)), chain


async def sign_if_due(backend: JournalBackend, signer: Signer, now: int) -> None:
    """Sign the log if that is due; does nothing if the database fails: the next check tries again."""
    with suppress(StoreError):  # runs in the background; `doctor` and `audit` report the error
        if await backend.read(partial(is_signing_due, now=now)):
            await sign(backend, signer)


async def sign(backend: JournalBackend, signer: Signer, *, rotate: bool = False) -> str | None:
    """Sign the current log; return the note, or None if the log is empty."""
    import asyncio

    head = await backend.read(read_tree_head)
    if head is None:
        return None
    note = await asyncio.to_thread(signer.rotate if rotate else signer.sign, head.checkpoint)
    await backend.write(partial(save_tree_head, head=head))
    return note


KINDS = (
    *("proposal", "links", "edition", "ruled", "register", "operator", "token", "token_key", "webhook"),
    *("definition", "binding", "ingest", "rejected"),
)
RowKey: TypeAlias = tuple[str, tuple[Any, ...]]
"""A kind of row, and the key values of one row."""

_NAMES = ("first", "second", "third")
_AT_ONCE = 1_000


def append_with_rows(db: Session, drafts: Sequence[Draft], changed: Iterable[RowKey]) -> None:
    """Append entries; the last one holds the digests of the changed rows."""
    keys = list(dict.fromkeys(changed))
    if not keys:
        append(db, drafts)
        return
    salts = [os.urandom(_SALT_BYTES) for _ in keys]
    digests = [hash_row(db, key, salt) for key, salt in zip(keys, salts, strict=True)]
    state_rows = [[kind, list(key), digest] for (kind, key), digest in zip(keys, digests, strict=True)]
    *_, sequence = append(db, drafts, state=state_rows)
    for (kind, key), salt, digest in zip(keys, salts, digests, strict=True):
        row_key = {"kind": kind, "key": canonical(list(key))}
        if digest is None:
            db.execute("delete_row_salt", row_key)
        else:
            db.execute("set_row_salt", row_key | {"seq": sequence, "salt": salt})


def hash_row(db: Session, key: RowKey, salt: bytes) -> str | None:
    """Return the salted digest of the current row, or None if the row does not exist."""
    kind, values = key
    rows = db.rows(f"row_{kind}", dict(zip(_NAMES, values, strict=False)))
    if not rows:
        return None
    state_rows = [[value.hex() if isinstance(value, bytes) else value for value in row] for row in rows]
    return sha256(salt + canonical_bytes(state_rows)).hexdigest()


def list_keys(db: Session) -> Iterator[RowKey]:
    """Yield the keys of all existing rows."""
    for kind in KINDS:
        for key in db.rows(f"keys_{kind}"):
            yield kind, tuple(key)


def proposal_keys(id: str) -> tuple[RowKey, RowKey]:
    """Return the keys of a proposal and of its links to memories."""
    return ("proposal", (id,)), ("links", (id,))


def operator_keys(db: Session, name: str) -> list[RowKey]:
    """Return the keys of an operator, of all their tokens, and of the key for token hashes."""
    tokens = [("token", (id,)) for (id,) in db.rows("token_ids_of_operator", {"operator": name})]
    return [("operator", (name,)), *tokens, ("token_key", (1,))]


def definition_keys(db: Session, tenant: str, agent: str) -> list[RowKey]:
    """Return the keys of a tenant's definitions, and of the agent's binding unless `agent` is empty."""
    every = db.rows("keys_definition")
    bound: list[RowKey] = [("binding", (tenant, agent))] if agent else []
    return [*(("definition", tuple(key)) for key in every if key[0] == tenant), *bound]


def adopt_rows(db: Session) -> None:
    """Append the digests of all rows that an earlier release wrote without one."""
    existing = {(kind, key) for kind, key, _, _ in db.rows("row_salts")}
    fresh = [(kind, key) for kind, key in list_keys(db) if (kind, canonical(list(key))) not in existing]
    at = int(db.value("last_entry_time"))
    for first in range(0, len(fresh), _AT_ONCE):
        several = fresh[first : first + _AT_ONCE]
        append_with_rows(db, [build_draft(_build_entry(at, rows=len(several)))], several)


def _build_entry(at: int, **details: Json) -> Entry:
    scope = Scope(agent="*")
    return Entry(at=at, operation="state", scope=scope, actor="upgrade", kind="adopted", details=details)
