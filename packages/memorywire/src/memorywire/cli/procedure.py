"""`memorywire procedure`: procedural memories as state machines."""

from collections.abc import Iterator, Mapping

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.ids import resolve_memory_id
from memorywire.cli.inputs import option
from memorywire.cli.terminal import format_table, format_time
from memorywire.model.errors import InvalidRequest
from memorywire.procedures.draw import mermaid, svg
from memorywire.procedures.parse import parse

_DRAWINGS = {"mermaid": mermaid, "svg": svg}
_TRUTHS = {"true": True, "false": False}

_id = click.argument("id_", metavar="ID")
_facts = option("--fact NAME=true|false", "A fact for conditions; repeatable.", name="facts", multiple=True)


@click.group("procedure")
def procedure_command() -> None:
    """Show, step through and draw a procedural memory."""


@procedure_command.command("show")
@_id
@shared
def show(cli: CliContext, id_: str) -> None:
    """Show the states, the transitions and the current state."""
    cli.show(_load(cli, id_), _render_procedure)


@procedure_command.command("trigger")
@_id
@click.argument("trigger")
@_facts
@shared
def trigger(cli: CliContext, id_: str, trigger: str, facts: tuple[str, ...]) -> None:
    """Take the transition TRIGGER and store it as the next version."""
    id_ = resolve_memory_id(cli, id_)
    procedure = cli.memory().procedure(id_)
    before = procedure.state
    procedure.trigger(trigger, **_parse_facts(facts))
    receipt = procedure.save()
    answer = {
        "id": id_,
        "trigger": trigger,
        "from": before,
        "current": procedure.state,
        "version": receipt.version,
        "status": receipt.status.value,
        "change_id": receipt.change_id,
        "proposal_id": receipt.proposal_id,
    }
    pending = "" if receipt.proposal_id is None else f", once proposal {receipt.proposal_id} is approved"
    lines = [
        f"{before} -> {procedure.state}{pending}",
        f"  version {receipt.version}, {receipt.status.value}",
    ]
    cli.show({name: value for name, value in answer.items() if value is not None}, lines)


@procedure_command.command("allowed")
@_id
@_facts
@shared
def allowed(cli: CliContext, id_: str, facts: tuple[str, ...]) -> None:
    """List the triggers that are allowed now."""
    id_ = resolve_memory_id(cli, id_)
    procedure = cli.memory().procedure(id_)
    triggers = procedure.allowed(**_parse_facts(facts))
    answer = {"id": id_, "current": procedure.state, "allowed": triggers}
    cli.show(answer, triggers or [f"none in state {procedure.state}"])


@procedure_command.command("history")
@_id
@shared
def history(cli: CliContext, id_: str) -> None:
    """Show the state of every version and its triggers."""
    id_ = resolve_memory_id(cli, id_)
    steps: list[Answer] = [
        {"version": step.version, "at": step.at, "state": step.state, "triggers": list(step.triggers)}
        for step in cli.memory().procedure(id_).history()
    ]
    rows = [
        [step["version"], format_time(step["at"]), ", ".join(step["triggers"]), step["state"] or "(no state)"]
        for step in steps
    ]
    lines = format_table(["VERSION", "AT", "BY", "STATE"], rows, elastic="BY")
    cli.show({"id": id_, "steps": steps}, lines)


@procedure_command.command("draw")
@_id
@option(
    "--as", "The format of the diagram.", name="form", type=click.Choice(list(_DRAWINGS)), default="mermaid"
)
@shared
def draw(cli: CliContext, id_: str, form: str) -> None:
    """Print a procedure as a diagram."""
    procedure = _load(cli, id_)
    drawing = _DRAWINGS[form](parse(procedure["definition"]))
    answer = {"id": procedure["id"], "form": form, "drawing": drawing}
    cli.show(answer, [drawing.removesuffix("\n")])


def _load(cli: CliContext, id_: str) -> Answer:
    id_ = resolve_memory_id(cli, id_)
    procedure = cli.memory().procedure(id_)
    return {"id": id_, "version": procedure.version, "definition": procedure.content}


def _parse_facts(facts: tuple[str, ...]) -> Mapping[str, bool]:
    values = {}
    for text in facts:
        fact, _, truth = text.partition("=")
        if truth not in _TRUTHS:
            raise InvalidRequest("a fact must be NAME=true or NAME=false", field="fact")
        values[fact] = _TRUTHS[truth]
    return values


def _render_procedure(answer: Answer) -> Iterator[str]:
    definition = parse(answer["definition"])
    yield f"{definition.name}: {definition.current} (version {answer['version']})"
    yield f"states: {', '.join(definition.states)}; initial: {definition.initial}"
    rows = [[way.trigger, way.source, way.dest or "(stays)", way.guard] for way in definition.transitions]
    yield from format_table(["TRIGGER", "FROM", "TO", "WHEN"], rows)
