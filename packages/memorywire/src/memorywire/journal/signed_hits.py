"""Signed hits: the ledger's key signs that a recall returned a memory with exactly this content.

The public key of the ledger is enough to verify a hit. The signature is over five lines: the type of the
signature, the id of the recall, the id and the version of the memory, and the digest of the hit's fields.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from msgspec.structs import replace

from memorywire.journal.entries import canonical_bytes
from memorywire.journal.signed_notes import Verifier, parse_note, parse_verifier
from memorywire.journal.signer import Signer
from memorywire.model.answers import HIT_FIELDS, Hit, HitSignature
from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire.model.record import Json

_WHAT = "memorywire signed hit v0"


def sign_hits(hits: Sequence[Hit], recall_id: str, signer: Signer) -> tuple[Hit, ...] | None:
    """Return the hits of a recall with signatures, or None while the ledger has no key. Blocks."""
    digests = [_digest(_describe(hit)) for hit in hits]
    texts = [
        _format(recall_id, hit.record.id, hit.record.version, digest)
        for hit, digest in zip(hits, digests, strict=True)
    ]
    notes = signer.sign_texts(texts)
    if notes is None:
        return None
    signatures = [
        HitSignature(recall_id=recall_id, digest=digest, signature=note[len(text) + 1 :].rstrip("\n"))
        for digest, note, text in zip(digests, notes, texts, strict=True)
    ]
    return tuple(replace(hit, signed=one) for hit, one in zip(hits, signatures, strict=True))


def verify_hit(hit: "Hit | Mapping[str, Json]", key: str | Verifier) -> bool:
    """Return whether the ledger with this public key signed exactly this hit.

    `hit` is a hit of the SDK, or one of `results` as JSON; `key` is what `memorywire audit checkpoint --json`
    prints. Raises InvalidRequest for a hit without a signature and for an invalid key.
    """
    verifier = parse_verifier(key) if isinstance(key, str) else key
    document = _describe(hit) if isinstance(hit, Hit) else hit
    signature: Json = _signature_of(hit) if isinstance(hit, Hit) else document.get("signed")
    names = HitSignature.__struct_fields__
    if not isinstance(signature, Mapping) or not all(isinstance(signature.get(name), str) for name in names):
        raise InvalidRequest("this hit is not signed", field="signed", fix="recall it with sign: true")
    try:
        digest = _digest(document)
        text = _format(signature["recall_id"], str(document["id"]), document["version"], digest)
        note = parse_note(f"{text}\n{signature['signature']}\n")
    except (KeyError, MemorywireError):
        return False
    return digest == signature["digest"] and note.text == text and verifier.accepts(note)


def _signature_of(hit: Hit) -> Json:
    if hit.signed is None:
        return None
    return {name: getattr(hit.signed, name) for name in hit.signed.__struct_fields__}


def _describe(hit: Hit) -> dict[str, Json]:
    """Return the fields of a hit as on the wire."""
    record = hit.record
    document = {name: getattr(record, name) for name in HIT_FIELDS if name != "user_id"}
    document |= {"user_id": record.scope.user, "tags": list(record.tags)}
    document |= {"type": record.type.value, "trust": record.trust.value}
    return document


def _digest(document: Mapping[str, Json]) -> str:
    fields = {name: document[name] for name in HIT_FIELDS if document.get(name) is not None}
    return sha256(canonical_bytes(fields)).hexdigest()


def _format(recall_id: str, id: str, version: Json, digest: str) -> str:
    return f"{_WHAT}\n{recall_id}\n{id}\n{version}\n{digest}\n"
