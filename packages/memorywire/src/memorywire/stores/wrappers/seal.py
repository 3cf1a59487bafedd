"""Memories with a seal (an HMAC), which reveals records that a store has altered or forged.

The seal is an HMAC over the scope, id, version and digest of a record. It is stored in the record's metadata,
so it works with any store, and only the holder of the key can create one.
"""

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from memorywire.model.change import Change, Footprint, Version
from memorywire.model.errors import StoreCorrupt
from memorywire.model.query import Scored
from memorywire.model.record import Record
from memorywire.stores.contract import Store
from memorywire.stores.wrappers.wrapper import Call, wrap

SEAL = "memorywire.seal"


def with_seal(store: Store, key: bytes) -> Store:
    """Return a store that seals every written record, and checks and removes the seal of every read one.

    Records without a valid seal are left out of results; a search that finds one raises StoreCorrupt.
    """

    async def intercept(verb: str, call: Call[Any]) -> Any:
        answer = await call()
        if verb == "vectors":  # aligned with the request, so no entry may be removed
            return answer
        checked = _check_seals(answer, key)
        if verb == "search" and len(checked) < len(answer):
            raise StoreCorrupt(f"{len(answer) - len(checked)} of its memories have no valid signature")
        return checked

    def seal(change: Change) -> Change:
        records = (put.record for put in change.put)
        sealed = (replace(one, metadata={**one.metadata, SEAL: _seal(one, key)}) for one in records)
        puts = (replace(put, record=one) for put, one in zip(change.put, sealed, strict=True))
        return replace(change, put=tuple(puts))

    return wrap(store, intercept, prepare=seal)


def _seal(record: Record, key: bytes) -> str:
    scope = record.scope
    parts = (scope.tenant, scope.agent, scope.user or "", record.id, str(record.version), record.digest)
    # With lengths, so that different parts never give the same text.
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _check_seals(answer: Any, key: bytes) -> Any:
    """Return the answer of any verb without records that have no valid seal."""
    match answer:
        case Record():
            return _check_seal(answer, key)
        case Scored():
            record = _check_seal(answer.record, key)
            return None if record is None else replace(answer, record=record)
        case Version(record=Record() as record):
            return replace(answer, record=_check_seal(record, key))
        case Footprint():
            began, ended = (tuple(_check_each(part, key)) for part in (answer.began, answer.ended))
            return replace(answer, began=began, ended=ended)
        case list():
            return _check_each(answer, key)
    return answer


def _check_each(answers: Sequence[Any], key: bytes) -> list[Any]:
    values: Iterable[Any] = (_check_seals(one, key) for one in answers)
    return [one for one in values if one is not None]


def _check_seal(record: Record, key: bytes) -> Record | None:
    metadata = dict(record.metadata)
    seal = metadata.pop(SEAL, None)
    bare = replace(record, metadata=metadata)
    return bare if isinstance(seal, str) and hmac.compare_digest(seal, _seal(bare, key)) else None
