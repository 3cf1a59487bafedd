"""JSON ends here: checked payloads become requests, answers become plain JSON."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from memorywire import spec
from memorywire.model.answers import Hit, Recalled
from memorywire.model.capabilities import Capabilities
from memorywire.model.change import Change, Version
from memorywire.model.record import DEFAULT_TENANT, Json, MemoryType, Record, Scope, Trust
from memorywire.model.requests import (
    METADATA_BYTES_MAX,
    Action,
    Changes,
    Dedup,
    DedupMode,
    Expire,
    Forget,
    Fusion,
    Get,
    History,
    List,
    Merge,
    Policy,
    RankWeights,
    Recall,
    Remember,
    Request,
    Strategy,
    Undo,
)
from memorywire.wire import strict
from memorywire.wire.filters import decode_filter

REQUESTS: Mapping[str, type[Request]] = {
    "remember": Remember,
    "recall": Recall,
    "forget": Forget,
    "merge": Merge,
    "expire": Expire,
    "get": Get,
    "list": List,
    "history": History,
    "undo": Undo,
    "changes": Changes,
}


def decode(operation: str, payload: Mapping[str, Json], *, tenant: str = DEFAULT_TENANT) -> Request:
    """The typed request of a payload that passed validation."""
    rest = {name: value for name, value in payload.items() if name not in ("agent_id", "user_id")}
    scope = Scope(agent=payload["agent_id"], user=payload.get("user_id"), tenant=tenant)
    values: dict[str, Any] = {
        name: _READERS[name](value) if name in _READERS else value for name, value in rest.items()
    }
    return REQUESTS[operation](scope=scope, **values)


def _policy(document: Mapping[str, Json]) -> Policy:
    return Policy(**{name: _READERS[name](value) for name, value in document.items()})


def _dedup(document: Mapping[str, Json]) -> Dedup:
    return Dedup(**{**document, "mode": DedupMode(document["mode"])})


def _ids(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


# To the schema 2.0 is an integer, so what must be an int here is made one.
_INTEGERS = (
    "as_of",
    "expires_at",
    "fresher_than_days",
    "hops",
    "if_version",
    "k",
    "limit",
    "max_affected",
    "max_tokens",
    "no_recall_in_days",
    "occurred_at",
    "older_than_days",
    "quorum_k",
)

_READERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_INTEGERS, int),
    "type": MemoryType,
    "types": lambda names: tuple(MemoryType(name) for name in names),
    "confidence": float,
    "confidence_below": float,
    "tags": tuple,
    "supersedes": _ids,
    "derived_from": _ids,
    "trust": Trust,
    "filter": decode_filter,
    "fusion": Fusion,
    "include": tuple,
    "rank": lambda weights: RankWeights(**weights),
    "dedup": _dedup,
    "ids": tuple,
    "duplicates": tuple,
    "strategy": Strategy,
    "policy": _policy,
    "action": Action,
}

_NULLABLE = frozenset({"approval_url", "error"})  # v0 says null where it could have been silent


def encode(answer: object) -> Json:
    """Plain JSON of any answer; what is absent is left out."""
    match answer:
        case Recalled():
            document = _encode_fields(answer)
            document["results"] = document.pop("hits")
            return document
        case Hit():
            return _encode_hit(answer)
        case Record():
            return encode_record(answer)
        case Version():
            return _encode_version(answer)
        case Change():
            return _encode_change(answer)
        case Capabilities():
            return _encode_capabilities(answer)
        case Enum():
            return answer.value
        case Mapping():
            return {key: encode(value) for key, value in answer.items()}
        case list() | tuple() | frozenset():
            return [encode(value) for value in answer]
    return _encode_fields(answer) if is_dataclass(answer) else answer


def encode_record(record: Record) -> dict[str, Json]:
    """A record as the wire shows it: the scope as `agent_id` and `user_id`."""
    document = _encode_fields(record)
    del document["scope"]
    owner = {"agent_id": record.scope.agent}
    if record.scope.user is not None:
        owner["user_id"] = record.scope.user
    return {"id": document.pop("id"), **owner, **document}


def _encode_fields(value: Any) -> dict[str, Json]:
    found = ((field.name, getattr(value, field.name)) for field in fields(value))
    return {name: encode(inner) for name, inner in found if inner is not None or name in _NULLABLE}


_HIT_FIELDS = (
    "id",
    "type",
    "content",
    "metadata",
    "created_at",
    "confidence",
    "source",
    "tags",
    "occurred_at",
    "session_id",
    "user_id",
    "version",
    "trust",
)


def _encode_hit(hit: Hit) -> dict[str, Json]:
    record = encode_record(hit.record)
    document = {name: record[name] for name in _HIT_FIELDS if name in record}
    document |= {
        "score": round(hit.score, 6),
        "supporting": list(hit.supporting),
        "source_store": hit.stores[0],
        "stores": list(hit.stores),
    }
    if hit.signals is not None:
        document["explain"] = {"signals": dict(hit.signals)}
    return document


def _encode_version(version: Version) -> dict[str, Json]:
    document = _encode_fields(version)
    for internal in ("id", "began", "ended"):
        document.pop(internal, None)
    return document


def _encode_change(change: Change) -> dict[str, Json]:
    named = {"id": change.id, "operation": change.operation, "at": change.at}
    named |= {"user_id": change.scope.user, "reason": change.reason, "undoes": change.undoes}
    return {name: value for name, value in named.items() if value is not None}


def _encode_capabilities(capabilities: Capabilities) -> dict[str, Json]:
    """Projected from what is wired and from the schemas, so that no bound is written down twice."""
    return {
        "spec": spec.VERSION,
        "operations": [*REQUESTS, "capabilities"],
        "types": [kind.value for kind in MemoryType],
        "features": encode(sorted(capabilities.features)),
        "stores": [
            {"name": store.name, "features": encode(sorted(store.features))} for store in capabilities.stores
        ],
        "embedding": _encode_fields(capabilities.space),
        "limits": {
            "content_max": spec.schema("remember.request")["properties"]["content"]["maxLength"],
            "k_max": spec.schema("recall.request")["properties"]["k"]["maximum"],
            "ids_max": spec.schema("forget.request")["properties"]["ids"]["maxItems"],
            "metadata_bytes_max": METADATA_BYTES_MAX,
            "payload_bytes_max": strict.MAX_BYTES,
            "depth_max": strict.MAX_DEPTH,
        },
    }
