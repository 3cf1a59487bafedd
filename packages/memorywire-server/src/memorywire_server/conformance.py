"""Support for the specification's scenarios on a server under test: an empty memory and a settable clock."""

from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memorywire.model.clock import system_clock
from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire.model.record import DEFAULT_TENANT, END_OF_CALENDAR, Json
from memorywire_server.http.answers import as_json
from memorywire_server.http.app import MountedApp, problem_of
from memorywire_server.http.requests import read_body

PATH = "/v0/conformance"

_LATEST = END_OF_CALENDAR - 1
_BYTES = 1024
_SECONDS = 5.0


class Stage:
    """The memory and the clock of the current scenario; each scenario is a new tenant."""

    def __init__(self) -> None:
        self.now = system_clock()
        self.tenant = DEFAULT_TENANT
        self._begun = 0

    def clock(self) -> int:
        return self.now

    def home(self) -> str:
        """The tenant of requests that name none."""
        return self.tenant

    def begin(self, moment: int) -> None:
        """Start a scenario at this time, without memories or rules."""
        self._begun += 1
        self.now, self.tenant = moment, f"scenario-{self._begun}"

    def advance(self, milliseconds: int) -> None:
        self.now += milliseconds


def hook_mount(stage: Stage) -> MountedApp:
    """Return the mount that starts scenarios and moves the clock, as docs/spec/scenarios.md specifies."""

    async def begin(request: Request) -> Response:
        stage.begin(await _read_number(request, "clock", _LATEST))
        return as_json({"clock": stage.now})

    async def advance(request: Request) -> Response:
        stage.advance(await _read_number(request, "advance_ms", _LATEST - stage.now))
        return as_json({"clock": stage.now})

    app = Starlette(
        routes=[
            Route("/begin", begin, methods=["POST"]),
            Route("/advance", advance, methods=["POST"]),
        ],
        exception_handlers={MemorywireError: problem_of},
    )
    return MountedApp(path=PATH, app=app)


async def _read_number(request: Request, name: str, most: int) -> int:
    body = await read_body(request, limit=_BYTES, seconds=_SECONDS)
    fields: Mapping[str, Json] = body if isinstance(body, dict) else {}
    value = fields.get(name)
    if type(value) is not int or not 0 <= value <= most or len(fields) != 1:
        raise InvalidRequest(
            f"{name} is not a number of milliseconds up to {most}",
            field=name,
            fix=f'send {{"{name}": NUMBER}} and nothing else',
        )
    return value
