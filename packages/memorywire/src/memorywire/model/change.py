"""Changes: an operation plans a mutation as one value, stores commit it, and the history records it."""

from enum import StrEnum

from msgspec import Struct

from memorywire.model.record import Record, Scope


class EndReason(StrEnum):
    """Why a version stopped being current."""

    REPLACED = "replaced"
    FORGOTTEN = "forgotten"
    SUPERSEDED = "superseded"
    MERGED = "merged"
    EXPIRED = "expired"
    UNDONE = "undone"
    ERASED = "erased"


class Base(StrEnum):
    """The precondition of a put on its id: no version, a live version, or an ended one."""

    NOTHING = "nothing"
    LIVE = "live"
    ENDED = "ended"


class Put(Struct, frozen=True, kw_only=True, gc=False):
    """A version to write. Its number must be one more than the base's, else the write conflicts.

    Its vector, with optional tokens (`search.relevance`), is given, or copied from version `like`
    of the same id whose text is the same, or absent; with `bare` it stays absent, otherwise the pipeline
    embeds the text. `unique` refuses the put (Duplicate) while another live, unexpired record of exactly
    the same scope has the same digest (`kv.saying`).
    """

    record: Record
    base: Base
    vector: bytes | None = None
    like: int | None = None
    unique: bool = False
    bare: bool = False


class End(Struct, frozen=True, kw_only=True, gc=False):
    """A live version to end; `into` names the record that replaces it, if any."""

    id: str
    version: int
    reason: EndReason
    into: str | None = None


class Change(Struct, frozen=True, kw_only=True, gc=False):
    """The atomic effect of one operation on memory.

    `erase` names records whose every version is scrubbed: content, metadata, text index and
    vectors are deleted from the file; id, version numbers and times stay as the receipt.
    `key` and `fingerprint` identify a retry; an erasure also deletes the fingerprint.
    `reason` is the caller's reason; an erasure also deletes the reasons of the record's changes.
    `about` names the memory that made a put unnecessary because it already has the same content.
    """

    id: str
    operation: str
    scope: Scope
    at: int
    put: tuple[Put, ...] = ()
    end: tuple[End, ...] = ()
    erase: tuple[str, ...] = ()
    key: str | None = None
    fingerprint: str | None = None
    reason: str | None = None
    undoes: str | None = None
    about: str | None = None


class Version(Struct, frozen=True, kw_only=True):
    """One version in a record's history, ordered by commit sequence. An erased version has no memory."""

    id: str
    number: int
    record: Record | None
    began: int
    began_at: int
    began_by: str
    ended: int | None = None
    ended_at: int | None = None
    ended_by: str | None = None
    reason: EndReason | None = None
    into: str | None = None


class Footprint(Struct, frozen=True, kw_only=True):
    """A committed change and the versions that it began and ended, as an undo needs them."""

    change: Change
    sequence: int
    began: tuple[Version, ...]
    ended: tuple[Version, ...]
