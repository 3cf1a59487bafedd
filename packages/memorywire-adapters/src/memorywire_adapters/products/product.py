"""The interface of a product: it stores texts under our keys, returns them, and finds the nearest.

`VendorStore` adds everything else that a store promises: versions, conflicts, duplicates, filters, ranking,
retries. Entries are immutable: a new version of a memory is a new entry with its own key.
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
    """Return a label for the agent of a tenant; never equal to a user's label."""
    return f"a-{spelled(scope.tenant)}__{spelled(scope.agent)}"


def user_label(scope: Scope) -> str:
    """Return a label for the user, or for a missing user; never equal to an agent's label."""
    return NOBODY if scope.user is None else f"u-{spelled(scope.user)}"


def key_of(record: Record) -> str:
    """Return a UUID for this version of this memory of this tenant; deterministic and unique."""
    name = "\0".join((record.scope.tenant, record.id, str(record.version)))
    return str(uuid.uuid5(_ROOM, name))


T = TypeVar("T")


class Kept(Struct, frozen=True, kw_only=True):
    """The payload stored as one JSON string with the text: the record and its vector in float16."""

    record: Record
    vector: bytes | None = None

    @staticmethod
    def read(text: object) -> "Kept":
        """Parse an `Entry.payload`. Raises StoreCorrupt if another program changed it."""
        try:
            entry = loads(Kept, str(text))
        except (ValueError, TypeError, KeyError) as error:
            raise _unreadable() from error
        if not isinstance(entry, Kept) or not isinstance(entry.record, Record):
            raise _unreadable()
        return entry


class Entry(Struct, frozen=True, kw_only=True):
    """A version of a memory to store; `vector` is float32, little endian, or None."""

    record: Record
    vector: bytes | None = None

    @property
    def key(self) -> str:
        """Our UUID for exactly this version."""
        return key_of(self.record)

    @property
    def text(self) -> str:
        """The text that the product may index."""
        return self.record.text

    @property
    def payload(self) -> str:
        """The string that the product must return unchanged, as the payload of `Seen`."""
        return dumps(Kept(record=self.record, vector=None if self.vector is None else half(self.vector)))


class Seen(Struct, frozen=True, kw_only=True):
    """An entry as the product returns it."""

    key: str
    payload: str


class Product(Protocol):
    """A vendor's product, wrapped to work with entries. Every call must be repeatable."""

    name: str
    """The URL scheme."""
    errors: tuple[type[Exception], ...]
    """The exceptions of the product's calls; they become StoreUnavailable."""

    async def keep(self, entries: Sequence[Entry]) -> Sequence[str]:
        """Store these; return a handle for each: the product's id, or our key if the product accepts that."""
        ...

    async def drop(self, refs: Sequence[Ref]) -> None:
        """Delete these permanently, text included; ignore those that do not exist."""
        ...

    async def fetch(self, refs: Sequence[Ref]) -> Sequence[Seen]:
        """Return those that exist, in any order."""
        ...

    async def nearest(self, query: Query, limit: int) -> Sequence[Seen]:
        """Return the `limit` entries nearest to `query.vector`, which is never None, or to `query.text`.

        Only entries in `query.where.scope` count: of its agent, and of its user if it names one. The caller
        applies all other conditions of `where`.
        """
        ...

    async def health(self) -> Mapping[str, Json]:
        """Return the status of the product, with the key `ok`."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class Scrubber(Protocol):
    """A product whose files keep deleted data until `scrub` is called."""

    async def scrub(self) -> None:
        """Remove all deleted text from the files. Called when a memory is erased."""
        ...


class Extractor(Product, Protocol):
    """A product that can also extract facts from conversations."""

    async def extract(self, scope: Scope, messages: Sequence[Mapping[str, str]]) -> list[str]:
        """Return the facts the product would remember from these messages, without storing them."""
        ...


def _unreadable() -> StoreCorrupt:
    return StoreCorrupt("an entry of memorywire in the product was changed from outside")


async def answered(product: Product, call: Awaitable[T]) -> T:
    """Await a call of the product and map the product's errors to ours."""
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
    """Return a float32 vector as a list of floats; without one, the unit vector of the first axis."""
    if vector is None:
        return [1.0, *[0.0] * (dimension - 1)]
    floats_of: list[float] = np.frombuffer(vector, "<f4").astype(float).tolist()
    return floats_of


def need(module: str, *, store: str, extra: str, silence: Mapping[str, str] | None = None) -> ModuleType:
    """Import the product's module. Raises StoreUnavailable, naming the extra to install.

    `silence` holds the environment variables that disable the product's telemetry. Products read them on
    import, so they are set before it, and they override the environment.
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
    """Like `need`, for a product that configures the root logger on import.

    Such a product would write to standard output, which may carry a protocol, and copy all logs, memories
    included, into a log file. Both are decisions of the process, so the previous handlers are restored.
    """
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    with contextlib.redirect_stdout(sys.stderr):
        product = need(module, store=store, extra=extra, silence=silence)
    root.handlers[:] = handlers
    root.setLevel(level)
    return product


PREVIEW = "preview"
"""The URL option by which the user accepts a preview."""


def refuse_unless_asked_for(place: Place, store: str) -> None:
    """Raise CapabilityUnsupported unless the URL has `preview=1`: the adapter is untested."""
    if place.options.get(PREVIEW) != "1":
        raise CapabilityUnsupported(
            f"the store {store} is a preview: it was written from the published interface of the service, "
            "and has not been examined against it",
            field="store",
            fix=f"add {PREVIEW}=1 to the options of the URL to use it anyway",
        )
