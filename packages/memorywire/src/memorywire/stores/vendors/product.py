"""What a product must be able to do: keep texts under keys of ours, hand them back, and name the nearest.

Everything else a store promises (versions, conflicts, duplicates, filters, ranking, retries) is not the
product's: `VendorStore` adds it. An entry is never changed in place: a new version has a key of its own.
"""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from msgspec import Struct

from memorywire.model.codec import dumps, loads
from memorywire.model.errors import MemorywireError, StoreCorrupt, StoreUnavailable
from memorywire.model.query import Query
from memorywire.model.record import Json, Record, Scope
from memorywire.stores.vendors.labels import key_of

T = TypeVar("T")


class Kept(Struct, frozen=True, kw_only=True):
    """What a product keeps as one JSON string beside the text: the record, and its vector in 16 bits."""

    record: Record
    vector: bytes | None = None

    @staticmethod
    def read(text: object) -> "Kept":
        """What `Entry.payload` wrote; StoreCorrupt when somebody else wrote over it."""
        try:
            kept = loads(Kept, str(text))
        except (ValueError, TypeError, KeyError) as error:
            raise _unreadable() from error
        if not isinstance(kept, Kept) or not isinstance(kept.record, Record):
            raise _unreadable()
        return kept


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


class Ref(Struct, frozen=True, kw_only=True):
    """An entry by our key, and by the product's own handle if `keep` gave one.

    Without a handle the product looks for the key itself, or finds nothing.
    """

    key: str
    scope: Scope
    handle: str | None = None


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
    """A product whose files still hold what was dropped, until it is told to clean them."""

    async def scrub(self) -> None:
        """Leave no word of anything dropped in the files. Asked when a memory is to be erased."""
        ...


class Extractor(Product, Protocol):
    """A product that also reads conversations."""

    async def extract(self, scope: Scope, messages: Sequence[Mapping[str, str]]) -> list[str]:
        """What it would remember of these messages, in its words; it keeps none of it."""
        ...


def _unreadable() -> StoreCorrupt:
    return StoreCorrupt("the product holds an entry of ours that somebody else has changed")


async def answered(product: Product, call: Awaitable[T]) -> T:
    """The product's answer. It is foreign code: whatever it raises becomes an error of ours."""
    try:
        return await call
    except MemorywireError:
        raise
    except product.errors as error:
        raise StoreUnavailable(
            f"the store {product.name} could not answer: {type(error).__name__}",
            fix="see whether the product runs, is reachable and belongs to nobody else, then retry",
        ) from error


def half(vector: bytes) -> bytes:
    """A float32 vector in 16 bits, as every store keeps them."""
    return np.frombuffer(vector, "<f4").astype("<f2").tobytes()


def whole(halved: bytes) -> bytes:
    """The float32 vector that `half` made smaller."""
    return np.frombuffer(halved, "<f2").astype("<f4").tobytes()


def direction(vector: bytes | None, dimension: int) -> list[float]:
    """A float32 vector as a list for products that insist on one; the first axis when there is none."""
    if vector is None:
        return [1.0, *[0.0] * (dimension - 1)]
    whole: list[float] = np.frombuffer(vector, "<f4").astype(float).tolist()
    return whole
