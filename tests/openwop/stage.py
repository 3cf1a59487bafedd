"""An OpenWOP host on a real port, two tenants that use it, and a clock that tests can turn on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from memorywire.model.clock import system_clock
from memorywire.model.record import Scope
from memorywire_openwop.refs import build_ref
from memorywire_openwop.server.mount import openwop_mounts
from tests.http.server import Client, Reply, Server, serving
from tests.openwop.rules import Rule, broken

Documents: TypeAlias = list[dict[str, Any]]

EXTENSION = "/v1/host/memorywire"
_numbers = count()


@dataclass
class Turned:
    """The time, and how far it was turned on."""

    by: int = 0

    def __call__(self) -> int:
        return system_clock() + self.by


@dataclass(frozen=True)
class Session:
    """A run that somebody carries out, and memory as it sees it."""

    client: Client
    id: str
    memory: dict[str, str]

    def put(self, ref: str, content: str, **fields: Any) -> dict[str, Any]:
        """The entry of a put that succeeds."""
        return good(self.ask("put", ref, entry={"content": content, **fields}))["entry"]

    def list(self, ref: str, **options: Any) -> Documents:
        return good(self.ask("list", ref, options=options))["entries"]

    def get(self, ref: str, id: str) -> dict[str, Any] | None:
        return good(self.ask("get", ref, id=id))["entry"]

    def delete(self, ref: str, id: str) -> bool:
        return good(self.ask("delete", ref, id=id))["deleted"]

    def ask(self, verb: str, ref: str, **fields: Any) -> Reply:
        path = f"{EXTENSION}/runs/{self.id}/memory/{verb}"
        return self.client.post(path, {"memoryRef": ref, **fields})

    def resolve(self, secret: str, value: str) -> Reply:
        return self.client.post(f"{EXTENSION}/runs/{self.id}/secrets", {"secretId": secret, "value": value})

    def complete(self) -> None:
        good(self.client.post(f"{EXTENSION}/runs/{self.id}:complete", {}))

    def fork(self, **fields: Any) -> Reply:
        return self.client.post(f"/v1/runs/{self.id}:fork", {"mode": "replay", **fields})

    def events(self) -> Documents:
        return events_of(self.client, self.id)


@dataclass(frozen=True)
class Stage:
    """`mine` is of the tenant acme, `theirs` of umbrella."""

    server: Server
    folder: Path
    without: Rule | None
    clock: Turned
    mine: Client
    theirs: Client
    testing: bool = field(default=True)

    def session(self, *refs: str, client: Client | None = None) -> Session:
        asked = {"workflowId": "memorywire.session", "memoryRefs": list(refs)}
        started = good((client or self.mine).post("/v1/runs", asked), 201)
        return Session(client or self.mine, started["runId"], started["memory"])

    def ref(self, tenant: str = "acme") -> str:
        """A memory that nobody used before."""
        return build_ref(Scope(tenant=tenant, agent=f"agent-{next(_numbers)}"))

    def turn_on(self, milliseconds: int) -> None:
        self.clock.by += milliseconds


def good(reply: Reply, status: int = 200) -> Any:
    assert reply.status == status, reply.body
    return reply.json


def refused(reply: Reply, status: int, error: str) -> dict[str, Any]:
    """The envelope of a problem, which has no other fields than it may have."""
    assert (reply.status, reply.json.get("error")) == (status, error), reply.body
    assert set(reply.json) <= {"error", "message", "details"}
    assert isinstance(reply.json["message"], str)
    envelope: dict[str, Any] = reply.json
    return envelope


def events_of(client: Client, run: str) -> Documents:
    found: Documents = good(client.get(f"/v1/runs/{run}/events/poll", lastSequence=0))["events"]
    return found


def started(client: Client, workflow: str) -> dict[str, Any]:
    """A run of a conformance workflow, as a poll finds it once it has ended."""
    run = good(client.post("/v1/runs", {"workflowId": f"conformance-{workflow}"}), 201)["runId"]
    snapshot: dict[str, Any] = good(client.get(f"/v1/runs/{run}"))
    assert snapshot["status"] == "completed", snapshot
    return snapshot


@contextmanager
def hosting(
    folder: Path,
    *,
    without: Rule | None = None,
    store: Any = None,
    policy: str = "open",
    testing: bool = True,
    edition: str = "1.14",
) -> Iterator[Stage]:
    clock = Turned()
    mounts = partial(openwop_mounts, local=True, testing=testing, edition=edition)
    where = store or f"sqlite://{folder}/memory.db"
    with (
        broken(without),
        serving(where, policy=policy, embedder="minilm", clock=clock, mounts=mounts) as server,
    ):
        number = next(_numbers)
        yield Stage(
            server=server,
            folder=folder,
            without=without,
            clock=clock,
            mine=server.operator(f"acme-{number}", tenants=["acme"]),
            theirs=server.operator(f"umbrella-{number}", tenants=["umbrella"]),
            testing=testing,
        )
