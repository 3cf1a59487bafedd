"""A store that could not be opened yet: everything asked of it first tries to open it."""

from collections.abc import Awaitable, Callable
from typing import Any

from memorywire.stores.contract import Store
from memorywire.stores.wrappers.wrapper import Call, around


class _Nobody:
    """Stands where the store will be."""

    features: frozenset[Any] = frozenset()

    def __init__(self, name: str) -> None:
        self.name = name

    async def close(self) -> None:
        """There is nothing to close."""


def absent(name: str, opener: Callable[[], Awaitable[Store]]) -> Store:
    """The store that `opener` opens, once it can; until then every call raises what is in the way.

    Abilities beyond those of every store are not offered, because nobody knows them yet.
    """
    nobody: Any = _Nobody(name)

    async def door(verb: str, call: Call[Any]) -> Any:
        if waiting.inner is nobody:
            waiting.inner = await opener()
        return await call()

    waiting: Any = around(nobody, door)
    store: Store = waiting
    return store
