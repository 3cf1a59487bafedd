"""Signatures of bundles, and the ledgers of other installations that a bundle contains as evidence."""

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from memorywire.journal.acts import Act
from memorywire.journal.audit import export_entries, verify_export, write_lines
from memorywire.journal.journal import Journal
from memorywire.journal.signed_notes import Verifier, parse_note, parse_verifier
from memorywire.journal.signer import Signer
from memorywire.migrate.bundle_lines import read_lines
from memorywire.migrate.history import build_entry
from memorywire.model.errors import InvalidRequest, StoreUnavailable
from memorywire.model.record import Json, Scope
from memorywire.pipeline.context import Context, unsupported

_TITLE = "memorywire-bundle v1"  # no checkpoint has this prefix, so signatures cannot be confused


class Evidence(Struct, frozen=True, kw_only=True):
    """A verified ledger: its number of entries, the number of signed ones, and the signing key.

    `sha256` is the digest of its lines, which is also the name of its file.
    """

    sha256: str
    entries: int
    sealed: int
    origin: str
    root: str


def find_signed_journal(context: Context) -> tuple[Journal, Signer] | None:
    """Return the journal and its signer; None if the journal has no signed ledger on disk."""
    journal = None if context.governance is None else context.governance.journal
    if not isinstance(journal, Journal) or journal.signer is None:
        return None
    return journal, journal.signer


async def export_ledgers(context: Context) -> Iterator[tuple[int, str]]:
    """Return the lines of our ledger, signed up to now, as number 1, and of imported ledgers after it."""
    signed = find_signed_journal(context)
    if signed is None:
        raise unsupported("ledger", "the journal lives in memory and signs nothing")
    journal, signer = signed
    await journal.settle()
    await journal.sign()
    own = await journal.audit(lambda db: list(export_entries(db, signer)))

    def number_lines() -> Iterator[tuple[int, str]]:
        yield from ((1, line) for line in own)
        for number, path in enumerate(sorted(signer.ledgers.glob("*.jsonl")), start=2):
            with path.open(encoding="utf-8") as file:
                yield from ((number, line.rstrip("\n")) for line in file)

    return number_lines()


def verify_ledgers(path: Path) -> list[Evidence]:
    """Verify the ledgers of a bundle by their own lines; raises InvalidRequest if one is wrong."""
    return [_verify_ledger(lines) for lines in _read_ledgers(path)]


def _read_ledgers(path: Path) -> Iterator[Iterator[str]]:
    for _, lines in groupby(read_lines(path, "ledger"), key=lambda line: line["of"]):
        yield (str(line["line"]) for line in lines)


def _verify_ledger(lines: Iterator[str]) -> Evidence:
    digest = hashlib.sha256()

    def hash_lines() -> Iterator[str]:
        for line in lines:
            digest.update(f"{line}\n".encode())
            yield line

    report = verify_export(hash_lines())
    if report.fault is not None:
        raise InvalidRequest(
            f"the ledger in the bundle is not valid: {report.fault.place}: {report.fault.reason}",
            field="file",
            fix="get a bundle with a valid ledger, or leave the ledger out with --without-ledger",
        )
    return Evidence(
        sha256=digest.hexdigest(),
        entries=report.entries,
        sealed=report.sealed,
        origin=report.origin or "",
        root=report.root.hex(),
    )


async def save_ledgers(
    path: Path, ledgers: Sequence[Evidence], batch: str, context: Context, tenant: str
) -> None:
    """Save the ledgers of a bundle in the folder of ours, and record each once in our ledger."""
    signed = find_signed_journal(context)
    if not ledgers or signed is None:
        return
    journal, signer = signed
    entries = [entry for entry in await journal.find_entries(tenant, batch) if entry["kind"] == "evidence"]
    recorded = {entry["details"]["ledger"]["sha256"] for entry in entries}
    for evidence, lines in zip(ledgers, _read_ledgers(path), strict=True):
        await asyncio.to_thread(_save_ledger, lines, signer.ledgers / f"{evidence.sha256}.jsonl")
        if evidence.sha256 not in recorded:
            scope, details = Scope(tenant=tenant, agent=""), {"ledger": asdict(evidence)}
            entry = build_entry(context, scope, "evidence", subject=batch, details=details)
            await journal.write(Act(entries=(entry,)))


def _save_ledger(lines: Iterator[str], target: Path) -> None:
    if target.exists():
        return
    target.parent.mkdir(mode=0o700, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    write_lines(lines, partial)
    partial.replace(target)


async def sign_bundle(digest: str, context: Context) -> dict[str, Json] | None:
    """Return the signature line of a bundle with that digest; None without a signing key.

    The first signature of a ledger creates the key, so an unsigned ledger is signed first.
    """
    signed = find_signed_journal(context)
    if signed is None:
        return None
    journal, signer = signed
    if not signer.key.exists():
        with suppress(StoreUnavailable):  # a read-only folder: the bundle is then unsigned
            await journal.settle()
            await journal.sign()
    note = await asyncio.to_thread(signer.sign_text, _signed_text(digest))
    verifier = signer.verifier()
    if note is None or verifier is None:
        return None
    return {"kind": "signature", "key": str(verifier), "note": note}


def verify_signature(line: Mapping[str, Json], digest: str) -> Verifier:
    """Return the key that signed the bundle; raises InvalidRequest if the signature is wrong."""
    verifier, note = parse_verifier(str(line["key"])), parse_note(str(line["note"]))
    if note.text != _signed_text(digest) or not verifier.accepts(note):
        fix = "ask for the bundle again where it was exported"
        raise InvalidRequest("the signature of the bundle is not valid", field="file", fix=fix)
    return verifier


def is_known_key(verifier: Verifier, trusted_keys: Iterable[str], context: Context) -> bool:
    """Whether the key is a present or rotated key of this installation, or one that the policy lists."""
    if verifier in {parse_verifier(key) for key in trusted_keys}:
        return True
    signed = find_signed_journal(context)
    if signed is None:
        return False
    keys = {signed[1].verifier()}
    for checkpoint in reversed(signed[1].load_checkpoints()[0]):  # from the present key back to the first
        handover = checkpoint.handover
        if handover is None or handover.new not in keys:
            continue
        if all(key.accepts(checkpoint.note) for key in (handover.old, handover.new)):
            keys.add(handover.old)
    return verifier in keys


def _signed_text(digest: str) -> str:
    return f"{_TITLE}\n{digest}\n"
