"""`memorywire call`: raw wire JSON in, raw wire JSON out."""

import codecs
import sys

import click

from memorywire.cli.context import CliContext, shared
from memorywire.model.clock import system_clock
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.wire.spec import schemas


@click.command("call")
@click.argument("operation")
@click.argument("payload", required=False, metavar="[JSON]")
@click.option("--clock", type=int, hidden=True, help="Pretend that it is this moment, in epoch ms.")
@shared
def call_command(cli: CliContext, operation: str, payload: str | None, clock: int | None) -> None:
    """Send raw wire JSON, print the response.

    JSON is the payload of the request; `-` reads it from standard input, and so does nothing in a pipe.
    Without any it is `{}`. The agent and the user of the settings stand in where the request names no agent.
    """
    from memorywire.wire.strict import parse

    request = parse(_typed(payload))
    if isinstance(request, dict):
        request = _in_scope(cli, operation, request)
    with cli.memory(system_clock if clock is None else lambda: clock) as memory:
        cli.print_json(memory.call(operation, request))


def _in_scope(cli: CliContext, operation: str, request: dict[str, Json]) -> dict[str, Json]:
    """The request with the typed --agent and --user; one that contradicts them is refused.

    Where a request needs an agent and names none, the settings name it.
    """
    schema = schemas().get(f"{operation}.request", {})
    typed = cli.reach()
    for field, value in typed.items() if schema else ():
        option = field.removesuffix("_id")
        if field not in schema.get("properties", {}):
            cli.refuse_scope(f"{operation} has no {field}", names=(option,))
        if request.get(field, value) != value:
            raise InvalidRequest(
                f"the request names another {field} than --{option}", field=field, fix="name one of them"
            )
    if "agent_id" in schema.get("required", ()) and "agent_id" not in request:
        return {**cli.scope(), **request}
    return {**typed, **request}


def _typed(payload: str | None) -> str | bytes:
    if payload is not None and payload != "-":
        return payload
    if payload is None and sys.stdin.isatty():
        return "{}"
    piped = sys.stdin.buffer.read().removeprefix(codecs.BOM_UTF8)
    return piped if payload == "-" or piped.strip() else "{}"
