"""A store that is asked a second time when its first answer takes long; the faster answer counts."""

import asyncio
from typing import Any

from memorywire.stores.contract import Store
from memorywire.stores.wrappers.wrapper import READS, Call, around


def with_hedge(store: Store, after: float) -> Store:
    """Reads that take longer than `after` seconds are asked once more; writes never are."""

    async def door(verb: str, call: Call[Any]) -> Any:
        return await _hedged(call, after) if verb in READS else await call()

    return around(store, door)


async def _hedged(call: Call[Any], after: float) -> Any:
    first: asyncio.Future[Any] = asyncio.ensure_future(call())
    asked = {first}
    try:
        done, _ = await asyncio.wait(asked, timeout=after)
        if not done:
            asked = {first, asyncio.ensure_future(call())}
        return await _first_good(asked)
    finally:
        for one in asked:
            one.cancel()


async def _first_good(asked: set["asyncio.Future[Any]"]) -> Any:
    """The first answer that is no failure; when all fail, the last failure."""
    waiting = set(asked)
    while True:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        good = [one for one in done if one.exception() is None]
        if good or not waiting:
            return (good or list(done))[0].result()
