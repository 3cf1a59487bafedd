"""A bundle: a memory in one file, a line for each thing that happened, the same lines for the same memory."""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.contract import Edition, Wanted
from memorywire.migrate.chronicle import agents_of, changes_of, told_here
from memorywire.migrate.evidence import ledgers_of
from memorywire.migrate.lines import change_line, change_of, lines_of, sealed
from memorywire.migrate.signatures import sign_bundle
from memorywire.model.change import Change
from memorywire.model.codec import dump, load
from memorywire.model.errors import InvalidRequest
from memorywire.model.proposal import WAITING, Proposal
from memorywire.model.record import Json, Scope
from memorywire.pipeline.context import Context
from memorywire.stores.contract import Store, SupportsChangeLog

FORMAT, VERSION = "memorywire-bundle", 1
_PAGE = 100


class Exporting(Struct, frozen=True, kw_only=True):
    """Whose memories leave: those of one agent or of all, of one user or of all, with vectors or without.

    `overseen` includes what waits for a person and the rules that people gave; `ledger` the ledger of the
    house, which covers all agents.
    """

    tenant: str
    agents: tuple[str, ...] = ()
    user: str | None = None
    vectors: bool = False
    overseen: bool = True
    ledger: bool = False

    @property
    def narrowed(self) -> bool:
        return bool(self.agents) or self.user is not None


class Bundle(Struct, frozen=True, kw_only=True):
    """What a bundle says of itself: its first line, how many lines of each kind, the digest of all, and the
    line that signs that digest."""

    manifest: Mapping[str, Json]
    counts: Mapping[str, int]
    digest: str
    signature: Mapping[str, Json] | None = None


async def export(
    target: BinaryIO, context: Context, wanted: Exporting, tell: Callable[[int], None] = lambda done: None
) -> Bundle:
    """Write a bundle line by line; no more than a page of the memories is held in memory."""
    if wanted.ledger and wanted.narrowed:
        raise InvalidRequest(
            "the ledger covers all agents and users",
            field="ledger",
            fix="export all of them, or leave the ledger out",
        )
    writer = _Writer(target)
    store = await told_here(context)
    manifest = await _manifest(store, context, wanted)
    writer.line(manifest)
    for agent in manifest["agents"]:
        scope = Scope(tenant=wanted.tenant, agent=agent, user=wanted.user)
        async for change in changes_of(store, scope, vectors=wanted.vectors):
            writer.line(change_line(change))
            writer.counts["put"] += len(change.put)
            tell(writer.counts["change"])
    if wanted.overseen and context.office is not None:
        async for line in _overseen(context, wanted):
            writer.line(line)
    if wanted.ledger:
        for number, said in await ledgers_of(context):
            writer.line({"kind": "ledger", "of": number, "line": said})
    counts, digest = dict(writer.counts), writer.digest
    writer.line({"kind": "end", "counts": counts, "bundle": digest})
    signature = await sign_bundle(digest, context)
    if signature is not None:
        writer.line(signature)
    return Bundle(manifest=manifest, counts=counts, digest=digest, signature=signature)


async def _manifest(store: Store, context: Context, wanted: Exporting) -> dict[str, Json]:
    agents = await agents_of(store, wanted.tenant, wanted.agents)
    space = {"space": dump(context.embedder.space)} if wanted.vectors else {}
    return {
        "kind": "manifest",
        "format": FORMAT,
        "version": VERSION,
        "agents": sorted(agents),
        "history": isinstance(store, SupportsChangeLog),
        **space,
    }


async def _overseen(context: Context, wanted: Exporting) -> AsyncIterator[dict[str, Json]]:
    journal = context.governance.journal
    for agent in wanted.agents or (None,):
        asked = Wanted(tenant=wanted.tenant, agent=agent, user=wanted.user, states=WAITING, limit=_PAGE)
        while page := await journal.proposals(asked):
            for proposal in page:
                # How often it was planned anew is known to this house alone: it begins at one elsewhere.
                yield {"kind": "proposal", "proposal": dump(replace(proposal, revision=1))}
            asked = replace(asked, after=page[-1].id)
    edition = await journal.edition(wanted.tenant)
    if edition is not None and not wanted.narrowed:
        yield {"kind": "rules", "rules": list(edition.rules), "at": edition.at, "by": edition.by}


class _Writer:
    """Writes sealed lines, counts them by kind and keeps the digest of all of them."""

    def __init__(self, target: BinaryIO) -> None:
        self._target = target
        self._all = hashlib.sha256()
        self.counts: Counter[str] = Counter()

    def line(self, said: Mapping[str, Json]) -> None:
        line = sealed(said)
        self._all.update(line)
        self._target.write(line)
        self.counts[said["kind"]] += 1

    @property
    def digest(self) -> str:
        return self._all.hexdigest()


def changes_in(path: Path, tenant: str) -> Iterator[Change]:
    """The changes of a bundle, in their order."""
    return (change_of(line, tenant) for line in lines_of(path, "change"))


def proposals_in(path: Path) -> Iterator[Proposal]:
    return (load(Proposal, line["proposal"]) for line in lines_of(path, "proposal"))


def rules_in(path: Path) -> Edition | None:
    """The rules that people gave, if the bundle has any."""
    for line in lines_of(path, "rules"):
        return Edition(number=1, at=line["at"], by=line["by"], rules=tuple(line["rules"]))
    return None
