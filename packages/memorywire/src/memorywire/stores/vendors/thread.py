"""One thread for a product that blocks and is not safe to share: its calls come one after the other."""

from collections.abc import Callable
from typing import TypeVar

from memorywire.model.errors import StoreUnavailable
from memorywire.runtime.threadpool import Dismissed, ThreadPool

T = TypeVar("T")


class OneThread:
    """Runs what it is handed on a thread of its own, in the order it came."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._crew = ThreadPool(1, f"memorywire-{name}")

    async def do(self, work: Callable[[], T]) -> T:
        try:
            return await self._crew.do(work)
        except Dismissed as error:
            raise StoreUnavailable(f"the store {self._name} is closed") from error

    def end(self) -> None:
        """End the thread once everything that waits is done; blocks until then."""
        self._crew.dismiss()
