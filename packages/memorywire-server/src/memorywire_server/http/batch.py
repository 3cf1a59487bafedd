"""Runs many operations of one request in sequence; each gets a separate receipt or problem."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Unpack, cast

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from memorywire.app.dispatch import dispatch
from memorywire.client.bulk import Result, remember_each
from memorywire.client.options import RememberOptions, ScopeOption
from memorywire.client.procedures import Procedure
from memorywire.model.answers import Chain, Remembered
from memorywire.model.change import Version
from memorywire.model.errors import MemorywireError
from memorywire.model.record import Json, Record
from memorywire.wire.codec import encode
from memorywire_server.auth import Caller
from memorywire_server.http.answers import ACCEPTED, as_json, status_of
from memorywire_server.http.endpoint import Service, caller_of, get_parameters, permit, read_checked_body

Item = dict[str, Json]


async def run_batch(request: Request, service: Service) -> Response:
    body = await read_checked_body("batch.request", request, service, limit=service.limits.batch)
    caller = caller_of(request)
    answers: list[Item] = []
    for operation, group in groupby(body["items"], key=lambda item: item["operation"]):
        payloads = [item["payload"] for item in group]
        if operation == "remember" and len(payloads) > 1:
            answers += await _remember_many(payloads, service, caller)
            continue
        for payload in payloads:
            try:
                answer = await service.call(operation, payload, caller)
            except MemorywireError as error:
                answers.append(_describe_error(error))
            else:
                answers.append({"status": 200, "answer": answer})
    return as_json({"items": answers})


async def _remember_many(payloads: Sequence[Item], service: Service, caller: Caller) -> list[Item]:
    """Run remembers, embedding and committing them in groups."""
    refusals: dict[int, MemorywireError] = {}
    for at, payload in enumerate(payloads):
        try:
            permit("remember", payload, caller)
        except MemorywireError as error:
            refusals[at] = error
    permitted = [payload for at, payload in enumerate(payloads) if at not in refusals]
    context = replace(service.container.as_caller(caller.name), operation="remember")

    async def remember() -> list[Result]:
        groups = remember_each(permitted, context, tenant=caller.tenant)
        return [result async for group in groups for result in group]

    try:
        results: Sequence[Result] = await service.finish(remember())
    except MemorywireError as error:
        results = [error] * len(permitted)
    outcomes = iter(results)
    ordered = [refusals[at] if at in refusals else next(outcomes) for at in range(len(payloads))]
    return [
        _describe_error(result)
        if isinstance(result, MemorywireError)
        else {"status": 200, "answer": encode(result)}
        for result in ordered
    ]


def _describe_error(error: MemorywireError) -> Item:
    return {"status": status_of(error), "problem": error.problem()}


async def trigger(request: Request, service: Service) -> Response:
    """Apply a trigger to a procedure and save its new state."""
    body = await read_checked_body("trigger.request", request, service)
    answer = await take_step(service, caller_of(request), get_parameters(request)["id"], body)
    return as_json(answer, ACCEPTED if answer["receipt"]["status"] == "staged" else 200)


async def take_step(service: Service, caller: Caller, id: str, body: Mapping[str, Json]) -> Item:
    """Apply the trigger in the body; returns the new state and the receipt of the procedure's new version."""
    permit("remember", dict(body), caller)

    async def step() -> Item:
        procedure = await Procedure.load(CallerMemory(service, caller, body), id)
        state = procedure.trigger(body["trigger"], **body.get("facts", {}))
        return {"state": state, "receipt": encode(await procedure.save())}

    return await service.finish(step())


class CallerMemory:
    """The operations that a procedure needs, for one agent and as one caller."""

    def __init__(self, service: Service, caller: Caller, scope: Mapping[str, Json]) -> None:
        self._container = service.as_caller(caller)
        self._tenant = caller.tenant
        self._scope = {name: scope[name] for name in ("agent_id", "user_id") if name in scope}

    async def get(self, id: str, **options: Unpack[ScopeOption]) -> Record:
        return cast("Record", await self._dispatch("get", id=id, **options))

    async def history(self, id: str, **options: Unpack[ScopeOption]) -> tuple[Version, ...]:
        return cast("Chain", await self._dispatch("history", id=id, **options)).versions

    async def remember(
        self, content: str | Mapping[str, Any], **options: Unpack[RememberOptions]
    ) -> Remembered:
        return cast("Remembered", await self._dispatch("remember", content=content, **options))

    async def _dispatch(self, operation: str, **fields: Any) -> object:
        payload = {name: value for name, value in fields.items() if value is not None}
        return await dispatch(operation, {**self._scope, **payload}, self._container, tenant=self._tenant)
