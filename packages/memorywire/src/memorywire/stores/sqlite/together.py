"""Writes many simple changes with few statements, each executed once for all of them."""

from collections.abc import Sequence
from typing import TypeAlias

import apsw
from msgspec import Struct

from memorywire.model.change import Base, Change, EndReason
from memorywire.model.errors import InvalidRequest
from memorywire.model.jsontext import encoder
from memorywire.model.kv import saying
from memorywire.model.space import Space
from memorywire.stores.sqlite.applying import begins_chain, follows
from memorywire.stores.sqlite.checksums import end_checksum
from memorywire.stores.sqlite.connection import Savepoint, Work
from memorywire.stores.sqlite.rows import Columns, Row, change_columns, version_columns
from memorywire.stores.sqlite.sql import QUERIES

_dumps = encoder()
_REPLACED = EndReason.REPLACED.value

Settled: TypeAlias = list[int | Exception]
"""What became of each change: its commit sequence, or what was in its way."""


class Unsettled(Exception):
    """Some of these changes did not find what they expect, so each has to be tried alone."""


class Group(Struct, frozen=True):
    """Changes as columns of rows; each change begins one version and does nothing else.

    `replaced` are the versions that end: the index of the change, and the version that must be live. `said`
    is JSON with the words that no other live memory may say, if that has to be checked.
    """

    count: int
    changes: Columns
    versions: Columns
    replaced: Sequence[tuple[int, Row]]
    said: str | None


def prepare_each(changes: Sequence[Change], space: Space) -> Group | None:
    """The group of these changes, with everything slow done; None when they cannot be written as one."""
    unique = {put.unique for change in changes for put in change.put}
    if len(unique) > 1 or not all(map(_is_plain, changes)):
        return None
    said = dict(map(_said, changes)) if True in unique else {}
    if said and len(said) < len(changes):
        return None
    try:
        versions = version_columns([change.put[0] for change in changes], space)
        begun = change_columns(changes)
    except InvalidRequest:
        return None
    return Group(
        count=len(changes),
        changes=begun,
        versions=versions,
        replaced=[(at, _before(change)) for at, change in enumerate(changes) if _replaces(change)],
        said=_dumps([[*words, at] for words, at in said.items()]) if said else None,
    )


def apply_each(db: apsw.Connection, group: Group) -> Settled:
    """Write the whole group, and give the commit sequence of each change.

    Raises Unsettled, or a broken constraint, when one of them did not find what it expects; the caller undoes
    the rest.
    """
    if group.said is not None and db.execute(QUERIES["same_contents"], {"said": group.said}).get:
        raise Unsettled
    heads: tuple[int, int] | None = db.execute(QUERIES["heads"]).fetchone()
    last, position = heads or (0, 0)
    sequences = range(last + 1, last + 1 + group.count)
    positions = range(position + 1, position + 1 + group.count)
    db.executemany(QUERIES["begin_changes"], zip(sequences, positions, *group.changes, strict=True))
    if group.replaced:
        before = db.total_changes()
        ends = [
            (sequences[at], end_checksum(sequences[at], _REPLACED, None), *row) for at, row in group.replaced
        ]
        db.executemany(QUERIES["replace_each"], ends)
        if db.total_changes() - before != len(group.replaced):
            raise Unsettled
    db.executemany(QUERIES["begin_versions"], zip(positions, sequences, *group.versions, strict=True))
    return [*sequences]


def tried(db: apsw.Connection, work: Work[int]) -> int | Exception:
    """What a work gives, or the error it raised; an error undoes this work alone."""
    with Savepoint(db) as attempt:
        return work(db)
    if not isinstance(attempt.error, Exception):  # somebody wants the process to end
        raise attempt.error or AssertionError("unreachable: what failed has an error")
    return attempt.error


def _is_plain(change: Change) -> bool:
    if change.end or change.erase or len(change.put) != 1:
        return False
    put = change.put[0]
    return begins_chain(change, put) or follows(change, put)


def _replaces(change: Change) -> bool:
    return change.put[0].base is Base.LIVE


def _before(change: Change) -> Row:
    record = change.put[0].record
    return (record.scope.tenant, record.scope.agent, record.id, record.scope.user, record.version - 1)


def _said(change: Change) -> tuple[Row, int]:
    record = change.put[0].record
    return (record.scope.tenant, record.scope.agent, record.scope.user, saying(record)), change.at
