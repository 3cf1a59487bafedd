"""Routes for backend definitions: create, fork, retire and bind them; requires the right to manage."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memorywire.app.backends import Backends, name_of
from memorywire.journal.operators import Right
from memorywire.model.definition import Edition, TenancyKind
from memorywire.model.record import Json
from memorywire.pipeline.context import unsupported
from memorywire_server.auth import Caller
from memorywire_server.http.answers import as_json
from memorywire_server.http.endpoint import (
    Handler,
    Service,
    build_route,
    caller_of,
    get_parameters,
    read_checked_body,
)

Verb: TypeAlias = Callable[[Request, Service, Caller, Backends], Awaitable[Json]]


def definition_routes(service: Service) -> list[Route]:
    return [
        build_route(service, "/v0/backends", GET=_managed(_list), POST=_managed(_create)),
        build_route(service, "/v0/backends/{definition}", GET=_managed(_get)),
        build_route(service, "/v0/backends/{definition}/fork", POST=_managed(_fork)),
        build_route(service, "/v0/backends/{definition}/retire", POST=_managed(_retire)),
        build_route(service, "/v0/bindings/{agent_id}", PUT=_managed(_bind), DELETE=_managed(_unbind)),
    ]


def edition_document(edition: Edition, book: Backends) -> dict[str, Json]:
    """Encode an edition; keys appear as names of variables, never as values."""
    document: dict[str, Json] = {
        "digest": edition.digest,
        "edition": edition.number,
        "definition": edition.definition.masked_document(),
        "made_at": edition.made_at,
        "made_by": edition.made_by,
        "agents": list(edition.agents),
        "store": name_of(edition),
    }
    more = {"parent": edition.parent, "retired_at": edition.retired_at, "healthy": book.healthy(edition)}
    return {**document, **{name: value for name, value in more.items() if value is not None}}


def _managed(verb: Verb) -> Handler:
    async def handle(request: Request, service: Service) -> Response:
        caller = caller_of(request)
        caller.require(Right.MANAGE)
        book = service.container.backends
        if book is None:
            raise unsupported("backends", "this server was started without backends")
        return as_json(await verb(request, service, caller, book))

    return handle


async def _list(request: Request, service: Service, caller: Caller, book: Backends) -> Json:
    editions = await service.finish(book.list(caller.tenant))
    return {"definitions": [edition_document(edition, book) for edition in editions]}


async def _create(request: Request, service: Service, caller: Caller, book: Backends) -> Json:
    body = await read_checked_body("backend_create.request", request, service)
    _require_for(body, caller)
    return edition_document(await service.finish(book.create(caller.tenant, body, caller.name)), book)


async def _get(request: Request, service: Service, caller: Caller, book: Backends) -> Json:
    name = get_parameters(request)["definition"]
    return edition_document(await service.finish(book.get(caller.tenant, name)), book)


async def _fork(request: Request, service: Service, caller: Caller, book: Backends) -> Json:
    body = await read_checked_body("backend_fork.request", request, service)
    edition = await service.finish(book.get(caller.tenant, get_parameters(request)["definition"]))
    if {"url", "key_env", "tenancy"} & body.keys():
        _require_for({**edition.definition.document(), **body}, caller)
    # Fork by digest, so that it is the edition that was checked.
    fork = await service.finish(book.fork(caller.tenant, edition.digest, body, caller.name))
    return edition_document(fork, book)


async def _retire(request: Request, service: Service, caller: Caller, book: Backends) -> Json:
    await read_checked_body("backend_retire.request", request, service)
    name = get_parameters(request)["definition"]
    return edition_document(await service.finish(book.retire(caller.tenant, name, caller.name)), book)


async def _bind(request: Request, service: Service, caller: Caller, book: Backends) -> Json:
    body = await read_checked_body("backend_bind.request", request, service)
    agent = _agent(request, caller)
    edition = await service.finish(book.bind(caller.tenant, body["definition"], agent, caller.name))
    return edition_document(edition, book)


async def _unbind(request: Request, service: Service, caller: Caller, book: Backends) -> Json:
    agent = _agent(request, caller)
    await service.finish(book.unbind(caller.tenant, agent, caller.name))
    return {"agent_id": agent}


def _require_for(definition: Mapping[str, Json], caller: Caller) -> None:
    """Raise Forbidden unless the caller may create this definition.

    A store without an http URL is on this machine, and the keys are the server's: all tenants share both.
    The URL decides where a key is sent, and the pattern decides which data under a shared key is accessible.
    """
    kind = definition["url"].partition("://")[0]
    has_key = "key_env" in definition or definition["tenancy"]["kind"] == TenancyKind.KEY_PER_TENANT
    caller.require(Right.MANAGE, everywhere=has_key or kind not in ("http", "https"))


def _agent(request: Request, caller: Caller) -> str:
    agent: str = get_parameters(request)["agent_id"]
    caller.require_agent({"agent_id": agent}, optional=False)
    return agent
