"""A store that is waited for only so long."""

import asyncio
from typing import Any

from memorywire.model.errors import StoreUnavailable
from memorywire.stores.contract import Store
from memorywire.stores.wrappers.around import READS, Call, around


def with_patience(store: Store, seconds: float, *, writes: float | None = None) -> Store:
    """Raises StoreUnavailable when a verb takes longer; what it does then may still happen.

    Whatever is no read may take `writes` seconds, if given.
    """

    async def door(verb: str, call: Call[Any]) -> Any:
        patience = seconds if writes is None or verb in READS else writes
        try:
            async with asyncio.timeout(patience):
                return await call()
        except TimeoutError:
            raise StoreUnavailable(f"no answer to {verb} in {patience:g} s") from None

    return around(store, door)
