"""Serves the store to another memorywire that uses it as a remote store."""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memorywire.app.container import Container
from memorywire.journal.acts import Act
from memorywire.journal.operators import Right
from memorywire.model.change import Change
from memorywire.model.codec import dump, load
from memorywire.model.errors import Forbidden, InvalidRequest, MemorywireError, UnknownOperation
from memorywire.model.record import Scope
from memorywire.pipeline.context import Context
from memorywire.pipeline.plan import entry_of
from memorywire.policy.patterns import names
from memorywire.stores.contract import SupportsHistory
from memorywire.stores.remote.protocol import PATH, VERBS, About, problem_of
from memorywire_server.http.answers import PROBLEM, as_json, encode_json, status_of
from memorywire_server.http.app import MountedApp
from memorywire_server.http.endpoint import Limits, Service, caller_of
from memorywire_server.http.requests import read_body


def store_mount(container: Container) -> MountedApp:
    """Return the mount for `serve`; it requires the right to manage.

    The sender's policy has already judged the changes that arrive here. They are not judged again, but the
    ledger records who sent them.
    """
    service = Service(container, Limits())

    async def endpoint(request: Request) -> Response:
        try:
            answer = await _answer(request, service)
        except MemorywireError as error:
            return Response(encode_json(problem_of(error)), status_of(error), media_type=PROBLEM)
        return as_json({"answer": dump(answer)})

    return MountedApp(path=PATH, app=Starlette(routes=[Route("/{verb}", endpoint, methods=["POST"])]))


async def _answer(request: Request, service: Service) -> object:
    caller, name = caller_of(request), request.path_params["verb"]
    caller.require(Right.MANAGE)
    if name not in VERBS:
        raise UnknownOperation("a store has no such method", field="verb")
    body = await read_body(request, limit=service.limits.batch, seconds=service.limits.body_seconds)
    try:
        arguments = [load(hint, data) for hint, data in zip(VERBS[name].takes, body, strict=True)]
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidRequest("these are not the arguments of this method") from error
    for scope in _scopes(arguments):
        if scope.tenant != caller.tenant and not caller.everywhere:
            raise Forbidden("your token does not cover this tenant", field="tenant")
        if not names(caller.agents, scope.agent):
            raise Forbidden("your token does not cover this agent", field="agent_id")
    context = service.as_caller(caller).context
    store = context.store
    if name == "about":
        return About(
            name=store.name,
            features=tuple(sorted(store.features)),
            space=context.embedder.space,
            abilities=tuple(verb for verb in VERBS if hasattr(store, verb)),
        )
    if name == "write":
        return await service.finish(_write(arguments[0], context))
    method: Callable[..., Any] | None = getattr(store, name, None)
    if method is None:
        raise UnknownOperation(f"the store {store.name} has no such method", field="verb")
    answer = await service.finish(method(*arguments))
    if name == "health" and not caller.everywhere:
        return {"ok": answer["ok"]}  # the other fields cover all tenants
    return answer


async def _write(change: Change, context: Context) -> int:
    """Commit the change with its ledger entry, in one transaction if both are in the same file."""
    act = Act(
        entries=(entry_of(change, "committed", context),),
        erased=tuple((change.scope, id) for id in change.erase),
    )
    journal, store = context.require_governance().journal, context.store
    if not journal.backend.shares(store):
        sequence = await context.timed(store.name, store.write(change))
        await journal.write(act)
        return sequence
    footprint = await store.footprint(change.scope, change.id) if isinstance(store, SupportsHistory) else None
    if footprint is not None:
        return footprint.sequence
    return await context.timed(store.name, journal.write(act, change))


def _scopes(value: object) -> Iterator[Scope]:
    """Yield every scope inside a value, at any depth."""
    if isinstance(value, Scope):
        yield value
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _scopes(inner)
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from _scopes(getattr(value, name))
