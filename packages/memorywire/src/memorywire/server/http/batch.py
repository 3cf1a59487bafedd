"""Many operations in one request, one after the other, each with its own receipt or problem."""

from collections.abc import Iterator, Mapping, Sequence
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
from memorywire.server.auth import Caller
from memorywire.server.http.answers import ACCEPTED, as_json, status_of
from memorywire.server.http.endpoint import (
    Endpoint,
    Service,
    caller_of,
    get_parameters,
    permit,
    read_checked_body,
)
from memorywire.wire.codec import encode

Item = dict[str, Json]


def batch_endpoint(service: Service) -> Endpoint:
    async def batch(request: Request) -> Response:
        request.state.operation = "batch"
        body = await read_checked_body("batch.request", request, service, limit=service.limits.batch)
        answers = [
            answer
            for run in _split_runs(body["items"])
            for answer in await _perform(run, service, caller_of(request))
        ]
        return as_json({"items": answers})

    return batch


def _split_runs(items: Sequence[Item]) -> Iterator[list[Item]]:
    """Neighbours that can be done together: stretches of remembers, and everything else alone."""
    for operation, run in groupby(items, key=lambda item: item["operation"]):
        if operation == "remember":
            yield list(run)
        else:
            yield from ([item] for item in run)


async def _perform(run: Sequence[Item], service: Service, caller: Caller) -> list[Item]:
    if len(run) == 1:
        return [await _one(run[0], service, caller)]
    return await _remember_many([item["payload"] for item in run], service, caller)


async def _one(item: Item, service: Service, caller: Caller) -> Item:
    try:
        return {"status": 200, "answer": await service.call(item["operation"], item["payload"], caller)}
    except MemorywireError as error:
        return _describe_error(error)


async def _remember_many(payloads: Sequence[Item], service: Service, caller: Caller) -> list[Item]:
    """Remembers, embedded and committed in groups."""
    refusals = {at: problem for at, payload in enumerate(payloads) if (problem := _refusal(payload, caller))}
    permitted = [payload for at, payload in enumerate(payloads) if at not in refusals]
    try:
        results: Sequence[Result] = await service.finish(_remember(permitted, service, caller))
    except MemorywireError as error:
        results = [error] * len(permitted)
    outcomes = iter(results)
    return [
        _describe_result(refusals[at] if at in refusals else next(outcomes)) for at in range(len(payloads))
    ]


async def _remember(payloads: Sequence[Item], service: Service, caller: Caller) -> list[Result]:
    context = replace(service.container.as_caller(caller.name), operation="remember")
    return [one async for group in remember_each(payloads, context, tenant=caller.tenant) for one in group]


def _refusal(payload: Item, caller: Caller) -> MemorywireError | None:
    try:
        permit("remember", payload, caller)
    except MemorywireError as error:
        return error
    return None


def _describe_result(result: Result) -> Item:
    return (
        _describe_error(result)
        if isinstance(result, MemorywireError)
        else {"status": 200, "answer": encode(result)}
    )


def _describe_error(error: MemorywireError) -> Item:
    return {"status": status_of(error), "problem": error.problem()}


def trigger_endpoint(service: Service) -> Endpoint:
    async def trigger(request: Request) -> Response:
        """Take one step and keep it."""
        request.state.operation = "trigger"
        body = await read_checked_body("trigger.request", request, service)
        caller = caller_of(request)
        permit("remember", body, caller)
        answer = await service.finish(
            _step(Holder(service, caller, body), get_parameters(request)["id"], body)
        )
        return as_json(answer, ACCEPTED if answer["receipt"]["status"] == "staged" else 200)

    return trigger


class Holder:
    """The verbs that a procedure needs, of one agent and as one caller."""

    def __init__(self, service: Service, caller: Caller, scope: Mapping[str, Json]) -> None:
        self._house = service.as_caller(caller)
        self._tenant = caller.tenant
        self._scope = {name: scope[name] for name in ("agent_id", "user_id") if name in scope}

    async def get(self, id: str, **options: Unpack[ScopeOption]) -> Record:
        return cast("Record", await self._ask("get", id=id, **options))

    async def history(self, id: str, **options: Unpack[ScopeOption]) -> tuple[Version, ...]:
        return cast("Chain", await self._ask("history", id=id, **options)).versions

    async def remember(
        self, content: str | Mapping[str, Any], **options: Unpack[RememberOptions]
    ) -> Remembered:
        return cast("Remembered", await self._ask("remember", content=content, **options))

    async def _ask(self, operation: str, **fields: Any) -> object:
        payload = {name: value for name, value in fields.items() if value is not None}
        return await dispatch(operation, {**self._scope, **payload}, self._house, tenant=self._tenant)


async def _step(holder: Holder, id: str, body: Mapping[str, Json]) -> dict[str, Json]:
    procedure = await Procedure.load(holder, id)
    state = procedure.trigger(body["trigger"], **body.get("facts", {}))
    return {"state": state, "receipt": encode(await procedure.save())}
