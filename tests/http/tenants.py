"""Two tenants on one server: what one of them has, and requests that name it as if it were one's own."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.parse import quote

from memorywire.journal.acts import Act
from memorywire.journal.webhooks import Webhook, build_row
from memorywire.model.change import Change
from memorywire.model.proposal import OutboxEntry
from memorywire.model.record import Scope
from memorywire.wire import spec
from memorywire_server.http.routes import resolve_schema
from tests.http.server import Client, Server

MARK = "umbrella-secret-word"
NOWHERE = "01936f5e-0c00-7000-8a11-5b1d5e0cffff"
AGENT = "shared"
OWED = "01936f5e-0c00-7000-8a11-5b1d5e0cdeb7"
HOOK = "01936f5e-0c00-7000-8a11-5b1d5e0c40c0"
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}")
_NUMBER = re.compile(rb"\d{10,}")
_numbers = count()

TEA = {"name": MARK, "initial": "cold", "states": ["cold", "hot"], "transitions": [["boil", "cold", "hot"]]}
LEAST: Mapping[str, dict[str, Any]] = {
    "remember": {"type": "semantic"},
    "recall": {"query": "umbrella"},
    "forget": {"ids": [NOWHERE]},
    "merge": {"canonical": NOWHERE, "duplicates": ["other"]},
    "expire": {"policy": {"older_than_days": 1}},
    "decide": {"verb": "approve"},
    "feedback": {"recall_id": NOWHERE, "memory_id": NOWHERE, "helped": "useful"},
    "test_rule": {"rule": {"name": "r", "verdict": "hold", "source": ["x"]}},
}
"""What a request needs besides the agent and the ids under test."""


@dataclass(frozen=True)
class World:
    """`theirs` has everything in `ids`, `mine` none of it; `of_tenant` is somebody else, of a new tenant."""

    mine: Client
    theirs: Client
    of_tenant: Callable[..., Client]
    ids: Mapping[str, str]


def world_of(server: Server) -> World:
    mine = server.operator("of-acme", tenants=["acme"])
    theirs = server.operator("of-umbrella", tenants=["umbrella"])

    def of_tenant(tenant: str | None = None) -> Client:
        name = f"new-{next(_numbers)}"
        return server.operator(name, tenants=[tenant or name])

    return World(mine, theirs, of_tenant, _furnished(theirs, server))


def _furnished(client: Client, server: Server) -> dict[str, str]:
    """An id of every kind there is."""
    kept = client.remember(f"the word is {MARK}", AGENT, tags=[MARK], idempotency_key=MARK)
    client.remember(f"another {MARK}", AGENT)
    walk = client.post("/v0/remember", {"agent_id": AGENT, "type": "procedural", "content": TEA}).json
    held = client.remember(f"held {MARK}", AGENT, approval_required=True)
    recalled = client.post("/v0/recall", {"agent_id": AGENT, "query": MARK}).json
    owed = Change(id=OWED, scope=Scope(tenant="umbrella", agent=AGENT), operation="remember", at=1)
    server.run(
        server.container.journal.write(Act(outbox=(OutboxEntry(store="elsewhere", change=owed, at=1),)))
    )
    hook = Webhook(
        id=HOOK, url="http://127.0.0.1:9/", secret="x", tenant="umbrella", made_at=0, position=10**6
    )
    server.run(server.container.journal.backend.write(lambda db: db.execute("add_webhook", build_row(hook))))
    entries = client.get("/v0/audit", operation="remember").json["entries"]
    return {
        "memory": kept["id"],
        "procedure": walk["id"],
        "change": kept["change_id"],
        "proposal": held["proposal_id"],
        "recall": recalled["recall_id"],
        "idempotency key": MARK,
        "debt": OWED,
        "webhook": HOOK,
        "operator": "operator:of-umbrella",
        "entry": f"{entries[-1]['seq']}",
        "event": f"{entries[0]['seq']}",
    }


def absent(like: str = NOWHERE) -> str:
    """An id that nobody has, and nobody had, of the same make."""
    number = next(_numbers)
    if like.isdecimal():
        return f"{10**6 + number}"
    return f"01936f5e-0c00-7000-8a11-{number:012x}"


def id_fields(operation: str) -> list[str]:
    """The fields of a request that take an id, or several."""
    fields = spec.schema(f"{operation}.request")["properties"]
    return [name for name in fields if _takes_id(operation, fields[name])]


def _takes_id(operation: str, schema: Mapping[str, Any]) -> bool:
    kind = resolve_schema(operation, schema)
    named = schema.get("$ref", "").endswith(("/id", "/ids"))
    return named or ("$ref" in kind.get("items", {}) and kind["items"]["$ref"].endswith("/id"))


def with_id(operation: str, field: str, id: str) -> dict[str, Any]:
    """The fields of a request, without its scope, that names this id in this field."""
    kind = resolve_schema(operation, spec.schema(f"{operation}.request")["properties"][field]).get("type")
    body = {**LEAST.get(operation, {}), field: [id] if kind == "array" else id}
    if operation == "remember":  # each says something else, so that none notices another
        body["content"] = f"note {next(_numbers)}"
    return body


def without_id(body: bytes, id: str) -> bytes:
    """An answer that names the id, as it is or as an address spells it, with something in its place."""
    named = b"|".join(re.escape(one.encode()) for one in (id, quote(id, safe="")))
    return re.sub(rb"(?<![\w-])(" + named + rb")(?![\w-])", b"<id>", body)


def plain(body: bytes) -> bytes:
    """An answer without the ids and the moments that every answer mints."""
    return _NUMBER.sub(b"<n>", _UUID.sub(b"<id>", body))
