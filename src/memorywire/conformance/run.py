"""Examines a store: every check on it, and a report that says what held."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memorywire.conformance.checks import CHECKS, Check
from memorywire.conformance.expect import Broken
from memorywire.stores.contract import Store


class Mark(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    EXEMPT = "exempt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How one check ended; `detail` says what failed, which features it would need, or why it is exempt."""

    check: str
    mark: Mark
    detail: str | None = None
    group: str = "contract"


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
        return self.marked(Mark.FAILED)

    def marked(self, mark: Mark) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.mark is mark)


Watch = Callable[[int, int], None]


async def examine(
    open_store: Callable[[], Awaitable[Store]],
    checks: Sequence[Check] = CHECKS,
    *,
    exempt: Mapping[str, str] | None = None,
    watch: Watch = lambda done, of: None,
) -> Report:
    """Run the checks, each on a store of its own; `open_store` may open the same shared one every time.

    `exempt` names checks that the product behind the store cannot pass, and why. They are run all the same:
    one that passes needs no exemption, and fails for having one.
    """
    results = []
    name = "unknown"
    for number, check in enumerate(checks):
        watch(number, len(checks))
        store = await open_store()
        name = store.name
        try:
            results.append(_excused(await _examine(store, check), exempt or {}))
        finally:
            await store.close()
    return Report(store=name, results=tuple(results))


def _excused(result: Result, exempt: Mapping[str, str]) -> Result:
    if result.check not in exempt or result.mark is Mark.SKIPPED:
        return result
    if result.mark is Mark.PASSED:
        stale = f"passes, so it needs no exemption: {exempt[result.check]}"
        return Result(check=result.check, mark=Mark.FAILED, detail=stale)
    return Result(check=result.check, mark=Mark.EXEMPT, detail=exempt[result.check])


async def _examine(store: Store, check: Check) -> Result:
    missing = check.requires - store.features
    if missing:
        return Result(check=check.name, mark=Mark.SKIPPED, detail=f"needs {', '.join(sorted(missing))}")
    return await attempt(check.name, lambda: check.run(store))


async def attempt(name: str, run: Callable[[], Awaitable[object]], group: str = "contract") -> Result:
    """How one claim about foreign code ended."""
    try:
        await run()
    except Broken as broken:
        return Result(check=name, mark=Mark.FAILED, detail=str(broken), group=group)
    except Exception as error:  # noqa: BLE001 - the store is foreign code: whatever it raises is a finding
        said = f"{type(error).__name__}: {error}"
        return Result(check=name, mark=Mark.FAILED, detail=said, group=group)
    return Result(check=name, mark=Mark.PASSED, group=group)
