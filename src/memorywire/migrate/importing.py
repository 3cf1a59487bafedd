"""Importing: find out what a file is, read it as changes, land them, and say what came of it."""

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from memorywire.engine.tools import Tools
from memorywire.migrate.bundle import Bundle, changes_in, examine
from memorywire.migrate.conflicts import OnConflict
from memorywire.migrate.landing import Landing, land, names_given
from memorywire.migrate.sources import read_source
from memorywire.migrate.sources.found import Origin
from memorywire.migrate.standing import Overseen, settle_in
from memorywire.model.change import Change
from memorywire.model.codec import dump
from memorywire.model.record import DEFAULT_TENANT, Json, Scope

_AHEAD = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be imported, what it is said to be, and whose it becomes where it does not say."""

    path: Path
    agent: str
    user: str | None = None
    kind: str = "auto"
    tenant: str = DEFAULT_TENANT
    on_conflict: str = OnConflict.SKIP
    remap: tuple[str, ...] = ()
    dry_run: bool = False

    @property
    def origin(self) -> Origin:
        scope = Scope(tenant=self.tenant, agent=self.agent, user=self.user)
        return Origin(path=self.path, scope=scope)

    def landing(self, batch: str) -> Landing:
        agents, users = names_given(self.remap)
        return Landing(
            tenant=self.tenant,
            batch=batch,
            on_conflict=OnConflict(self.on_conflict),
            agents=agents,
            users=users,
            dry_run=self.dry_run,
        )


async def bring_in(wish: Wish, tools: Tools, tell: Callable[[int], None]) -> dict[str, Json]:
    """Import it; the answer has the counts, the batch that an undo names, and what could not come along."""
    if wish.kind == "bundle" or (wish.kind == "auto" and await asyncio.to_thread(_is_bundle, wish.path)):
        return await _bundle(wish, tools, tell)
    source = await asyncio.to_thread(read_source, wish.kind, wish.origin)
    batch = _batch(wish, source.name)
    landed = await land(from_thread(source.changes()), tools, wish.landing(batch), tell)
    return _answer(wish, asdict(landed), losses=list(source.losses), source=source.name)


async def _bundle(wish: Wish, tools: Tools, tell: Callable[[int], None]) -> dict[str, Json]:
    bundle = await asyncio.to_thread(examine, wish.path)
    landing = wish.landing(_batch(wish, bundle.digest))
    changes = from_thread(_usable(changes_in(wish.path, wish.tenant), bundle, tools))
    landed = await land(changes, tools, landing, tell)
    overseen = Overseen()
    if not wish.remap:  # what waits and what rules is about those who had these memories
        overseen = await settle_in(wish.path, tools, wish.tenant, dry_run=wish.dry_run)
    return _answer(wish, asdict(landed) | asdict(overseen), losses=[], source="bundle")


def _usable(changes: Iterator[Change], bundle: Bundle, tools: Tools) -> Iterator[Change]:
    """The changes, without vectors that are of another space than ours."""
    if bundle.manifest.get("space") in (None, dump(tools.embedder.space)):
        return changes
    return (replace(change, put=tuple(replace(put, vector=None) for put in change.put)) for change in changes)


def _answer(wish: Wish, counts: dict[str, Json], *, losses: list[str], source: str) -> dict[str, Json]:
    return {"proposals": 0, **counts, "losses": losses, "source": source, "dry_run": wish.dry_run}


def _batch(wish: Wish, what: str) -> str:
    """The same for the same import, so that one which is started again is one."""
    said = "\n".join((what, wish.on_conflict, *wish.remap, wish.agent, wish.user or ""))
    return str(uuid.UUID(bytes=hashlib.sha256(said.encode()).digest()[:16]))


def _is_bundle(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return b'"format":"memorywire-bundle"' in file.readline(65_536)


async def from_thread(changes: Iterable[Change]) -> AsyncIterator[Change]:
    """Changes that are read from files, a handful at a time, on a thread."""
    source = iter(changes)

    def some() -> list[Change]:
        return [change for _, change in zip(range(_AHEAD), source, strict=False)]

    while page := await asyncio.to_thread(some):
        for change in page:
            yield change
