"""The addresses of a server beside the wire's operations, asked in the name of one tenant."""

from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import quote, urlencode

from msgspec import Struct

from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.record import Json
from memorywire.stores.remote.link import Link


class Door(Struct, frozen=True):
    """Asks over a link; without a tenant the server takes the token's."""

    link: Link
    tenant: str | None

    async def ask(
        self, method: str, *parts: str, body: Mapping[str, Any] | None = None, **query: Any
    ) -> dict[str, Json]:
        """The answer of the address made of these parts; fields that are None are left out."""
        path = "/v0/" + "/".join(quote(part, safe="") for part in parts)
        said = urlencode(given(query))
        address = f"{path}?{said}" if said else path
        answer: dict[str, Json] = await self.link.ask(method, address, body, tenant=self.tenant)
        return answer


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are not None."""
    return {name: value for name, value in options.items() if value is not None}


async def nowhere() -> NoReturn:
    """Stands in for the house, which a client does not have: raises CapabilityUnsupported."""
    raise CapabilityUnsupported(
        "this needs the store itself, and only the server has it",
        field="store",
        fix="run it where the store is",
    )
