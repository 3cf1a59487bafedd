"""What is examined: a store named by its URL, which may be served by another process."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from memorywire.model.errors import InvalidRequest
from memorywire.stores.contract import Store
from memorywire.stores.registry import open_store
from memorywire.testing import oracle, paper
from memorywire.testing.checks import EVERY, Check, Lasting
from memorywire.testing.exemptions import exemptions
from memorywire.testing.lasting import Opener
from memorywire.testing.report import joined
from memorywire.testing.run import Report, Watch, examine
from memorywire.testing.samples import SPACE


def chosen(names: tuple[str, ...]) -> tuple[Check | Lasting, ...]:
    """The checks whose names contain one of these words; all, when no word is given."""
    found = tuple(check for check in EVERY if not names or any(name in check.name for name in names))
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

    async def opened() -> Store:
        return await open_store(url, space=SPACE)

    exempted = exemptions(scheme, exempt)
    if checks:
        return await examine(opened, chosen(checks), exempt=exempted, watch=watch)
    return await examine_opener(opened, exempt=exempted, seed=seed, lives=lives, watch=watch)


async def examine_opener(
    opener: Opener,
    *,
    exempt: Mapping[str, str],
    seed: int,
    lives: int = 3,
    watch: Watch = lambda done, of: None,
) -> Report:
    """The same of a store that is opened in some other way."""
    contract = await examine(opener, EVERY, exempt=exempt, watch=watch)
    scenarios = await paper.play(opener)
    return joined([contract, scenarios, await oracle.live(opener, seed=seed, lives=lives)])
