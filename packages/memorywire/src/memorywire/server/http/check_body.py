"""Bodies that have no operation on the wire: checked against the description that is published."""

from typing import Any

from starlette.requests import Request

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.server.http.endpoint import Door
from memorywire.server.http.handlers import json_object
from memorywire.server.http.parameters import DOCUMENT, published
from memorywire.server.http.schemas import own_schemas
from memorywire.wire.validate import problem_of


async def asked_body(name: str, request: Request, door: Door, *, limit: int | None = None) -> dict[str, Any]:
    """The body, when it is what the schema of that name describes."""
    body = await json_object(request, limit=limit or door.limits.body, seconds=door.limits.body_seconds)
    problem = problem_with(body, name)
    if problem is not None:
        raise problem
    return body


def problem_with(document: Json, name: str) -> InvalidRequest | None:
    """What keeps a document from being what the schema of that name describes."""
    faults = published().at(f"{DOCUMENT}#/components/schemas/{name}").faults(document)
    if not faults:
        return None
    problem = problem_of(faults, own_schemas()[name])
    problem.fix = problem.fix or "see /docs"
    return problem
