"""`memorywire call`: raw wire JSON in, raw wire JSON out."""

import codecs
import sys

import click

from memorywire.cli.desk import Desk, shared
from memorywire.model.clock import system_clock
from memorywire.spec import schemas


@click.command("call")
@click.argument("operation")
@click.argument("payload", required=False, metavar="[JSON]")
@click.option("--clock", type=int, hidden=True, help="Pretend that it is this moment, in epoch ms.")
@shared
def command(desk: Desk, operation: str, payload: str | None, clock: int | None) -> None:
    """Send raw wire JSON, print the response.

    JSON is the payload of the request; `-` reads it from standard input, and so does nothing in a pipe.
    Without any it is `{}`. The agent and the user of the settings stand in where the request names no agent.
    """
    from memorywire.wire.strict import parse

    request = parse(_typed(payload))
    if isinstance(request, dict) and _needs_agent(operation):
        request = {**desk.scope(), **request} if "agent_id" not in request else request
    with desk.memory(system_clock if clock is None else lambda: clock) as memory:
        desk.print_json(memory.call(operation, request))


def _needs_agent(operation: str) -> bool:
    """Whether a request must say whose memory is meant; what is about everybody's need not."""
    schema = schemas().get(f"{operation}.request", {})
    return "agent_id" in schema.get("required", ())


def _typed(payload: str | None) -> str | bytes:
    if payload is not None and payload != "-":
        return payload
    if payload is None and sys.stdin.isatty():
        return "{}"
    piped = sys.stdin.buffer.read().removeprefix(codecs.BOM_UTF8)
    return piped if payload == "-" or piped.strip() else "{}"
