"""A store that is waited for only so long."""

import asyncio
from typing import Any

from memorywire.model.errors import StoreUnavailable
from memorywire.stores.contract import Store
from memorywire.stores.wrappers.around import Call, around


def with_patience(store: Store, seconds: float) -> Store:
    """Raises StoreUnavailable when a verb takes longer; what it does then may still happen."""

    async def door(verb: str, call: Call[Any]) -> Any:
        try:
            async with asyncio.timeout(seconds):
                return await call()
        except TimeoutError:
            raise StoreUnavailable(f"no answer to {verb} in {seconds:g} s") from None

    return around(store, door)
