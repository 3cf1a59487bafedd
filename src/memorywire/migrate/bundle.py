"""A bundle: a memory in one file, a line for each thing that happened, the same bytes for the same memory."""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from memorywire.engine.tools import Tools
from memorywire.journal.contract import Edition, Wanted
from memorywire.migrate.chronicle import agents_of, changes_of, told_by
from memorywire.migrate.lines import change_line, change_of, opened, sealed
from memorywire.model.change import Change
from memorywire.model.codec import dump, load
from memorywire.model.errors import InvalidRequest
from memorywire.model.proposal import WAITING, Proposal
from memorywire.model.record import Json, Scope
from memorywire.stores.contract import Chronicler

FORMAT, VERSION = "memorywire-bundle", 1
_PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporting:
    """Whose memories leave: of one agent or of all, with their vectors or without.

    `overseen` takes along what waits for a person and the rules that people gave.
    """

    tenant: str
    agents: tuple[str, ...] = ()
    vectors: bool = False
    overseen: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """What a bundle says of itself: the first line, how many lines of each kind, the digest of all."""

    manifest: Mapping[str, Json]
    counts: Mapping[str, int]
    digest: str

    @property
    def memories(self) -> int:
        return self.counts.get("put", 0)


async def export(
    target: BinaryIO, tools: Tools, wanted: Exporting, tell: Callable[[int], None] = lambda done: None
) -> Bundle:
    """Write a bundle line by line; nothing of it is held in memory."""
    writer = _Writer(target)
    manifest = await _manifest(tools, wanted)
    writer.line(manifest)
    for agent in manifest["agents"]:
        scope = Scope(tenant=wanted.tenant, agent=agent)
        async for change in changes_of(told_by(tools.store), scope, vectors=wanted.vectors):
            writer.line(change_line(change))
            writer.counts["put"] += len(change.put)
            tell(writer.counts["change"])
    if wanted.overseen and tools.office is not None:
        async for line in _overseen(tools, wanted):
            writer.line(line)
    counts, digest = dict(writer.counts), writer.digest
    writer.line({"kind": "end", "counts": counts, "bundle": digest})
    return Bundle(manifest=manifest, counts=counts, digest=digest)


async def _manifest(tools: Tools, wanted: Exporting) -> dict[str, Json]:
    store = told_by(tools.store)
    agents = wanted.agents or await agents_of(store, wanted.tenant)
    if agents is None:
        raise InvalidRequest(
            f"store {store.name} cannot say whose memories it keeps",
            field="agent",
            fix="name one with --agent",
        )
    space = {"space": dump(tools.embedder.space)} if wanted.vectors else {}
    return {
        "kind": "manifest",
        "format": FORMAT,
        "version": VERSION,
        "agents": sorted(agents),
        "history": isinstance(store, Chronicler),
        **space,
    }


async def _overseen(tools: Tools, wanted: Exporting) -> AsyncIterator[dict[str, Json]]:
    journal = tools.governance.journal
    for agent in wanted.agents or (None,):
        asked = Wanted(tenant=wanted.tenant, agent=agent, states=WAITING, limit=_PAGE)
        while page := await journal.proposals(asked):
            for proposal in page:
                yield {"kind": "proposal", "proposal": dump(proposal)}
            asked = replace(asked, after=page[-1].id)
    edition = await journal.edition()
    if edition is not None and not wanted.agents:
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


def examine(path: Path) -> Bundle:
    """Read a bundle to its end before any of it is believed: every line, the order, the whole."""
    counts: Counter[str] = Counter()
    whole, manifest, last = hashlib.sha256(), None, None
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if last is not None and last["kind"] == "end":
                raise InvalidRequest(f"line {number} stands behind the end", field="file")
            before, last = whole.hexdigest(), opened(line, number)
            manifest = manifest or _checked(last)
            whole.update(line)
            if last["kind"] != "end":
                counts[last["kind"]] += 1
                counts["put"] += len(last.get("put", ()))
    if manifest is None or last is None or last["kind"] != "end":
        raise InvalidRequest(
            "the bundle is cut off: its last line is missing", field="file", fix="copy it again"
        )
    if last["bundle"] != before or {k: v for k, v in counts.items() if v} != last["counts"]:
        raise InvalidRequest(
            "lines of the bundle are missing or were moved", field="file", fix="copy it again"
        )
    return Bundle(manifest=manifest, counts=last["counts"], digest=before)


def _checked(line: Mapping[str, Json]) -> Mapping[str, Json]:
    if line.get("kind") != "manifest" or line.get("format") != FORMAT:
        raise InvalidRequest("the first line is no manifest of a bundle", field="file")
    if line["version"] != VERSION:
        raise InvalidRequest(
            f"the bundle is of version {line['version']}, this release reads {VERSION}", field="file"
        )
    return line


def lines_of(path: Path) -> Iterator[dict[str, Json]]:
    """The lines between the manifest and the end; `examine` has said that they are whole."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            said = opened(line, number)
            if said["kind"] not in ("manifest", "end"):
                yield said


def changes_in(path: Path, tenant: str) -> Iterator[Change]:
    """The changes of a bundle, in their order."""
    return (change_of(line, tenant) for line in lines_of(path) if line["kind"] == "change")


def proposals_in(path: Path) -> Iterator[Proposal]:
    return (load(Proposal, line["proposal"]) for line in lines_of(path) if line["kind"] == "proposal")


def rules_in(path: Path) -> Edition | None:
    """The rules that people gave, if the bundle has any."""
    for line in lines_of(path):
        if line["kind"] == "rules":
            return Edition(number=1, at=line["at"], by=line["by"], rules=tuple(line["rules"]))
    return None
