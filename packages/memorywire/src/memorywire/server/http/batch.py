"""Many operations in one request, one after the other, each with its own receipt or problem."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from starlette.requests import Request
from starlette.responses import Response

from memorywire.client.bulk import Result, remember_each
from memorywire.model.errors import MemorywireError
from memorywire.model.record import Json
from memorywire.server.callers import Caller
from memorywire.server.http.answers import as_json, status_of
from memorywire.server.http.check_body import asked_body
from memorywire.server.http.endpoint import Door, permit
from memorywire.server.http.handlers import Endpoint, caller_of
from memorywire.wire.codec import encode

Item = dict[str, Json]


def batch_endpoint(door: Door) -> Endpoint:
    async def batch(request: Request) -> Response:
        request.state.operation = "batch"
        body = await asked_body("batch.request", request, door, limit=door.limits.batch)
        answers = [
            answer for run in _runs(body["items"]) for answer in await _perform(run, door, caller_of(request))
        ]
        return as_json({"items": answers})

    return batch


def _runs(items: Sequence[Item]) -> Iterator[list[Item]]:
    """Neighbours that can be done together: stretches of remembers, and everything else alone."""
    for operation, run in groupby(items, key=lambda item: item["operation"]):
        if operation == "remember":
            yield list(run)
        else:
            yield from ([item] for item in run)


async def _perform(run: Sequence[Item], door: Door, caller: Caller) -> list[Item]:
    if len(run) == 1:
        return [await _one(run[0], door, caller)]
    return await _many([item["payload"] for item in run], door, caller)


async def _one(item: Item, door: Door, caller: Caller) -> Item:
    try:
        return {"status": 200, "answer": await door.call(item["operation"], item["payload"], caller)}
    except MemorywireError as error:
        return _failed(error)


async def _many(payloads: Sequence[Item], door: Door, caller: Caller) -> list[Item]:
    """Remembers, embedded and committed in groups."""
    refused = {at: problem for at, payload in enumerate(payloads) if (problem := _refusal(payload, caller))}
    allowed = [payload for at, payload in enumerate(payloads) if at not in refused]
    try:
        results: Sequence[Result] = await door.finish(_remember(allowed, door, caller))
    except MemorywireError as error:
        results = [error] * len(allowed)
    kept = iter(results)
    return [_said(refused[at] if at in refused else next(kept)) for at in range(len(payloads))]


async def _remember(payloads: Sequence[Item], door: Door, caller: Caller) -> list[Result]:
    context = replace(door.container.as_caller(caller.name), operation="remember")
    return [one async for group in remember_each(payloads, context, tenant=caller.tenant) for one in group]


def _refusal(payload: Item, caller: Caller) -> MemorywireError | None:
    try:
        permit("remember", payload, caller)
    except MemorywireError as error:
        return error
    return None


def _said(result: Result) -> Item:
    return (
        _failed(result) if isinstance(result, MemorywireError) else {"status": 200, "answer": encode(result)}
    )


def _failed(error: MemorywireError) -> Item:
    return {"status": status_of(error), "problem": error.problem()}
