"""One writer at a time: among the tasks of this process, and among the processes that share the books."""

import asyncio
import os
from pathlib import Path
from types import TracebackType

import apsw

from memorywire.model.errors import StoreBusy

_PAUSE = 0.005
_BUDGET = 30.0


class Turn:
    """A lock across tasks and processes (`async with turn:`); a process that dies gives it back."""

    def __init__(self, path: Path | None) -> None:
        self._here = asyncio.Lock()
        # An empty database: its exclusive lock ends with the process, on every system.
        self._file = None if path is None else apsw.Connection(os.fspath(path))

    async def __aenter__(self) -> None:
        await self._here.acquire()
        try:
            await self._take()
        except BaseException:
            self._here.release()
            raise

    async def _take(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _BUDGET
        while self._file is not None:
            try:
                self._file.execute("BEGIN EXCLUSIVE")  # answers at once, whoever holds it
            except apsw.BusyError as error:
                if loop.time() >= deadline:
                    raise StoreBusy(
                        f"another process has been writing for {_BUDGET:g} s", field="store", fix="retry"
                    ) from error
                await asyncio.sleep(_PAUSE)
            else:
                return

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.execute("ROLLBACK")
        self._here.release()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
