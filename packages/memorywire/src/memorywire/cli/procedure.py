"""`memorywire procedure`: a procedural memory as the state machine it is."""

from collections.abc import Iterator, Mapping

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.terminal import moment, table, terminal_width
from memorywire.model.errors import InvalidRequest
from memorywire.procedures.draw import mermaid, svg
from memorywire.procedures.parse import parse

_DRAWINGS = {"mermaid": mermaid, "svg": svg}
_TRUTHS = {"true": True, "false": False}

_id = click.argument("id_", metavar="ID")
_facts = click.option(
    "--fact", "facts", multiple=True, metavar="NAME=true|false", help="Whether a fact holds; repeatable."
)


@click.group("procedure")
def procedure_command() -> None:
    """Show, move and draw the procedure that memory ID holds."""


@procedure_command.command("show")
@_id
@shared
def show(cli: CliContext, id_: str) -> None:
    """Show the states and the transitions of a procedure, and where it stands."""
    cli.show(_kept(cli, id_), _page)


@procedure_command.command("trigger")
@_id
@click.argument("trigger")
@_facts
@shared
def trigger(cli: CliContext, id_: str, trigger: str, facts: tuple[str, ...]) -> None:
    """Take the step TRIGGER and keep it as the memory's next version."""
    with cli.memory() as memory:
        procedure = memory.procedure(id_)
        before = procedure.state
        procedure.trigger(trigger, **_known(facts))
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
    cli.show({name: value for name, value in answer.items() if value is not None}, _moved)


@procedure_command.command("allowed")
@_id
@_facts
@shared
def allowed(cli: CliContext, id_: str, facts: tuple[str, ...]) -> None:
    """List the triggers that would succeed now."""
    with cli.memory() as memory:
        procedure = memory.procedure(id_)
        free = procedure.allowed(**_known(facts))
    answer = {"id": id_, "current": procedure.state, "allowed": free}
    cli.show(answer, lambda said: said["allowed"] or [f"nothing, in state {said['current']}"])


@procedure_command.command("history")
@_id
@shared
def history(cli: CliContext, id_: str) -> None:
    """Show the state of every version and the triggers that led to it."""
    with cli.memory() as memory:
        steps = memory.procedure(id_).history()
    said = [
        {"version": step.version, "at": step.at, "state": step.state, "triggers": list(step.triggers)}
        for step in steps
    ]
    cli.show({"id": id_, "steps": said}, _steps)


@procedure_command.command("draw")
@_id
@click.option(
    "--as",
    "form",
    type=click.Choice(list(_DRAWINGS)),
    default="mermaid",
    show_default=True,
    help="What to draw with.",
)
@shared
def draw(cli: CliContext, id_: str, form: str) -> None:
    """Print a procedure as a diagram."""
    drawn = _DRAWINGS[form](parse(_kept(cli, id_)["definition"]))
    cli.show({"id": id_, "form": form, "drawing": drawn}, lambda said: [said["drawing"].removesuffix("\n")])


def _kept(cli: CliContext, id_: str) -> Answer:
    with cli.memory() as memory:
        procedure = memory.procedure(id_)
    return {"id": id_, "version": procedure.version, "definition": procedure.content}


def _known(facts: tuple[str, ...]) -> Mapping[str, bool]:
    known = {}
    for said in facts:
        fact, _, truth = said.partition("=")
        if truth not in _TRUTHS:
            raise InvalidRequest("a fact is NAME=true or NAME=false", field="fact")
        known[fact] = _TRUTHS[truth]
    return known


def _page(answer: Answer) -> Iterator[str]:
    definition = parse(answer["definition"])
    yield f"{definition.name}: {definition.current} (version {answer['version']})"
    yield f"states: {', '.join(definition.states)}; initial: {definition.initial}"
    rows = [[way.trigger, way.source, way.dest or "(stays)", way.guard] for way in definition.transitions]
    yield from table(["TRIGGER", "FROM", "TO", "WHEN"], rows, elastic="WHEN", width=terminal_width())


def _moved(answer: Answer) -> Iterator[str]:
    waits = f", once proposal {answer['proposal_id']} is approved" if "proposal_id" in answer else ""
    yield f"{answer['from']} -> {answer['current']}{waits}"
    yield f"  version {answer['version']}, {answer['status']}"


def _steps(answer: Answer) -> list[str]:
    rows = [
        [
            str(step["version"]),
            moment(step["at"]),
            ", ".join(step["triggers"]),
            step["state"] or "(no state)",
        ]
        for step in answer["steps"]
    ]
    return table(["VERSION", "AT", "BY", "STATE"], rows, elastic="BY", width=terminal_width())
