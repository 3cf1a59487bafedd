"""Examines a store: every check on it, and a report that says what held."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from memorywire.conformance.checks import CHECKS, Check
from memorywire.conformance.expect import Broken
from memorywire.stores.contract import Store


class Mark(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How one check ended; `detail` says what failed, or which features it would need."""

    check: str
    mark: Mark
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    store: str
    results: tuple[Result, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.mark is Mark.FAILED)


async def examine(open_store: Callable[[], Awaitable[Store]], checks: tuple[Check, ...] = CHECKS) -> Report:
    """Run the checks, each on a store of its own; `open_store` may open the same shared one every time."""
    results = []
    name = "unknown"
    for check in checks:
        store = await open_store()
        name = store.name
        try:
            results.append(await _examine(store, check))
        finally:
            await store.close()
    return Report(store=name, results=tuple(results))


async def _examine(store: Store, check: Check) -> Result:
    missing = check.requires - store.features
    if missing:
        return Result(check=check.name, mark=Mark.SKIPPED, detail=f"needs {', '.join(sorted(missing))}")
    try:
        await check.run(store)
    except Broken as broken:
        return Result(check=check.name, mark=Mark.FAILED, detail=str(broken))
    except Exception as error:  # noqa: BLE001 - the store is foreign code: whatever it raises is a finding
        return Result(check=check.name, mark=Mark.FAILED, detail=f"{type(error).__name__}: {error}")
    return Result(check=check.name, mark=Mark.PASSED)
