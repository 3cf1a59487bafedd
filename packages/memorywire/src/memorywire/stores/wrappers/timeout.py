"""A store that is waited for only so long, and whose failures are always problems with a name."""

from typing import Any

from memorywire.stores.asking import ask_each
from memorywire.stores.contract import Store
from memorywire.stores.wrappers.wrapper import READS, Call, around


def with_patience(store: Store, seconds: float, *, writes: float | None = None) -> Store:
    """Raises StoreUnavailable when a verb takes longer; what it does then may still happen.

    Whatever is no read may take `writes` seconds, if given. What a store should never raise is StoreCorrupt.
    """

    async def door(verb: str, call: Call[Any]) -> Any:
        patience = seconds if writes is None or verb in READS else writes
        (told,) = await ask_each({store.name: _awaited(call)}, patience)
        if told.error is not None:
            raise told.error
        return told.answer

    return around(store, door)


async def _awaited(call: Call[Any]) -> Any:
    return await call()
