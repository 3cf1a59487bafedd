"""What is examined: a store named by its URL, or (where a door is known for it) an endpoint."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

from memorywire.conformance import oracle, paper
from memorywire.conformance.checks import CHECKS, Check
from memorywire.conformance.exemptions import exemptions
from memorywire.conformance.report import joined
from memorywire.conformance.run import Report, Watch, examine
from memorywire.conformance.samples import SPACE
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest
from memorywire.stores.contract import Store
from memorywire.stores.registry import open_store

ENDPOINTS = frozenset({"http", "https"})

Opener = Callable[[], Awaitable[Store]]


def chosen(names: tuple[str, ...]) -> tuple[Check, ...]:
    """The checks whose names contain one of these words; all, when no word is given."""
    found = tuple(check for check in CHECKS if not names or any(name in check.name for name in names))
    if not found:
        raise InvalidRequest("no check has such a name", field="check")
    return found


async def examine_url(
    url: str,
    *,
    seed: int,
    lives: int = 3,
    checks: tuple[str, ...] = (),
    exempt: Path | None = None,
    watch: Watch = lambda done, of: None,
) -> Report:
    """Everything there is to ask of the store: the contract, the paper's scenarios, lives at random.

    With `checks` only those of the contract.
    """
    scheme = urlsplit(url).scheme
    if scheme in ENDPOINTS:
        raise CapabilityUnsupported(
            "an endpoint cannot be examined yet, only a store",
            field="url",
            fix="name the store behind it, such as sqlite:///./memory.db",
        )

    async def opened() -> Store:
        return await open_store(url, space=SPACE)

    contract = await examine(opened, chosen(checks), exempt=exemptions(scheme, exempt), watch=watch)
    if checks:
        return contract
    scenarios = await paper.play(opened)
    return joined([contract, scenarios, await oracle.live(opened, seed=seed, lives=lives)])
