"""`memorywire call`: raw wire JSON in, raw wire JSON out."""

import sys

import click

from memorywire.cli.desk import Desk, shared
from memorywire.model.clock import system_clock


@click.command("call")
@click.argument("operation")
@click.argument("payload", required=False, metavar="[JSON]")
@click.option("--clock", type=int, hidden=True, help="Pretend that it is this moment, in epoch ms.")
@shared
def command(desk: Desk, operation: str, payload: str | None, clock: int | None) -> None:
    """Send raw wire JSON, print the response.

    JSON is the payload of the request; `-` or nothing reads it from standard input. The
    agent and the user of the settings stand in where the request names no agent.
    """
    from memorywire.wire.strict import parse

    request = parse(sys.stdin.buffer.read() if payload in (None, "-") else payload)
    if isinstance(request, dict):
        request = {**desk.scope(), **request} if "agent_id" not in request else request
    with desk.memory(system_clock if clock is None else lambda: clock) as memory:
        desk.print_json(memory.call(operation, request))
