"""Runs the checks of the contract, the paper's scenarios and random histories on a store."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from memorywire.model.errors import InvalidRequest
from memorywire.stores.contract import Store
from memorywire.stores.registry import open_store
from memorywire_testing import oracle, paper
from memorywire_testing.checks import EVERY, Check, Lasting
from memorywire_testing.optional import Opener
from memorywire_testing.report import Mark, Report, Result, attempt, join_reports
from memorywire_testing.samples import SPACE

Watch = Callable[[int, int], None]


async def examine(
    open_store: Opener,
    checks: Sequence[Check | Lasting] = EVERY,
    *,
    exempt: Mapping[str, str] | None = None,
    watch: Watch = lambda done, of: None,
) -> Report:
    """Run the checks, each on a store from `open_store`, which may open the same shared store each time.

    `exempt` maps checks that the product behind the store cannot pass to the reasons. They still run:
    an exemption for a check that passes is reported as a failure.
    """
    results = []
    name = "unknown"
    for number, check in enumerate(checks):
        watch(number, len(checks))
        name, result = await _examine(open_store, check)
        reason = (exempt or {}).get(check.name)
        if reason is not None and result.mark is Mark.PASSED:
            stale = f"passes, so it needs no exemption: {reason}"
            result = Result(check=check.name, mark=Mark.FAILED, detail=stale)
        elif reason is not None and result.mark is Mark.FAILED:
            result = Result(check=check.name, mark=Mark.EXEMPT, detail=reason)
        results.append(result)
    return Report(store=name, results=tuple(results))


async def _examine(open_store: Opener, check: Check | Lasting) -> tuple[str, Result]:
    """Return the name of the store and the result of the check."""
    store = await open_store()
    try:
        missing = ", ".join(sorted(check.requires - store.features))
        if isinstance(check, Check) and check.ability and not isinstance(store, check.ability):
            missing = f"the methods of {check.ability.__name__}"
        if missing:
            return store.name, Result(check=check.name, mark=Mark.SKIPPED, detail=f"needs {missing}")
        if isinstance(check, Check):
            return store.name, await attempt(check.name, partial(check.run, store))
    finally:
        await store.close()
    return store.name, await attempt(check.name, partial(check.run, open_store))


def load_exemptions(scheme: str, own: Path | None = None) -> Mapping[str, str]:
    """Return the exemptions for a scheme: ours, and those of the file `own`.

    Raises InvalidRequest for an unknown check or an exemption without a reason.
    """
    defaults = files(__package__) / "exemptions.toml"
    results = _parse_exemptions(defaults.read_text(encoding="utf-8"), scheme, defaults.name)
    if own is None:
        return results
    try:
        text = own.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"cannot read {own}", field="exempt") from error
    return {**results, **_parse_exemptions(text, scheme, own.name)}


def _parse_exemptions(text: str, scheme: str, name: str) -> Mapping[str, str]:
    try:
        listing = tomllib.loads(text).get(scheme, {})
    except tomllib.TOMLDecodeError as error:
        raise InvalidRequest(f"{name} is not TOML: {error}", field="exempt") from error
    names = {check.name for check in EVERY}
    for check, reason in listing.items():
        if check not in names:
            raise InvalidRequest(f"{name}: unknown check {check}", field="exempt")
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidRequest(f"{name}: {check} is exempted without a reason", field="exempt")
    return dict(listing)


def select_checks(names: tuple[str, ...]) -> tuple[Check | Lasting, ...]:
    """Return the checks whose names contain one of these words; all checks without words."""
    results = tuple(check for check in EVERY if not names or any(name in check.name for name in names))
    if not results:
        raise InvalidRequest("there is no such check", field="check")
    return results


async def examine_url(
    url: str,
    *,
    seed: int,
    lives: int = 3,
    checks: tuple[str, ...] = (),
    exempt: Path | None = None,
    watch: Watch = lambda done, of: None,
) -> Report:
    """Run the contract, the paper's scenarios and random histories on the store at this URL.

    With `checks`, run only those checks of the contract.
    """
    scheme = urlsplit(url).scheme

    async def opened() -> Store:
        return await open_store(url, space=SPACE)

    exemptions = load_exemptions(scheme, exempt)
    if checks:
        return await examine(opened, select_checks(checks), exempt=exemptions, watch=watch)
    return await examine_opener(opened, exempt=exemptions, seed=seed, lives=lives, watch=watch)


async def examine_opener(
    opener: Opener,
    *,
    exempt: Mapping[str, str],
    seed: int,
    lives: int = 3,
    watch: Watch = lambda done, of: None,
) -> Report:
    """Like `examine_url`, with all checks, for a store that `opener` opens."""
    contract = await examine(opener, EVERY, exempt=exempt, watch=watch)
    scenarios = await paper.play(opener)
    return join_reports([contract, scenarios, await oracle.live(opener, seed=seed, lives=lives)])
