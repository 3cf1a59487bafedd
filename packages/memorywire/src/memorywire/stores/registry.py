"""Opens a store by URL: the scheme selects the opener; other packages add schemes by entry points."""

import asyncio
import re
from collections.abc import Awaitable
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from memorywire.model.errors import InvalidRequest, MemorywireError, StoreUnavailable
from memorywire.model.space import Space
from memorywire.model.text import install_hint
from memorywire.stores.contract import Store

GROUP = "memorywire.stores"

# Listed here as well as in the entry points of their packages, because reading the metadata of all installed
# packages takes longer than opening one of these stores. Markdown is in memorywire-adapters.
BUILT_IN = {
    "graph": "memorywire.stores.graph",
    "http": "memorywire.stores.remote",
    "https": "memorywire.stores.remote",
    "markdown": "memorywire_adapters.markdown",
    "memory": "memorywire.stores.memory",
    "sqlite": "memorywire.stores.sqlite",
}

ADAPTED = frozenset("chroma cognee graphiti langgraph letta markdown mem0 mem9 memos sqlite-vec zep".split())
"""Schemes of memorywire-adapters, listed here so that an error can name the package to install."""
POSTGRES = frozenset(("pgvector", "postgres", "postgresql", "shards+postgresql"))
"""Schemes of memorywire-postgres, for the same purpose."""

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://")


class Opener(Protocol):
    """The function that an entry point of the group refers to."""

    def __call__(self, url: str, *, space: Space) -> Awaitable[Store]: ...


async def open_store(url: str, *, space: Space) -> Store:
    """Open the store at this URL, with vectors of `space`.

    Raises InvalidRequest for an unknown scheme. Errors do not contain the URL, which may have a password.
    """
    # On a thread, because importing a store's module would block the event loop.
    scheme = _scheme(url)
    opener = await asyncio.to_thread(_opener, scheme)
    return await opener(url, space=space) if scheme in BUILT_IN else await _open_foreign(opener, url, space)


def check_scheme(url: str) -> None:
    """Raise InvalidRequest for an unknown scheme; opens nothing."""
    scheme = _scheme(url)
    if scheme not in known_schemes():
        raise _unknown(scheme)


def known_schemes() -> list[str]:
    """Return every scheme that can be opened in this installation, sorted."""
    from importlib.metadata import entry_points

    others = {point.name for point in entry_points(group=GROUP)} - BUILT_IN.keys()
    return sorted({*filter(_is_installed, BUILT_IN), *others})


def _is_installed(built_in: str) -> bool:
    return find_spec(BUILT_IN[built_in].partition(".")[0]) is not None


def _scheme(url: str) -> str:
    match = _SCHEME.match(url)
    if match is None:
        raise InvalidRequest(
            "the store is not a URL: it does not begin with a scheme",
            field="store",
            fix="for a file write sqlite:////folder/memory.db, or sqlite:///./memory.db for one right here",
        )
    return match.group(1)


def _opener(scheme: str) -> Opener:
    try:
        if scheme not in BUILT_IN:
            return _from_entry_point(scheme)
        if not _is_installed(scheme):
            raise _unknown(scheme)
        return cast(Opener, import_module(BUILT_IN[scheme]).open_store)
    except ImportError as error:
        raise StoreUnavailable(
            f"the store {scheme} needs the module {error.name}, which is not installed", field="store"
        ) from error


def _from_entry_point(scheme: str) -> Opener:
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP, name=scheme):
        try:
            return cast(Opener, point.load())
        except AttributeError as error:
            raise StoreUnavailable(
                f"the entry point of the store {scheme} cannot be loaded: {error}",
                field="store",
                fix=f'name a function that exists: {scheme} = "module:open_store"',
            ) from error
    raise _unknown(scheme)


def _unknown(scheme: str) -> InvalidRequest:
    if scheme in ADAPTED | POSTGRES:
        package = "memorywire-adapters" if scheme in ADAPTED else "memorywire-postgres"
        return InvalidRequest(
            f"{scheme}:// needs the package {package}, which is not installed",
            field="store",
            fix=install_hint(package, scheme if scheme in ADAPTED else ""),
        )
    return InvalidRequest(
        f"no store has the URL scheme {scheme}",
        field="store",
        fix=f"use one of: {', '.join(f'{name}://' for name in known_schemes())}",
    )


async def _open_foreign(opener: Opener, url: str, space: Space) -> Store:
    """Open a store of another package; unexpected errors are attributed to that package."""

    async def call() -> Store:
        return await opener(url, space=space)

    (store,) = await asyncio.gather(call(), return_exceptions=True)
    if isinstance(store, Exception) and not isinstance(store, MemorywireError):
        raise _their_fault(_scheme(url), store) from store
    if isinstance(store, BaseException):
        raise store
    if not hasattr(store, "features"):
        raise StoreUnavailable(
            f"the store {_scheme(url)} opened as {type(store).__name__}, which is not a store",
            field="store",
            fix="let its `open_store` return a `memorywire.stores.contract.Store`",
        )
    return store


def _their_fault(scheme: str, error: Exception) -> StoreUnavailable:
    """Describe a foreign error by type and code line, without its message, which may contain the URL."""
    from traceback import extract_tb

    _, *theirs = extract_tb(error.__traceback__)
    place = f" in line {theirs[0].lineno} of {theirs[0].filename}" if theirs else ""
    return StoreUnavailable(
        f"the package of the store {scheme} raised {type(error).__name__}{place}",
        field="store",
        fix="report it to its author: a store must raise StoreUnavailable for what it cannot do",
    )
