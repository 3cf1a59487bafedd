"""The addresses of a server that are no operation of the wire, asked as one tenant."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import quote, urlencode

from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.record import Json
from memorywire.stores.remote.link import Link


@dataclass(frozen=True, slots=True)
class Door:
    """Asks over a link; a server that was told no tenant takes the one of the token."""

    link: Link
    tenant: str | None

    async def ask(
        self, method: str, *parts: str, body: Mapping[str, Any] | None = None, **query: Any
    ) -> dict[str, Json]:
        """The answer of the address that the parts name; what is None was not said."""
        path = "/v0/" + "/".join(quote(part, safe="") for part in parts)
        said = urlencode(given(query))
        address = f"{path}?{said}" if said else path
        answer: dict[str, Json] = await self.link.ask(method, address, body, tenant=self.tenant)
        return answer


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were said."""
    return {name: value for name, value in options.items() if value is not None}


async def nowhere() -> NoReturn:
    """The house that a client does not have."""
    raise CapabilityUnsupported(
        "this needs the store itself, and only the server has it",
        field="store",
        fix="run it where the store is",
    )
