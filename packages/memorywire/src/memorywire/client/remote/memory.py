"""The verbs of `Memory`, asked over HTTP."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, Unpack

from memorywire.app import DEFAULT_AGENT
from memorywire.client.audit import refuse_filters
from memorywire.client.bulk import Result
from memorywire.client.memory import Memory
from memorywire.client.options import AuditOptions, moments
from memorywire.client.remote import audit as books
from memorywire.client.remote.answers import UNREADABLE, read
from memorywire.client.remote.routes import Door, nowhere
from memorywire.client.sync import Memory as BlockingMemory
from memorywire.model.answers import Remembered
from memorywire.model.capabilities import Capabilities
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest, MemorywireError, StoreCorrupt
from memorywire.model.kv import Owner, OwnerKind
from memorywire.model.record import DEFAULT_TENANT, Json, Scope
from memorywire.stores.remote.link import Link, locate
from memorywire.stores.remote.problems import error_of
from memorywire.wire import validate

if TYPE_CHECKING:  # each is loaded by those who use it
    from memorywire.client.remote.kv import RemoteKeyValue
    from memorywire.client.remote.layer import RemoteLayer
    from memorywire.journal.audit import Examination

A = TypeVar("A")

_AT_ONCE = 32
"""Memories in one request: that many of the longest still fit into it."""


class Client(Memory):
    """An agent's memory at a server: `memorywire serve` opens it, and this client only asks.

    The verbs answer as `Memory` answers, and so do `kv` and `layer`. All operations of the wire are there as
    plain JSON, through `call`; reviewing is there in that form only. What needs the store itself raises
    CapabilityUnsupported. The token decides about the tenant; one of several tenants chooses with `tenant`,
    or with `?tenant=` in the address.
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

    async def audit_log(
        self,
        *,
        subject: str | None = None,
        before: int | None = None,
        limit: int = 20,
        **filters: Unpack[AuditOptions],
    ) -> tuple[dict[str, Json], ...]:
        """As `Memory` answers, without the tenant; takes the right to review."""
        if subject is not None:
            refuse_filters("subject", filters)
        wanted: dict[str, Any] = moments(**filters)
        if wanted.get("user_id") is None:
            wanted["user_id"] = self.user_id
        if not wanted.pop("all_agents", False):
            wanted["agent_id"] = self.agent_id
        asked = {**wanted, "before": before, "limit": limit} if subject is None else {"subject": subject}
        return await books.entries(self._door, asked)

    async def audit_verify(self, *, checkpoint: str | None = None, state: bool = False) -> "Examination":
        """What the server says of its own ledger; takes the right to manage all tenants."""
        return await books.examined(self._door, checkpoint, state=state)

    async def audit_checkpoint(self) -> str:
        """As `Memory` answers; takes the right to manage all tenants."""
        return str((await self.signed())["checkpoint"])

    async def signed(self) -> dict[str, Json]:
        """The newest checkpoint of the server's ledger and the public key to it."""
        return await books.signed(self._door)

    async def proof(self, entry: int) -> list[str]:
        """The lines that prove one entry of the server's ledger; takes the right to review."""
        return await books.proof(self._door, entry)

    @property
    def kv(self) -> "RemoteKeyValue":
        from memorywire.client.remote.kv import RemoteKeyValue

        owner = Owner(kind=OwnerKind.AGENT, id=self.agent_id, tenant=self.tenant)
        return RemoteKeyValue(self._door, owner, user=self.user_id)

    @property
    def layer(self) -> "RemoteLayer":
        from memorywire.client.remote.layer import RemoteLayer

        return RemoteLayer(self._door, Scope(tenant=self.tenant, agent=self.agent_id, user=self.user_id))

    async def close(self) -> None:
        await self._door.link.close()

    async def __aenter__(self) -> Self:
        return self

    async def _ask(self, kind: type[A], operation: str, payload: Mapping[str, Json]) -> A:
        if kind in UNREADABLE:
            raise CapabilityUnsupported(
                f"a client gets the answer to {operation} as JSON alone",
                fix=f'use call("{operation}", {{...}})',
            )
        return self._read(kind, operation, await self.call(operation, payload))

    def _read(self, kind: type[A], operation: str, answer: Mapping[str, Json]) -> A:
        try:
            value: A = read(kind, answer, Scope(tenant=self.tenant, agent=self.agent_id))
        except (KeyError, TypeError, ValueError) as error:
            raise StoreCorrupt(f"the answer to {operation} cannot be read here", fix="use call") from error
        return value

    async def _keep_each(self, payloads: Iterable[Mapping[str, Json]]) -> AsyncIterator[Sequence[Result]]:
        source = iter(payloads)
        while some := list(islice(source, _AT_ONCE)):
            unfit = [_unfit(payload) for payload in some]
            items = [
                {"operation": "remember", "payload": payload}
                for payload, problem in zip(some, unfit, strict=True)
                if problem is None
            ]
            done = iter(
                (await self._door.ask("POST", "batch", body={"items": items}))["items"] if items else ()
            )
            yield [problem or self._kept(next(done)) for problem in unfit]

    def _kept(self, item: Mapping[str, Json]) -> Result:
        return (
            error_of(item["problem"])
            if "problem" in item
            else self._read(Remembered, "batch", item["answer"])
        )

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

    def signed(self) -> dict[str, Json]:
        return self._run(self._client.signed())

    def proof(self, entry: int) -> list[str]:
        return self._run(self._client.proof(entry))


def _unfit(payload: Mapping[str, Json]) -> MemorywireError | None:
    """Why this item cannot be sent: as a part of one request it would fail the others, too."""
    try:
        validate.check("remember", payload)
    except MemorywireError as problem:
        return problem
    return None
