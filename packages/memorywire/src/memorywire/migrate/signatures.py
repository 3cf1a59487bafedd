"""Signatures of bundles: which key signed one, and whether this installation knows that key."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress

from memorywire.journal.sealing import seal
from memorywire.journal.signed_notes import Verifier, parse_note, parse_verifier
from memorywire.journal.signer import Notary
from memorywire.migrate.evidence import signed_journal
from memorywire.model.errors import InvalidRequest, StoreUnavailable
from memorywire.model.record import Json
from memorywire.pipeline.context import Context

_TITLE = "memorywire-bundle v1"  # no checkpoint of a ledger begins so: neither signature passes for the other


async def sign_bundle(digest: str, context: Context) -> dict[str, Json] | None:
    """The line that signs a bundle of that digest; None without a signing key.

    A ledger is signed first where nothing was signed yet, because that makes the key.
    """
    signed = signed_journal(context)
    if signed is None:
        return None
    journal, notary = signed
    if not notary.key.exists():
        with suppress(StoreUnavailable):  # a read-only folder: the bundle is then unsigned
            await journal.settle()
            await seal(journal.file, notary)
    note = await asyncio.to_thread(notary.sign_text, _text(digest))
    verifier = notary.verifier()
    if note is None or verifier is None:
        return None
    return {"kind": "signature", "key": str(verifier), "note": note}


def verify_signature(line: Mapping[str, Json], digest: str) -> Verifier:
    """The key that signed the bundle; raises InvalidRequest where the signature does not hold."""
    verifier, note = parse_verifier(str(line["key"])), parse_note(str(line["note"]))
    if note.text != _text(digest) or not verifier.accepts(note):
        raise InvalidRequest(
            "the signature of the bundle does not hold",
            field="file",
            fix="ask for the bundle again where it was exported",
        )
    return verifier


def is_known(verifier: Verifier, named: Iterable[str], context: Context) -> bool:
    """Whether the key is this installation's, now or before a rotation, or one that the policy names."""
    if verifier in {parse_verifier(key) for key in named}:
        return True
    signed = signed_journal(context)
    return signed is not None and verifier in _own_keys(signed[1])


def _own_keys(notary: Notary) -> set[Verifier]:
    """The key in use, and those that handed over to it, followed backwards."""
    current = notary.verifier()
    keys = set() if current is None else {current}
    for checkpoint in reversed(notary.saved()[0]):
        handover = checkpoint.handover
        agreed = handover is not None and all(
            key.accepts(checkpoint.note) for key in (handover.old, handover.new)
        )
        if handover is not None and agreed and handover.new in keys:
            keys.add(handover.old)
    return keys


def _text(digest: str) -> str:
    return f"{_TITLE}\n{digest}\n"
