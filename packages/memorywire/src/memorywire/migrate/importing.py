"""Importing: find out what a file is, read it as changes, land them, and say what came of it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, TypeAlias

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from memorywire.migrate.apply import Landing, land, names_given, remapped
from memorywire.migrate.buffer import reading, spool
from memorywire.migrate.bundle import FORMAT, Bundle, changes_in
from memorywire.migrate.conflicts import OnConflict
from memorywire.migrate.evidence import keep, signed_journal, verified
from memorywire.migrate.examining import examine
from memorywire.migrate.importers import (
    Origin,
    Service,
    Source,
    list_formats,
    read_service,
    read_source,
    recognise_service,
)
from memorywire.migrate.names import batch_of
from memorywire.migrate.sanitize import Trusting, as_named, as_untrusted, by_source
from memorywire.migrate.signatures import is_known, verify_signature
from memorywire.migrate.standing import Overseen, refuse_unsound_rules, settle_in
from memorywire.model.change import Change
from memorywire.model.codec import dump
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import DEFAULT_TENANT, Json, Scope
from memorywire.model.values import Confidential
from memorywire.pipeline.context import Context

Tell: TypeAlias = Callable[[int, int], None]
"""Hears how many changes were looked at, and of how many."""

_AHEAD = 256
_LONGEST_LINE = 65_536
_NO_PLACE = "the ledger that came along: the journal here lives in memory and has no place for it"


class Wish(Confidential, frozen=True, kw_only=True):
    """What is to be imported, what it is said to be, and whose it becomes where it does not say.

    `address` is that of a service, instead of a file; `keys` are those of services, by product. `trusted`
    says that the operator vouches for what is in it.
    """

    HIDDEN: ClassVar = frozenset({"keys"})

    path: Path = Path()
    address: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    agent: str
    user: str | None = None
    typed: frozenset[str] = frozenset()
    """Which of `agent_id` and `user_id` was asked for by name: memories of others are then refused."""
    kind: str = "auto"
    tenant: str = DEFAULT_TENANT
    on_conflict: str = OnConflict.SKIP
    remap: tuple[str, ...] = ()
    dry_run: bool = False
    ledger: bool = True
    trusted: bool = False

    @property
    def origin(self) -> Origin:
        scope = Scope(tenant=self.tenant, agent=self.agent, user=self.user)
        return Origin(path=self.path, scope=scope)

    def landing(self, batch: str, trusting: Trusting) -> Landing:
        agents, users = names_given(self.remap)
        return Landing(
            tenant=self.tenant,
            batch=batch,
            on_conflict=OnConflict(self.on_conflict),
            agents=agents,
            users=users,
            dry_run=self.dry_run,
            trusting=as_named if self.trusted else trusting,
        )


async def bring_in(wish: Wish, context: Context, tell: Tell) -> dict[str, Json]:
    """Import it; the answer has the counts, the batch that an undo names, and what could not come along."""
    if await asyncio.to_thread(_is_bundle, wish):
        return await _bundle(wish, context, tell)
    source = await asyncio.to_thread(_source, wish)
    batch = _batch(wish, source.name)
    with TemporaryDirectory(prefix="memorywire-") as folder:
        spooled = Path(folder, "changes")
        total = await asyncio.to_thread(spool, source, spooled)
        await asyncio.to_thread(_refuse_others, spooled, wish)
        changes = from_thread(changes_in(spooled, wish.tenant))
        named = await asyncio.to_thread(_named_sources, wish)
        landing = wish.landing(batch, by_source(named))
        landed = await land(changes, context, landing, lambda done: tell(done, total))
    return _answer(wish, asdict(landed), losses=list(source.losses), source=source.name)


async def _bundle(wish: Wish, context: Context, tell: Tell) -> dict[str, Json]:
    bundle = await asyncio.to_thread(examine, wish.path)
    await asyncio.to_thread(refuse_unsound_rules, wish.path, context)
    await asyncio.to_thread(_refuse_others, wish.path, wish)
    evidence = await asyncio.to_thread(verified, wish.path) if wish.ledger else []
    signer = await _signer(bundle, context, wish.tenant)
    vouched = signer.known or wish.trusted
    landing = wish.landing(_batch(wish, bundle.digest), as_named if vouched else as_untrusted)
    changes = from_thread(_usable(changes_in(wish.path, wish.tenant), bundle, context, signer))
    total = bundle.counts.get("change", 0)
    landed = await land(changes, context, landing, lambda done: tell(done, total))
    overseen = Overseen()
    if not wish.remap:  # what waits and what rules is about those who had these memories
        overseen = await settle_in(wish.path, context, wish.tenant, dry_run=wish.dry_run, vouched=vouched)
    if not wish.dry_run:
        await keep(wish.path, evidence, landing.batch, context, wish.tenant)
    lost = evidence and signed_journal(context) is None
    said = {**asdict(landed), **asdict(overseen), "ledgers": [asdict(one) for one in evidence]}
    said |= {"signed_by": signer.key, "trusted": vouched}
    return _answer(wish, said, losses=[_NO_PLACE] if lost else [], source="bundle")


def _refuse_others(path: Path, wish: Wish) -> None:
    """Refuse a file with memories of somebody else than the agent and the user that were named. Blocks."""
    if not wish.typed:
        return
    landing = wish.landing("", as_untrusted)
    for change in changes_in(path, wish.tenant):
        scopes = [put.record.scope for put in remapped(change, landing).put]
        for name, wanted in (("agent", wish.agent), ("user", wish.user)):
            others = {getattr(scope, name) for scope in scopes} - {wanted}
            if f"{name}_id" in wish.typed and others:
                whose = min(map(str, others))
                raise InvalidRequest(
                    f"the file says whose its memories are: there are some of {name} {whose}",
                    field=name,
                    fix=f"leave out --{name}, or give them away with --remap {name}={whose}:{wanted}",
                )


class Signer(Struct, frozen=True, kw_only=True):
    """The key that signed a bundle, if one did, and whether this installation knows it."""

    key: str | None
    known: bool


async def _signer(bundle: Bundle, context: Context, tenant: str) -> Signer:
    if bundle.signature is None:
        return Signer(key=None, known=False)
    verifier = verify_signature(bundle.signature, bundle.digest)
    policy = None if context.office is None else await context.office.rulebook.policy(tenant)
    named = () if policy is None else policy.bundle_keys
    return Signer(key=str(verifier), known=await asyncio.to_thread(is_known, verifier, named, context))


def _usable(changes: Iterator[Change], bundle: Bundle, context: Context, signer: Signer) -> Iterator[Change]:
    """The changes, with vectors only where a known key signed them and they are of our space.

    A vector decides what a memory is found by. One that somebody else made is as good as one of ours only if
    it is compared with one of ours, which costs as much as making it anew.
    """
    if signer.known and bundle.manifest.get("space") in (None, dump(context.embedder.space)):
        return changes
    return (replace(change, put=tuple(replace(put, vector=None) for put in change.put)) for change in changes)


def _answer(wish: Wish, counts: dict[str, Json], *, losses: list[str], source: str) -> dict[str, Json]:
    return {
        "proposals": 0,
        "ledgers": [],
        **counts,
        "losses": losses,
        "source": source,
        "dry_run": wish.dry_run,
    }


def _batch(wish: Wish, what: str) -> str:
    """The same for the same import, so that one which is started again is one."""
    return batch_of("\n".join((what, wish.on_conflict, *wish.remap, wish.agent, wish.user or "")))


def _named_sources(wish: Wish) -> frozenset[str]:
    """What memories without a source of their own are said to come from: the product, or a file's name."""
    path = wish.path
    files = [path] if path.is_file() else path.rglob("*") if wish.address is None else ()
    return frozenset(list_formats()) | {file.name for file in files}


def _source(wish: Wish) -> Source:
    if wish.address is None:
        with reading():
            return read_source(wish.kind, wish.origin)
    service = Service(url=wish.address, scope=wish.origin.scope)
    kind = recognise_service(service) if wish.kind == "auto" else wish.kind
    return read_service(kind, replace(service, key=wish.keys.get(kind)))


def _is_bundle(wish: Wish) -> bool:
    if wish.kind != "auto" or wish.address is not None or not wish.path.is_file():
        return wish.kind == "bundle" and wish.address is None
    with wish.path.open("rb") as file:
        return f'"format":"{FORMAT}"'.encode() in file.readline(_LONGEST_LINE)


async def from_thread(changes: Iterable[Change]) -> AsyncIterator[Change]:
    """Changes that are read from files, a handful at a time, on a thread."""
    source = iter(changes)

    def some() -> list[Change]:
        return [change for _, change in zip(range(_AHEAD), source, strict=False)]

    while page := await asyncio.to_thread(some):
        for change in page:
            yield change
