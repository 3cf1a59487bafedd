"""The client of a memorywire that serves: the verbs of `Memory`, asked over HTTP."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from memorywire.facades.memory import Memory
from memorywire.house import DEFAULT_AGENT, House
from memorywire.model.answers import Hit, Page, Recalled
from memorywire.model.capabilities import Capabilities
from memorywire.model.codec import load
from memorywire.model.errors import CapabilityUnsupported, StoreCorrupt
from memorywire.model.record import DEFAULT_TENANT, Json, Record, Scope
from memorywire.stores.remote.link import Link, locate

A = TypeVar("A")


class Client(Memory):
    """An agent's memory behind the address of `memorywire serve`.

    It answers what `Memory` answers for the five operations and get, list and undo; everything else of
    the wire is there as plain JSON, through `call`. What needs the store itself raises
    CapabilityUnsupported. A token decides about the tenant; one of several tenants chooses with `tenant`.
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
        super().__init__(agent_id, user_id=user_id, tenant=tenant or DEFAULT_TENANT)
        self._wanted = tenant
        self._link = Link(locate(url, token), timeout=timeout)

    async def call(self, operation: str, payload: Mapping[str, Json]) -> dict[str, Json]:
        """Plain JSON in, plain JSON out."""
        answer: dict[str, Json] = await self._link.post(
            f"/v0/{operation}", dict(payload), tenant=self._wanted
        )
        return answer

    async def capabilities(self) -> NoReturn:
        raise _not_here("capabilities", "ask call('capabilities', {}) instead")

    async def close(self) -> None:
        """Closing twice is fine."""
        await self._link.close()

    async def _ask(self, kind: type[A], operation: str, payload: Mapping[str, Json]) -> A:
        answer = await self.call(operation, payload)
        try:
            return self._read(kind, answer)
        except (KeyError, TypeError, ValueError) as error:
            raise StoreCorrupt(f"the answer to {operation} makes no sense") from error

    async def _open(self) -> House:
        raise _not_here("this", "run it where the store is")

    def _read(self, kind: type[A], answer: Mapping[str, Json]) -> A:
        value: Any
        if kind is Recalled:
            rest = {name: value for name, value in answer.items() if name != "results"}
            value = load(Recalled, {**rest, "hits": ()})
            hits = tuple(self._hit(hit) for hit in answer["results"])
            value = _with(value, hits=hits)
        elif kind is Record:
            value = self._record(answer)
        elif kind is Page:
            items = tuple(self._record(item) for item in answer["items"])
            value = Page(items=items, total=answer["total"], next=answer.get("next"))
        else:
            value = load(kind, dict(answer))
        found: A = value
        return found
