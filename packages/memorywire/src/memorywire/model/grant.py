"""The mark of a grant: a record of the lending agent with the memories that another agent may recall."""

from collections.abc import Mapping

from memorywire.model.answers import Grant
from memorywire.model.kv import MARK as KEYED
from memorywire.model.record import Json, MemoryType, Record

MARK = "share"
"""The metadata key that marks a record as a grant, with its borrower and conditions."""

RESERVED = frozenset({MARK, KEYED})
"""The metadata keys whose marks callers must not write."""


def is_mark(mark: Json) -> bool:
    """Whether this is the mark of a grant; users may store other metadata under that name."""
    return isinstance(mark, Mapping) and isinstance(mark.get("borrower"), str)


def is_grant(record: Record) -> bool:
    return is_mark(record.metadata.get(MARK))


def read_grant(record: Record) -> Grant:
    """Return the grant in a record."""
    mark = record.metadata[MARK]
    return Grant(
        share_id=record.id,
        agent_id=record.scope.agent,
        borrower=mark["borrower"],
        created_at=record.created_at,
        user_id=record.scope.user,
        ids=tuple(mark.get("ids", ())),
        types=tuple(map(MemoryType, mark.get("types", ()))),
        tags=tuple(mark.get("tags", ())),
        expires_at=record.expires_at,
    )
