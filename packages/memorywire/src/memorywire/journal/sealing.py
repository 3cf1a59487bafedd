"""When the ledger is due for a signature, and what is signed: a frontier that grows with the log."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeVar

import apsw
from msgspec import Struct

from memorywire.journal.ledger import GENESIS, QUERIES, Row, entry, linked, links
from memorywire.journal.merkle import HASH_BYTES, Edge
from memorywire.journal.signed_notes import Checkpoint
from memorywire.journal.signer import Notary
from memorywire.model.errors import StoreCorrupt, StoreError

T = TypeVar("T")

MOST_EXPOSED = 1_000
LONGEST_EXPOSED_MS = 60_000


class Frontier(Struct, frozen=True, kw_only=True):
    """Everything a signature vouches for: the log's name, its tree's edge, its chain's end."""

    origin: str
    edge: Edge
    chain: bytes

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(origin=self.origin, size=self.edge.size, root=self.edge.root)


class File(Protocol):
    """A database with one writer."""

    async def read(self, work: Callable[[apsw.Connection], T]) -> T: ...

    async def write(self, work: Callable[[apsw.Connection], T]) -> T: ...


def origin_of(first: Row) -> str:
    """The name of a log, made of its first entry: another beginning is another log."""
    return f"memorywire/{(first.leaf or b'').hex()[:32]}"


def sealed_size(db: apsw.Connection) -> int:
    """How many entries this database believes were signed."""
    return _kept(db)[0].size


def exposure(db: apsw.Connection) -> tuple[int, int | None]:
    """How many entries are not signed yet, and the moment of the first of them."""
    ((count, since),) = db.execute(QUERIES["exposed"])
    return int(count or 0), None if since is None else int(since)


def due(db: apsw.Connection, now: int) -> bool:
    """Whether enough entries, or any for long enough, wait for a signature."""
    count, since = exposure(db)
    return count >= MOST_EXPOSED or (since is not None and now - since >= LONGEST_EXPOSED_MS)


def advanced(db: apsw.Connection) -> Frontier | None:
    """The frontier of the log as it is, None if it is empty; what breaks the chain is never signed."""
    first = entry(db, 1)
    if first is None:
        return None
    edge, chain = _kept(db)
    leaves = []
    for expected, (sequence, leaf, found) in enumerate(links(db, edge.size), edge.size + 1):
        chain = linked(chain, leaf)
        if sequence != expected or found != chain:
            raise StoreCorrupt(
                f"entry {expected} of the ledger does not follow from those before it",
                fix="find out more with: memorywire audit verify",
            )
        leaves.append(leaf)
    return Frontier(origin=origin_of(first), edge=edge.grown(leaves), chain=chain)


def keep(db: apsw.Connection, frontier: Frontier) -> None:
    """Remember how far the log was signed."""
    edge = frontier.edge
    known = {"size": edge.size, "chain": frontier.chain, "nodes": b"".join(edge.nodes)}
    db.execute(QUERIES["keep_edge"], known)


def _kept(db: apsw.Connection) -> tuple[Edge, bytes]:
    row = db.execute(QUERIES["edge"]).fetchone()
    if row is None:
        return Edge(), GENESIS
    size, chain, nodes = row
    parts = [nodes[at : at + HASH_BYTES] for at in range(0, len(nodes), HASH_BYTES)]
    return Edge(size, tuple(parts)), chain


async def seal_if_due(file: File, notary: Notary, now: int) -> None:
    """Sign the log when it is time to; where the file is not to be had, that waits for the next look."""
    with suppress(StoreError):  # nobody waits for this; what is wrong is what `doctor` and `audit` say
        if await file.read(partial(due, now=now)):
            await seal(file, notary)


async def seal(file: File, notary: Notary) -> str | None:
    """Sign the log as it is; the note, or None when there is nothing to sign."""
    import asyncio

    frontier = await file.read(advanced)
    if frontier is None:
        return None
    note = await asyncio.to_thread(notary.sign, frontier.checkpoint)
    await file.write(lambda db: keep(db, frontier))
    return note
