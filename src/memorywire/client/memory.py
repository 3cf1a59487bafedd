"""The verbs of `Memory`, asked over HTTP."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from memorywire.client.door import Door, nowhere
from memorywire.facades.memory import Memory
from memorywire.house import DEFAULT_AGENT
from memorywire.model.answers import Hit, Page, Recalled
from memorywire.model.capabilities import Capabilities, Feature, StoreCapabilities
from memorywire.model.codec import load
from memorywire.model.errors import InvalidRequest, StoreCorrupt
from memorywire.model.kv import Owner, OwnerKind
from memorywire.model.record import DEFAULT_TENANT, Json, Record, Scope
from memorywire.model.space import Space
from memorywire.stores.remote.link import Link, locate
from memorywire.sync import Memory as BlockingMemory

if TYPE_CHECKING:  # each is loaded by those who use it
    from memorywire.client.kv import RemoteKeyValue
    from memorywire.client.layer import RemoteLayer

A = TypeVar("A")

_RECORD = frozenset(field.name for field in fields(Record))


class Client(Memory):
    """An agent's memory behind the address of `memorywire serve`, opened by nobody but the server.

    The five operations, get, list, undo and capabilities answer as `Memory` answers, and so do `kv` and
    `layer`. All operations of the wire are there as plain JSON, through `call`. What needs the store itself
    raises CapabilityUnsupported.
    The token decides about the tenant; one of several tenants chooses with `tenant`, or with
    `?tenant=` in the address.
    """

    def __init__(
        self,
        url: str,
        agent_id: str = DEFAULT_AGENT,
        *,
        token: str | None = None,
        user_id: str | None = None,
        tenant: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        place = locate(url, token)
        chosen = tenant or place.tenant
        super().__init__(agent_id, user_id=user_id, tenant=chosen or DEFAULT_TENANT)
        # A connection for each request: what is sent on one that broke might be done twice.
        self._door = Door(Link(place, timeout=timeout, keep=0), chosen)

    async def call(self, operation: str, payload: Mapping[str, Json]) -> dict[str, Json]:
        if not operation.isidentifier():
            raise InvalidRequest("there is no such operation", field="operation")
        return await self._door.ask("POST", operation, body=dict(payload))

    async def capabilities(self) -> Capabilities:
        """What is wired at the server."""
        return await self._ask(Capabilities, "capabilities", {})

    async def owed(self) -> list[dict[str, Json]]:
        """What stores of the server have still to write, without what it says; takes the right to review."""
        found: list[dict[str, Json]] = (await self._door.ask("GET", "debts"))["debts"]
        return found

    @property
    def kv(self) -> "RemoteKeyValue":
        from memorywire.client.kv import RemoteKeyValue

        return RemoteKeyValue(self._door, Owner(kind=OwnerKind.AGENT, id=self.agent_id, tenant=self.tenant))

    @property
    def layer(self) -> "RemoteLayer":
        from memorywire.client.layer import RemoteLayer

        return RemoteLayer(self._door, Scope(tenant=self.tenant, agent=self.agent_id, user=self.user_id))

    async def close(self) -> None:
        await self._door.link.close()

    async def __aenter__(self) -> Self:
        return self

    async def _ask(self, kind: type[A], operation: str, payload: Mapping[str, Json]) -> A:
        answer = await self.call(operation, payload)
        try:
            read: A = _read(kind, answer, self.tenant, self.agent_id)
        except (KeyError, TypeError, ValueError) as error:
            raise StoreCorrupt(f"the answer to {operation} cannot be read here", fix="use call") from error
        return read

    async def _open(self) -> NoReturn:
        await nowhere()


class BlockingClient(BlockingMemory):
    """The same for code without an event loop."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Takes what the async client takes."""
        super().__init__()
        self._client = Client(*args, **kwargs)
        self._memory = self._client

    def owed(self) -> list[dict[str, Json]]:
        return self._run(self._client.owed())


def _read(kind: type[Any], answer: Mapping[str, Json], tenant: str, agent: str) -> Any:
    """The answer as the value it was before it was sent."""
    if kind is Record:
        return _record(answer, tenant, agent)
    if kind is Capabilities:
        return _capabilities(answer)
    if kind is Page:
        items = tuple(_record(item, tenant, agent) for item in answer["items"])
        return Page(items=items, total=answer["total"], next=answer.get("next"))
    if kind is Recalled:
        rest = {name: value for name, value in answer.items() if name != "results"}
        hits = tuple(_hit(hit, tenant, agent) for hit in answer["results"])
        return replace(load(Recalled, {**rest, "hits": []}), hits=hits)
    return load(kind, dict(answer))


def _capabilities(answer: Mapping[str, Json]) -> Capabilities:
    return Capabilities(
        stores=tuple(load(StoreCapabilities, store) for store in answer["stores"]),
        space=load(Space, answer["embedding"]),
        overseen="proposals" in answer["operations"],
        together=frozenset(map(Feature, answer["features"])),
        extracts=answer["contracts"]["memory_layer"],
        hosting=answer["openwop"]["served"],
    )


def _record(document: Mapping[str, Json], tenant: str, agent: str) -> Record:
    scope = Scope(agent=document.get("agent_id", agent), user=document.get("user_id"), tenant=tenant)
    said = {name: value for name, value in document.items() if name in _RECORD}
    record: Record = load(Record, {"updated_at": document["created_at"], **said, "scope": {"agent": ""}})
    return replace(record, scope=scope)


def _hit(document: Mapping[str, Json], tenant: str, agent: str) -> Hit:
    return Hit(
        record=_record(document, tenant, agent),
        score=document["score"],
        stores=tuple(document["stores"]),
        supporting=tuple(document["supporting"]),
        signals=document["explain"]["signals"] if "explain" in document else None,
    )
