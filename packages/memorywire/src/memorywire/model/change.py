"""Every mutation is one value: planned by an operation, committed by stores, kept as history."""

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
    """What a put expects to find under its id: nothing, a live version, or an ended one."""

    NOTHING = "nothing"
    LIVE = "live"
    ENDED = "ended"


class Put(Struct, frozen=True, kw_only=True, gc=False):
    """A version to begin. Its number is one more than the base's, else the write conflicts.

    Its vector, which may have tokens beside it (`search.relevance`), is given, or copied from version `like`
    of the same id whose text is the same, or absent; with `bare` it stays absent, otherwise the pipeline
    embeds the text. `unique` refuses the put (Duplicate) while another live, unexpired record of exactly
    the same scope says the same (`kv.saying`).
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
    """What one operation does to memory, all of it or none of it.

    `erase` names records of which every version is scrubbed: content, metadata, text index and
    vectors leave the file; id, version numbers and times stay as the receipt.
    `key` and `fingerprint` make a retry recognisable; what is erased takes the fingerprint with it.
    `reason` is why, in the caller's words; what is erased takes the reasons of its changes with it.
    `about` names the memory that made a put unnecessary because it already says the same.
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
    """One link of a record's chain, ordered by commit sequence. An erased version has no memory."""

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
    """A committed change and the versions it began and ended: what an undo must know."""

    change: Change
    sequence: int
    began: tuple[Version, ...]
    ended: tuple[Version, ...]
