"""`memorywire dream`: put memory in order, by changes that can be read and taken back."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.dream_options import of_a_night, sleep_of
from memorywire.cli.dream_session import at_memory, dream_session, dream_watch, rules
from memorywire.cli.inputs import json_lines
from memorywire.cli.terminal import moment, safe, table, terminal_width
from memorywire.model.counting import counted
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json, Scope

if TYPE_CHECKING:
    from memorywire.consolidate.probes import Probe
    from memorywire.pipeline.context import Context

_run = click.argument("run", metavar="RUN")


@click.group("dream", invoke_without_command=True)
@click.option("--night", is_flag=True, help="Make every pass once; this is what happens without options too.")
@click.option(
    "--session",
    "log",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="LOG",
    help="Read a session's log, lines of JSON with role and content, for rules and facts.",
)
@click.option("--watch", is_flag=True, help="Take what sessions note over into long-term memory, for ever.")
@click.option(
    "--every",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How often --watch looks.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done and change nothing.")
@of_a_night
@click.option(
    "--probes",
    type=click.File("rb"),
    metavar="FILE",
    help='Lines of {"query": ..., "ids": [...]} that must be found as well after as before; '
    "default: the last questions that were asked.",
)
@shared
def command(
    cli: CliContext, night: bool, log: Path | None, watch: bool, every: float, dry_run: bool, **rest: Any
) -> None:
    """Merge duplicates, end what was contradicted later, archive what nobody used.

    What is sure is done as one change, a run, which `dream undo RUN` takes back; what is not is proposed.
    Nothing is deleted. A run that would make recall worse is discarded.
    """
    command_name = click.get_current_context().invoked_subcommand
    if command_name is not None:
        if cli.typed:
            raise click.UsageError(f"put {cli.typed[0]} behind {command_name}")
        return
    if watch:
        cli.refuse_scope("--watch serves every agent of every tenant")
        dream_watch(cli, every)
        return
    if log is not None and dry_run:
        raise click.UsageError("a log is read, or not; --dry-run rehearses a night")
    if log is not None:
        dream_session(cli, log)
    if log is None or night:
        _night(cli, dry_run, **rest)


def _night(cli: CliContext, dry_run: bool, probes: BinaryIO | None, **given: Any) -> None:
    from memorywire.consolidate.run import dream, night_of
    from memorywire.consolidate.tending import with_questions

    asked = tuple(_probe(number, document) for number, document in json_lines(probes or ()))
    night = replace(night_of(sleep_of(cli.settings.sleep, given)), dry_run=dry_run, probes=asked)

    async def act(scope: Scope, context: "Context") -> Answer:
        fit = await with_questions(night, scope, context) if probes is None else night
        return (await dream(scope, context, fit)).document()

    cli.show(at_memory(cli, act), lambda said: _sentences(said, cli))


@command.command("runs")
@shared
def runs_(cli: CliContext) -> None:
    """List the runs, newest first."""
    from memorywire.consolidate.runs import runs

    async def act(scope: Scope, context: "Context") -> Answer:
        return {"runs": [run.document() for run in await runs(scope, context)]}

    cli.show(at_memory(cli, act), _listed)


@command.command("show")
@_run
@shared
def show(cli: CliContext, run: str) -> None:
    """Show all that RUN did and why."""
    from memorywire.consolidate.runs import shown

    async def act(scope: Scope, context: "Context") -> Answer:
        return await shown(scope, run, context)

    cli.show(at_memory(cli, act), _whole)


@command.command("undo")
@_run
@shared
def undo(cli: CliContext, run: str) -> None:
    """Take RUN back, all of it."""
    from memorywire.cli.undo import sentences
    from memorywire.consolidate.runs import take_back
    from memorywire.wire.codec import encode

    async def act(scope: Scope, context: "Context") -> Answer:
        answer: Answer = encode(await take_back(scope, run, context))
        return answer

    cli.show(at_memory(cli, act), sentences)


command.add_command(rules)


def _probe(number: int, document: Json) -> "Probe":
    from memorywire.consolidate.probes import Probe

    match document:
        case {"query": str(query), "ids": list(ids), **rest} if not rest and all(
            isinstance(id, str) for id in ids
        ):
            return Probe(query, frozenset(ids))
    raise InvalidRequest(
        f"line {number} is no probe",
        field="probes",
        fix='write lines such as {"query": "Where does Ana live?", "ids": ["m1"]}',
    )


_RESULTS = {
    "calm": "nothing to do",
    "rehearsed": "would be done",
    "committed": "done",
    "discarded": "discarded, because recall would fall",
}


def _sentences(answer: Answer, cli: CliContext) -> Iterator[str]:
    counts = Counter(step["pass"] for step in answer["steps"])
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    idle = answer["result"] == "rehearsed" and not answer["steps"]
    result = _RESULTS["calm" if idle else answer["result"]]
    yield f"{counted(answer['memories'], 'memory')}: {result}" + (f": {told}" if told else "")
    yield from _steps(answer["steps"])
    for proposed in answer["proposed"]:
        yield f"  proposed {proposed['proposal_id']}: {', '.join(proposed['ids'])} {proposed['why']}"
    for refused in answer["refused"]:
        yield f"  left to rule {refused['rule']}: {', '.join(refused['ids'])} {refused['why']}"
    if answer["left"]:
        yield f"{counted(answer['left'], 'more step is', 'more steps are')} left for another run"
    if "probes" in answer:
        asked = answer["probes"]
        before, after = asked["recall_before"], asked["recall_after"]
        yield f"recall of {counted(asked['questions'], 'question')}: {before} before, {after} after"
    yield from _thought(answer["model"])
    if "run" in answer:
        yield f"  undo with: {cli.again('dream', 'undo', answer['run'])}"


def _thought(answer: Answer) -> Iterator[str]:
    """What a model made of memory, or that none was asked."""
    if answer["state"] == "off":
        yield f"summaries and procedures: off, {answer['why']}"
        return
    costs = f", {answer['cost']:.4f}" if "cost" in answer else ""
    spent = f"{answer['tokens']} tokens{costs}, {answer['left']} left"
    yield f"asked {answer['model']} {counted(answer['asked'], 'time')}: {spent}"
    for made in answer["proposed"]:
        origins = counted(len(made["derived_from"]), "memory")
        yield f"  proposed {made['proposal_id']}: a {made['pass']} of {origins}"
    if "problem" in answer:
        yield f"  {answer['problem']}"


def _steps(steps: list[Answer]) -> list[str]:
    if not steps:
        return []
    rows = [[step["pass"], ", ".join(step["ids"]), step.get("kept", ""), step["why"]] for step in steps]
    return table(["PASS", "MEMORY", "IN FAVOUR OF", "WHY"], rows, elastic="WHY", width=terminal_width())


def _listed(answer: Answer) -> list[str]:
    if not answer["runs"]:
        return ["no dream has changed anything yet"]
    rows = [
        [
            moment(run["at"]),
            run["run"],
            f"undone by {run['undone_by']}" if "undone_by" in run else run["reason"],
        ]
        for run in answer["runs"]
    ]
    return table(["AT", "RUN", "WHAT"], rows, elastic="WHAT", width=terminal_width())


def _whole(answer: Answer) -> Iterator[str]:
    yield f"{moment(answer['at'])}  {answer['reason']}"
    yield from _steps(answer["steps"])
    for sign, name in (("-", "ended"), ("+", "began")):
        yield from (
            f"{sign} {one['id']} v{one['version']}: {safe(str(one['content']))}" for one in answer[name]
        )
