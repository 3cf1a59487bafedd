"""A server as `memorywire doctor` examines it from outside: is it there, is it ready, does it let us in."""

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from memorywire import __version__
from memorywire.cli.context import Answer
from memorywire.cli.terminal import safe, without_secrets
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json

if TYPE_CHECKING:  # loaded when a server is examined, not to show --help
    from memorywire.stores.remote.link import Place

_SECONDS = 10
_VARIABLE = "MEMORYWIRE_TOKEN"
_LIMIT = 1_000_000


def examined(url: str) -> Answer:
    """What a server says of itself, and what is wrong with it."""
    from memorywire.stores.remote.link import locate

    try:
        place = locate(url, os.environ.get(_VARIABLE))
    except InvalidRequest as error:
        raise click.BadParameter(f"{error.detail}; {error.fix}", param_hint="--url") from error
    health, ready, capabilities = (_ask(place, path) for path in ("/healthz", "/readyz", "/v0/capabilities"))
    findings = list(_findings(health, ready, capabilities))
    return {
        "ok": not findings,
        "memorywire": __version__,
        "server": {
            "url": without_secrets(url),
            "alive": health.status == 200,
            "ready": ready.status == 200,
            "stores": capabilities.said.get("stores", []) if capabilities.status == 200 else [],
        },
        "findings": findings,
    }


def sentences(answer: Answer) -> Iterator[str]:
    server = answer["server"]
    yield f"server      {safe(server['url'])}"
    for store in server["stores"]:
        yield f"store       {safe(store['name'])}: {safe(', '.join(store['features']))}"
    for finding in answer["findings"]:
        yield f"problem     {safe(finding['what'])}"
        yield f"  fix: {safe(finding['fix'])}"
    yield "healthy" if answer["ok"] else "not healthy"


class _Reply(NamedTuple):
    """The status and the document of an answer; 0 when there was none."""

    status: int
    said: dict[str, Json]


def _ask(place: "Place", path: str) -> _Reply:
    from memorywire.runtime import http

    url = f"{place.origin}{place.path}{path}"
    try:
        response = http.request("GET", url, None, place.headers, timeout=_SECONDS, max_bytes=_LIMIT)
        document = json.loads(response.body)
    except (http.HttpError, ValueError) as error:
        return _Reply(0, {"detail": str(error)})
    return _Reply(response.status, document if isinstance(document, dict) else {})


def _findings(health: _Reply, ready: _Reply, capabilities: _Reply) -> Iterator[dict[str, Json]]:
    if health.status != 200:
        why = health.said.get("detail", health.status)
        yield _finding(f"no memorywire answers there: {why}", "start it, or check the URL")
        return
    if ready.said.get("status") == "read-only":
        yield _finding("the server can only read its store", "make its file, folder and disk writable")
    elif ready.status != 200:
        yield _finding("the server lives but cannot answer", "look into its log, and at its store")
    if capabilities.status == 401:
        yield _finding("the server does not know us", f"put a token into {_VARIABLE}")
    elif capabilities.status != 200:
        why = capabilities.said.get("detail")
        yield _finding(f"it refuses to say what it can do: {why}", "check the token's role")


def _finding(what: str, fix: str) -> dict[str, Json]:
    return {"what": what, "fix": fix, "serious": True}
