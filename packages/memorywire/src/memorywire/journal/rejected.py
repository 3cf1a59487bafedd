"""Words that people rejected, kept as keyed digests. Every function works inside the caller's transaction."""

import apsw

from memorywire.journal.contract import Words
from memorywire.stores.sqlite.sql import Document

QUERIES = Document(__package__, "queries_rejected.sql")


def reject(db: apsw.Connection, words: Words) -> None:
    row = {"tenant": words.tenant, "digest": words.digest, "proposal": words.proposal}
    db.execute(QUERIES["reject_words"], row)


def accept(db: apsw.Connection, words: Words) -> None:
    """Forget that the words were rejected, because a person decided otherwise since."""
    db.execute(QUERIES["accept_words"], {"tenant": words.tenant, "digest": words.digest})


def erase(db: apsw.Connection, tenant: str) -> None:
    """Drop the digests of proposals whose words were erased."""
    db.execute(QUERIES["erase_rejected_words"], {"tenant": tenant})


def mark(db: apsw.Connection) -> tuple[int, int]:
    """A value that changes with every rejection and every acceptance."""
    count, last = db.execute(QUERIES["rejected_words_mark"]).get
    return int(count), int(last)


def digests(db: apsw.Connection) -> frozenset[bytes]:
    return frozenset(bytes(digest) for (digest,) in db.execute(QUERIES["rejected_words"]))
