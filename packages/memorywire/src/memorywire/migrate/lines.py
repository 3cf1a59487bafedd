"""Lines of a bundle: each a JSON object that ends in the digest of everything before it."""

import hashlib
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_type_hints

from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.codec import load
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json, Record, Scope
from memorywire.wire import strict
from memorywire.wire.codec import encode_record

_spelt = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
_SEALED = re.compile(rb'(.*),"digest":"([0-9a-f]{64})"\}', re.DOTALL)

_HINTS = get_type_hints(Record)
_SAID = ("reason", "undoes", "about", "key", "fingerprint")


def sealed(line: Mapping[str, Json]) -> bytes:
    """The line with its digest, and a line end."""
    body = _spelt(line).encode()
    return body[:-1] + b',"digest":"' + hashlib.sha256(body).hexdigest().encode() + b'"}\n'


def opened(line: bytes, number: int) -> dict[str, Json]:
    """What a line says, once its digest holds; raises InvalidRequest, naming the line."""
    found = _SEALED.fullmatch(line.rstrip(b"\r\n"))
    if found is None:
        raise InvalidRequest(
            f"line {number} is no line of a bundle: it does not end in a digest",
            field="file",
            fix="name a file that `memorywire export` wrote, or say what it is with --from",
        )
    body = found[1] + b"}"
    if hashlib.sha256(body).hexdigest().encode() != found[2]:
        raise InvalidRequest(
            f"line {number} was altered: its digest does not hold", field="file", fix="export it again"
        )
    said = strict.parse(body)
    if not isinstance(said, dict):
        raise InvalidRequest(f"line {number} is not a JSON object", field="file")
    return said


def lines_of(path: Path, kind: str) -> Iterator[dict[str, Json]]:
    """The lines of one kind, in their order; only they, and those that speak of it, are taken apart."""
    mark = f'"kind":"{kind}"'.encode()
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if mark in line and (said := opened(line, number))["kind"] == kind:
                yield said


def change_line(change: Change) -> dict[str, Json]:
    """A change as a line says it: whose, what, when, what it began and what it ended."""
    said = {name: getattr(change, name) for name in _SAID}
    return {
        "kind": "change",
        "id": change.id,
        "agent_id": change.scope.agent,
        "operation": change.operation,
        "at": change.at,
        "put": [_put_line(put) for put in change.put],
        "end": [_end_line(end) for end in change.end],
        **({} if change.scope.user is None else {"user_id": change.scope.user}),
        **{name: value for name, value in said.items() if value is not None},
    }


def _put_line(put: Put) -> dict[str, Json]:
    record = encode_record(put.record)
    record.pop("recalled_at", None)
    vector = {} if put.vector is None else {"vector": b64encode(put.vector).decode()}
    return {"base": put.base.value, "record": record, **vector}


def _end_line(end: End) -> dict[str, Json]:
    into = {} if end.into is None else {"into": end.into}
    return {"id": end.id, "version": end.version, "reason": end.reason.value, **into}


def change_of(line: Mapping[str, Json], tenant: str) -> Change:
    """The change that a line says, in that tenant."""
    scope = _scope(line, tenant)
    return Change(
        id=line["id"],
        operation=line["operation"],
        scope=scope,
        at=line["at"],
        put=tuple(_put_of(put, tenant) for put in line["put"]),
        end=tuple(
            End(id=end["id"], version=end["version"], reason=EndReason(end["reason"]), into=end.get("into"))
            for end in line["end"]
        ),
        **{name: line[name] for name in _SAID if name in line},
    )


def _put_of(line: Mapping[str, Json], tenant: str) -> Put:
    vector = line.get("vector")
    return Put(
        record=record_of(line["record"], tenant),
        base=Base(line["base"]),
        vector=None if vector is None else b64decode(vector),
    )


def record_of(line: Mapping[str, Json], tenant: str) -> Record:
    """The record that the wire shows so."""
    own: dict[str, Any] = {name: load(_HINTS[name], value) for name, value in line.items() if name in _HINTS}
    return Record(**own | {"scope": _scope(line, tenant), "content": line["content"]})


def _scope(line: Mapping[str, Json], tenant: str) -> Scope:
    return Scope(tenant=tenant, agent=line["agent_id"], user=line.get("user_id"))
