"""Memory as an extension of the protocol: the operations as methods of their own, review beside them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from mcp.server.context import ServerRequestContext
from mcp_types import RequestParams
from pydantic import ConfigDict

from memorywire.model.errors import MemorywireError
from memorywire.model.record import Json, MemoryType
from memorywire.server.mcp.call import Clerk
from memorywire.server.mcp.elicit import decide
from memorywire.server.mcp.resources import protocol_error
from memorywire.server.mcp.schemas import unscoped
from memorywire.server.mcp.sessions import Visit
from memorywire.server.mcp.tools import CARDS
from memorywire.wire import spec

EXTENSION = "dev.memorywire/memory"
REVIEWS = ("proposals", "proposal", "decide")

Context: TypeAlias = ServerRequestContext[Any, Any]


class Fields(RequestParams):
    """The fields of an operation of the wire; the wire checks them."""

    model_config = ConfigDict(extra="allow")

    def given(self) -> dict[str, Json]:
        return dict(self.model_extra or {})


METHODS: Mapping[str, type[Fields]] = dict.fromkeys((*CARDS, *REVIEWS), Fields)


def settings() -> dict[str, Json]:
    """What is advertised: the wire that the methods speak, and how changes are governed."""
    return {
        "spec": spec.VERSION,
        "schemas": spec.BASE,
        "types": [kind.value for kind in MemoryType],
        "methods": [f"memory/{operation}" for operation in CARDS],
        "governance": {
            "statuses": ["committed", "staged", "deferred", "duplicate", "failed"],
            "approval": ["elicitation", "approval_url"],
            "methods": [f"memory/{operation}" for operation in REVIEWS],
        },
    }


def method(
    operation: str, clerk: Clerk, who: Callable[[Context], Visit]
) -> Callable[[Context, Fields], Awaitable[dict[str, Json]]]:
    """The handler of one method: fields of the wire in, its response out."""
    asked = clerk.review if operation in REVIEWS else clerk.ask

    async def handler(context: Context, params: Fields) -> dict[str, Json]:
        from memorywire.wire.codec import encode

        visit, fields = who(context), params.given()
        try:
            if operation == "decide":
                answer = await decide(fields, visit, context, clerk)
            else:
                answer = await asked(operation, fields, visit)
        except MemorywireError as error:
            raise protocol_error(error) from error
        return unscoped(encode(answer))

    return handler
