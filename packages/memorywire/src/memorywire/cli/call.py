"""`memorywire call`: send one wire request as JSON."""

import codecs
import sys

import click

from memorywire.cli.context import CliContext, shared
from memorywire.cli.inputs import option
from memorywire.model.clock import system_clock
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.wire.spec import schemas


@click.command("call")
@click.argument("operation")
@click.argument("payload", required=False, metavar="[JSON]")
@option("--clock", "The time of the request, in epoch ms.", type=int, hidden=True)
@shared
def call_command(cli: CliContext, operation: str, payload: str | None, clock: int | None) -> None:
    """Send one wire request as JSON and print the response.

    JSON is the payload; `-`, or no argument in a pipe, reads standard input. The default is `{}`. If the
    request names no agent, the agent and the user of the settings are used.
    """
    from memorywire.wire.strict import parse

    request = parse(_read_payload(payload))
    if isinstance(request, dict):
        request = _add_scope(cli, operation, request)
    memory = cli.memory(system_clock if clock is None else lambda: clock)
    cli.print_json(memory.call(operation, request))


def _add_scope(cli: CliContext, operation: str, request: dict[str, Json]) -> dict[str, Json]:
    """Return the request with the typed --agent and --user, or with the scope of the settings.

    Raises InvalidRequest if the request contradicts the options.
    """
    schema = schemas().get(f"{operation}.request", {})
    scope = cli.typed_scope()
    for field, value in scope.items() if schema else ():
        option = field.removesuffix("_id")
        if field not in schema.get("properties", {}):
            cli.refuse_scope(f"{operation} has no {field}", names=(option,))
        if request.get(field, value) != value:
            raise InvalidRequest(
                f"{field} in the request differs from --{option}", field=field, fix="give only one of them"
            )
    if "agent_id" in schema.get("required", ()) and "agent_id" not in request:
        return {**cli.scope(), **request}
    return {**scope, **request}


def _read_payload(payload: str | None) -> str | bytes:
    if payload is not None and payload != "-":
        return payload
    if payload is None and sys.stdin.isatty():
        return "{}"
    text = sys.stdin.buffer.read().removeprefix(codecs.BOM_UTF8)
    return text if payload == "-" or text.strip() else "{}"
