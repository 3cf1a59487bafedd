"""Examines a store: every check on it, and a report that says what held."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial

from msgspec import Struct

from memorywire.stores.contract import Store
from memorywire.testing.checks import EVERY, Check, Lasting
from memorywire.testing.expect import Broken, place
from memorywire.testing.lasting import Opener


class Mark(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    EXEMPT = "exempt"


class Result(Struct, frozen=True, kw_only=True):
    """How one check ended; `detail` says what failed, which features it would need, or why it is exempt."""

    check: str
    mark: Mark
    detail: str | None = None
    group: str = "contract"


class Report(Struct, frozen=True, kw_only=True):
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
    open_store: Opener,
    checks: Sequence[Check | Lasting] = EVERY,
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
        name, result = await _examine(open_store, check)
        results.append(_excused(result, exempt or {}))
    return Report(store=name, results=tuple(results))


def _excused(result: Result, exempt: Mapping[str, str]) -> Result:
    if result.check not in exempt or result.mark is Mark.SKIPPED:
        return result
    if result.mark is Mark.PASSED:
        stale = f"passes, so it needs no exemption: {exempt[result.check]}"
        return Result(check=result.check, mark=Mark.FAILED, detail=stale)
    return Result(check=result.check, mark=Mark.EXEMPT, detail=exempt[result.check])


async def _examine(open_store: Opener, check: Check | Lasting) -> tuple[str, Result]:
    """How the check ended, and what the store calls itself."""
    store = await open_store()
    try:
        missing = _missing(store, check)
        if missing:
            return store.name, Result(check=check.name, mark=Mark.SKIPPED, detail=f"needs {missing}")
        if isinstance(check, Check):
            return store.name, await attempt(check.name, partial(check.run, store))
    finally:
        await store.close()
    return store.name, await attempt(check.name, partial(check.run, open_store))


def _missing(store: Store, check: Check | Lasting) -> str:
    """What the store would have to claim, or to have, for the check to be about it."""
    if isinstance(check, Check) and check.ability and not isinstance(store, check.ability):
        return f"the verbs of {check.ability.__name__}"
    return ", ".join(sorted(check.requires - store.features))


async def attempt(name: str, run: Callable[[], Awaitable[object]], group: str = "contract") -> Result:
    """How one claim about foreign code ended."""
    try:
        await run()
    except Broken as broken:
        said = f"{broken}{place(broken)}"
        return Result(check=name, mark=Mark.FAILED, detail=said, group=group)
    except Exception as error:  # noqa: BLE001 - the store is foreign code: whatever it raises is a finding
        said = f"{type(error).__name__}: {error}{place(error)}"
        return Result(check=name, mark=Mark.FAILED, detail=said, group=group)
    return Result(check=name, mark=Mark.PASSED, group=group)
