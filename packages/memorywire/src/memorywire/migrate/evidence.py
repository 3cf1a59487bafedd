"""Ledgers of other houses: they travel in a bundle, prove themselves, and are kept beside ours."""

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from memorywire.journal.audit import exported, verify_export, write_lines
from memorywire.journal.contract import Act
from memorywire.journal.entries import Entry
from memorywire.journal.sealing import seal
from memorywire.journal.signer import Notary
from memorywire.journal.sqlite import SqliteJournal
from memorywire.migrate.lines import lines_of
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Scope
from memorywire.pipeline.context import Context, unsupported


class Evidence(Struct, frozen=True, kw_only=True):
    """A ledger that holds: how many entries it has, how many of them are signed, and by whose key.

    `sha256` is that of its lines, and the name of the file it is kept in.
    """

    sha256: str
    entries: int
    sealed: int
    origin: str
    root: str


async def ledgers_of(context: Context) -> Iterator[tuple[int, str]]:
    """The lines of our own ledger, signed as it is now, as number 1, and of those that were kept here."""
    signed = signed_journal(context)
    if signed is None:
        raise unsupported("ledger", "the journal lives in memory and signs nothing")
    journal, notary = signed
    await journal.settle()
    await seal(journal.file, notary)
    own = await journal.file.read(lambda db: list(exported(db, notary)))
    return _numbered(own, notary)


def signed_journal(context: Context) -> tuple[SqliteJournal, Notary] | None:
    """The journal and its notary, if it has a signed ledger, and so a place on a disk."""
    journal = None if context.office is None else context.office.journal
    if not isinstance(journal, SqliteJournal) or journal.notary is None:
        return None
    return journal, journal.notary


def _numbered(own: list[str], notary: Notary) -> Iterator[tuple[int, str]]:
    yield from ((1, line) for line in own)
    for number, path in enumerate(sorted(notary.ledgers.glob("*.jsonl")), start=2):
        with path.open(encoding="utf-8") as file:
            yield from ((number, line.rstrip("\n")) for line in file)


def verified(path: Path) -> list[Evidence]:
    """The ledgers of a bundle, each proven from its own lines; raises InvalidRequest for one that is not."""
    return [_verified(lines) for lines in _ledgers(path)]


def _ledgers(path: Path) -> Iterator[Iterator[str]]:
    found = lines_of(path, "ledger")
    for _, lines in groupby(found, key=lambda line: line["of"]):
        yield (str(line["line"]) for line in lines)


def _verified(lines: Iterator[str]) -> Evidence:
    digest = hashlib.sha256()

    def read() -> Iterator[str]:
        for line in lines:
            digest.update(f"{line}\n".encode())
            yield line

    report = verify_export(read())
    if report.fault is not None:
        raise InvalidRequest(
            f"the ledger in the bundle does not hold: {report.fault.place}: {report.fault.reason}",
            field="file",
            fix="ask for a bundle whose ledger holds, or leave the ledger out with --without-ledger",
        )
    return Evidence(
        sha256=digest.hexdigest(),
        entries=report.entries,
        sealed=report.sealed,
        origin=report.origin or "",
        root=report.root.hex(),
    )


async def keep(path: Path, evidence: Sequence[Evidence], batch: str, context: Context, tenant: str) -> None:
    """Keep the ledgers of a bundle beside ours, and write down, once, that we saw them."""
    signed = signed_journal(context)
    if not evidence or signed is None:
        return
    journal, notary = signed
    noted = [entry for entry in await journal.about(tenant, batch) if entry["kind"] == "evidence"]
    seen = {entry["details"]["ledger"]["sha256"] for entry in noted}
    for one, lines in zip(evidence, _ledgers(path), strict=True):
        await asyncio.to_thread(_kept, lines, notary.ledgers / f"{one.sha256}.jsonl")
        if one.sha256 not in seen:
            await journal.write(Act(entries=(_entry(one, batch, context, tenant),)))


def _entry(evidence: Evidence, batch: str, context: Context, tenant: str) -> Entry:
    return Entry(
        at=context.clock(),
        operation="import",
        scope=Scope(tenant=tenant, agent=""),
        actor=context.governance.caller,
        kind="evidence",
        subject=batch,
        details={"ledger": asdict(evidence)},
    )


def _kept(lines: Iterator[str], target: Path) -> None:
    if target.exists():
        return
    target.parent.mkdir(mode=0o700, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    write_lines(lines, partial)
    partial.replace(target)
