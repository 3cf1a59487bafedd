"""Lines of a bundle: each is a JSON object that ends with the digest of the text before it."""

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

_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
_LINE = re.compile(rb'(.*),"digest":"([0-9a-f]{64})"\}', re.DOTALL)

_RECORD_TYPES = get_type_hints(Record)
_OPTIONAL_FIELDS = ("reason", "undoes", "about", "key", "fingerprint")


def seal_line(line: Mapping[str, Json]) -> bytes:
    """Return the line with its digest and a line end."""
    body = _encode(line).encode()
    return body[:-1] + b',"digest":"' + hashlib.sha256(body).hexdigest().encode() + b'"}\n'


def parse_line(line: bytes, number: int) -> dict[str, Json]:
    """Parse a line; raises InvalidRequest, with the line's number, if its digest does not match."""
    match = _LINE.fullmatch(line.rstrip(b"\r\n"))
    if match is None:
        raise InvalidRequest(
            f"line {number} is not a line of a bundle: it does not end in a digest",
            field="file",
            fix="name a file that `memorywire export` wrote, or name its format with --from",
        )
    body = match[1] + b"}"
    if hashlib.sha256(body).hexdigest().encode() != match[2]:
        raise InvalidRequest(
            f"line {number} was altered: its digest does not match", field="file", fix="export it again"
        )
    content = strict.parse(body)
    if not isinstance(content, dict):
        raise InvalidRequest(f"line {number} is not a JSON object", field="file")
    return content


def read_lines(path: Path, kind: str) -> Iterator[dict[str, Json]]:
    """Yield the lines of one kind, in order; only lines that contain the kind's text are parsed."""
    mark = f'"kind":"{kind}"'.encode()
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if mark in line and (content := parse_line(line, number))["kind"] == kind:
                yield content


def encode_change(change: Change) -> dict[str, Json]:
    """Return the line of a change."""
    optional = {name: getattr(change, name) for name in _OPTIONAL_FIELDS} | {"user_id": change.scope.user}
    puts: list[dict[str, Json]] = []
    for put in change.put:
        record = encode_record(put.record)
        record.pop("recalled_at", None)
        vector = {} if put.vector is None else {"vector": b64encode(put.vector).decode()}
        puts.append({"base": put.base.value, "record": record, **vector})
    ends = [
        {"id": end.id, "version": end.version, "reason": end.reason.value}
        | ({} if end.into is None else {"into": end.into})
        for end in change.end
    ]
    return {
        "kind": "change",
        "id": change.id,
        "agent_id": change.scope.agent,
        "operation": change.operation,
        "at": change.at,
        "put": puts,
        "end": ends,
        **{name: value for name, value in optional.items() if value is not None},
    }


def decode_change(line: Mapping[str, Json], tenant: str) -> Change:
    """Return the change of a line, in that tenant."""
    return Change(
        id=line["id"],
        operation=line["operation"],
        scope=_decode_scope(line, tenant),
        at=line["at"],
        put=tuple(
            Put(
                record=decode_record(put["record"], tenant),
                base=Base(put["base"]),
                vector=b64decode(put["vector"]) if "vector" in put else None,
            )
            for put in line["put"]
        ),
        end=tuple(
            End(id=end["id"], version=end["version"], reason=EndReason(end["reason"]), into=end.get("into"))
            for end in line["end"]
        ),
        **{name: line[name] for name in _OPTIONAL_FIELDS if name in line},
    )


def decode_record(line: Mapping[str, Json], tenant: str) -> Record:
    """Decode a record of the wire format, in that tenant."""
    fields: dict[str, Any] = {
        name: load(_RECORD_TYPES[name], value) for name, value in line.items() if name in _RECORD_TYPES
    }
    return Record(**fields | {"scope": _decode_scope(line, tenant), "content": line["content"]})


def _decode_scope(line: Mapping[str, Json], tenant: str) -> Scope:
    return Scope(tenant=tenant, agent=line["agent_id"], user=line.get("user_id"))
