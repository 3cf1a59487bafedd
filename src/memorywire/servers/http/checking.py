"""Bodies that have no operation on the wire: checked against the description that is published."""

from functools import cache
from typing import Any

import jsonschema_rs
from starlette.requests import Request

from memorywire.servers.http.door import Door
from memorywire.servers.http.handlers import json_object
from memorywire.servers.http.parameters import DOCUMENT, published
from memorywire.servers.http.schemas import own_schemas
from memorywire.wire.validate import problem_of


async def asked_body(name: str, request: Request, door: Door, *, limit: int | None = None) -> dict[str, Any]:
    """The body, when it is what the schema of that name describes."""
    body = await json_object(request, limit=limit or door.limits.body, seconds=door.limits.body_seconds)
    errors = list(_validator(name).iter_errors(body))
    if errors:
        problem = problem_of(errors, own_schemas()[name])
        problem.fix = problem.fix or "see /docs"
        raise problem
    return body


@cache
def _validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return published({"$ref": f"{DOCUMENT}#/components/schemas/{name}"})
