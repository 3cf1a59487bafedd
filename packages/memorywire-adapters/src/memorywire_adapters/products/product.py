"""What a product must be able to do: keep texts under keys of ours, hand them back, and name the nearest.

Everything else a store promises (versions, conflicts, duplicates, filters, ranking, retries) is not the
product's: `VendorStore` adds it. An entry is never changed in place: a new version has a key of its own.
"""

import contextlib
import logging
import os
import sys
import uuid
from collections.abc import Awaitable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from msgspec import Struct

from memorywire.model.codec import dumps, loads
from memorywire.model.errors import CapabilityUnsupported, MemorywireError, StoreCorrupt, StoreUnavailable
from memorywire.model.query import Query
from memorywire.model.record import Json, Record, Scope
from memorywire.model.text import install_hint
from memorywire_adapters.sidecar import Place, Ref, half, spelled

NOBODY = "nobody"

_ROOM = uuid.UUID("6d656d6f-7279-5769-8265-000000000001")


def agent_label(scope: Scope) -> str:
    """A label for the agent of a tenant; no user has such a label."""
    return f"a-{spelled(scope.tenant)}__{spelled(scope.agent)}"


def user_label(scope: Scope) -> str:
    """A label for the user, or for there being none; no agent has such a label."""
    return NOBODY if scope.user is None else f"u-{spelled(scope.user)}"


def key_of(record: Record) -> str:
    """A UUID for this version of this memory of this tenant: always the same, and unique."""
    name = "\0".join((record.scope.tenant, record.id, str(record.version)))
    return str(uuid.uuid5(_ROOM, name))


T = TypeVar("T")


class Kept(Struct, frozen=True, kw_only=True):
    """What a product keeps as one JSON string with the text: the record, and its vector in 16 bits."""

    record: Record
    vector: bytes | None = None

    @staticmethod
    def read(text: object) -> "Kept":
        """What `Entry.payload` wrote; StoreCorrupt when another program changed it."""
        try:
            entry = loads(Kept, str(text))
        except (ValueError, TypeError, KeyError) as error:
            raise _unreadable() from error
        if not isinstance(entry, Kept) or not isinstance(entry.record, Record):
            raise _unreadable()
        return entry


class Entry(Struct, frozen=True, kw_only=True):
    """A version to keep: `vector` is float32, little endian, or missing."""

    record: Record
    vector: bytes | None = None

    @property
    def key(self) -> str:
        """A UUID of ours for exactly this version."""
        return key_of(self.record)

    @property
    def text(self) -> str:
        """What the product may index."""
        return self.record.text

    @property
    def payload(self) -> str:
        """What the product must give back, to the letter, as the payload of `Seen`."""
        return dumps(Kept(record=self.record, vector=None if self.vector is None else half(self.vector)))


class Seen(Struct, frozen=True, kw_only=True):
    """An entry as the product gives it back."""

    key: str
    payload: str


class Product(Protocol):
    """A vendor's product, wrapped to work with entries. Every call may be repeated."""

    name: str
    """The scheme of its URL."""
    errors: tuple[type[Exception], ...]
    """What its calls raise when it cannot answer; they become StoreUnavailable."""

    async def keep(self, entries: Sequence[Entry]) -> Sequence[str]:
        """Keep these, and give the handle of each: the product's own id, or our key where it takes that."""
        ...

    async def drop(self, refs: Sequence[Ref]) -> None:
        """Remove these for good, words and all; one that is not there is fine."""
        ...

    async def fetch(self, refs: Sequence[Ref]) -> Sequence[Seen]:
        """Those of these that are there, in any order."""
        ...

    async def nearest(self, query: Query, limit: int) -> Sequence[Seen]:
        """The nearest `limit` entries to `query.vector`, which is there, or to `query.text`.

        They are sought inside `query.where.scope`: of its agent, and of its user if it names one. Anything
        else in `where` may be left to us.
        """
        ...

    async def health(self) -> Mapping[str, Json]:
        """What the product says about itself, `ok` among it."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class Scrubber(Protocol):
    """A product whose files still hold what was dropped, until it is asked to clean them."""

    async def scrub(self) -> None:
        """Leave no word of anything dropped in the files. Asked when a memory is to be erased."""
        ...


class Extractor(Product, Protocol):
    """A product that also reads conversations."""

    async def extract(self, scope: Scope, messages: Sequence[Mapping[str, str]]) -> list[str]:
        """What it would remember of these messages, in its words; it keeps none of it."""
        ...


def _unreadable() -> StoreCorrupt:
    return StoreCorrupt("an entry of memorywire in the product was changed from outside")


async def answered(product: Product, call: Awaitable[T]) -> T:
    """The product's answer. It is foreign code: its errors are mapped to ours."""
    try:
        return await call
    except MemorywireError:
        raise
    except product.errors as error:
        raise StoreUnavailable(
            f"the store {product.name} could not answer: {type(error).__name__}",
            fix="check that the product runs, is reachable and is not used by another program, then retry",
        ) from error


def direction(vector: bytes | None, dimension: int) -> list[float]:
    """A float32 vector as a list for products that insist on one; the first axis when there is none."""
    if vector is None:
        return [1.0, *[0.0] * (dimension - 1)]
    floats_of: list[float] = np.frombuffer(vector, "<f4").astype(float).tolist()
    return floats_of


def need(module: str, *, store: str, extra: str, silence: Mapping[str, str] | None = None) -> ModuleType:
    """The product's module, or the problem that names the extra to install.

    `silence` holds the environment variables that switch its telemetry off: products read them as they are
    imported, so they are set first, and they win over what the environment says.
    """
    os.environ.update(silence or {})
    try:
        return import_module(module)
    except ImportError as error:
        raise StoreUnavailable(
            f"the store {store} needs {module}, which is not installed or cannot be loaded",
            field="store",
            fix=install_hint("memorywire-adapters", extra),
        ) from error


def need_quietly(module: str, *, store: str, extra: str, silence: Mapping[str, str]) -> ModuleType:
    """As `need`, for a product that configures the root logger as it is imported.

    Otherwise it would write to standard output, which may carry a protocol, and copy all logs, memories
    included, into a file of its own. Both are for the process to decide.
    """
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    with contextlib.redirect_stdout(sys.stderr):
        product = need(module, store=store, extra=extra, silence=silence)
    root.handlers[:] = handlers
    root.setLevel(level)
    return product


PREVIEW = "preview"
"""The option of the URL that says so."""


def refuse_unless_asked_for(place: Place, store: str) -> None:
    """Refuse to use an unproven adapter until the user has agreed, by `preview=1`."""
    if place.options.get(PREVIEW) != "1":
        raise CapabilityUnsupported(
            f"the store {store} is a preview: it was written from the published interface of the service, "
            "and has not been examined against it",
            field="store",
            fix=f"add {PREVIEW}=1 to the options of the URL to use it anyway",
        )
