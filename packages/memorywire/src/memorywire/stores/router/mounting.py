"""What a router is made of: stores with names of their own, no backend twice."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from memorywire.stores.contract import Store
from memorywire.stores.sqlite.location import locate

_EMBEDDED = ("graph", "sqlite")
"""Schemes of one kind of file: opened twice, it is still one."""


class Mount(Struct, frozen=True, kw_only=True):
    """A store under a name; mounts of equal `backend` keep the same data."""

    name: str
    store: Store
    backend: str


def name_in(url: str) -> tuple[str, str | None]:
    """A store's URL without the name that may follow it (`sqlite:///work.db#work`), and the name."""
    address, _, name = url.partition("#")
    return address, name or None


def backend_of(url: str, place: int) -> str:
    """Where the data of a URL really is, as far as the URL tells: without who asks, and how.

    What lives in this process only is another backend at every `place`.
    """
    parts = urlsplit(url)
    if parts.scheme in _EMBEDDED:
        path = locate(f"sqlite:{url.partition(':')[2]}").path
        return f"sqlite:{place}" if path is None else f"sqlite:{path.resolve()}"
    host = parts.netloc.rpartition("@")[2].lower()
    where = f"{host}{parts.path}"
    return f"{parts.scheme}://{where}" if where else f"{parts.scheme}:{place}"


def mounted(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """The mounts with names that tell them apart, each backend once, in the order given.

    Stores of one kind are told apart by where they are, so that their order may change between two runs.
    """
    once = {mount.backend: mount for mount in reversed(tuple(mounts))}
    kept = tuple(reversed(once.values()))
    kinds = Counter(mount.name for mount in kept)
    return tuple(mount if kinds[mount.name] == 1 else _told_apart(mount) for mount in kept)


def _told_apart(mount: Mount) -> Mount:
    mark = hashlib.blake2b(mount.backend.encode(), digest_size=3).hexdigest()
    return replace(mount, name=f"{mount.name}-{mark}")
