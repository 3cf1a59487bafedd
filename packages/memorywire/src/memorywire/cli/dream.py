"""`memorywire dream`: consolidate memory by changes that can be read and undone.

Typed options come before the table `[dream]` of the settings file.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import click
from msgspec.structs import replace

from memorywire.cli.app import run_in_app
from memorywire.cli.context import PERSON, Answer, CliContext, shared
from memorywire.cli.inputs import parse_json_lines
from memorywire.cli.terminal import clean, format_table, format_time
from memorywire.model.consolidation import OFF
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json, MemoryType, Scope
from memorywire.model.text import counted

if TYPE_CHECKING:
    from memorywire.app import Container
    from memorywire.consolidate.probes import Probe
    from memorywire.model.consolidation import ConsolidationSettings, Limits, Retention, Spending
    from memorywire.pipeline.context import Context


F = TypeVar("F", bound=Callable[..., Any])

_KINDS = ", ".join(MemoryType)
_NUMBER = re.compile(r"[0-9]{1,9}")
_SECONDS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")
_SHORTEST = 0.1


def _parse_by_kind(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> dict[MemoryType, int]:
    """Parse options such as `episodic=90`."""
    pairs = [text.partition("=") for text in values]
    if not all(kind in set(MemoryType) and _NUMBER.fullmatch(number) for kind, _, number in pairs):
        raise click.BadParameter(f"write KIND=N with one of the kinds {_KINDS}")
    return {MemoryType(kind): int(number) for kind, _, number in pairs}


def _parse_seconds(context: click.Context, option: click.Parameter, value: str | None) -> float | str | None:
    if value is None or value == OFF:
        return value
    if not _SECONDS.fullmatch(value) or float(value) < _SHORTEST:
        raise click.BadParameter(f"write a number of seconds, at least {_SHORTEST}, or off")
    return float(value)


def _parse_time_of_day(
    context: click.Context, option: click.Parameter, value: str | None
) -> int | str | None:
    from memorywire.app.settings import moment_of_day

    if value is None or value == OFF:
        return value
    minutes = moment_of_day(value)
    if minutes is None:
        raise click.BadParameter("write a time such as 03:00, in UTC, or off")
    return minutes


_RUN_OPTIONS = (
    click.option(
        "--keep",
        multiple=True,
        callback=_parse_by_kind,
        metavar="KIND=DAYS",
        help="Archive unused memories of a type after so many days; 0: never; repeatable.",
    ),
    click.option(
        "--most",
        multiple=True,
        callback=_parse_by_kind,
        metavar="KIND=N",
        help="The most memories of a type for each user; 0: no limit; repeatable.",
    ),
    click.option(
        "--pin", "pins", multiple=True, metavar="TAG", help="Keep memories with this tag; repeatable."
    ),
    click.option("--max-changes", type=click.IntRange(1), metavar="N", help="Change at most N memories."),
    click.option(
        "--max-ratio", type=click.FloatRange(0, 1), metavar="SHARE", help="Change at most this share."
    ),
    click.option("--max-seconds", type=click.FloatRange(0), metavar="N", help="Start no step after that."),
    click.option("--model", metavar="URL|off", help="The model that writes summaries and procedures."),
    click.option("--max-tokens", type=click.IntRange(0), metavar="N", help="The most tokens of the model."),
    click.option("--price", type=click.FloatRange(0), metavar="P", help="The price of a million tokens."),
    click.option("--max-cost", type=click.FloatRange(0), metavar="P", help="The most it may cost."),
)
_BACKGROUND_OPTIONS = (
    click.option(
        "--promote",
        callback=_parse_seconds,
        metavar="SECONDS|off",
        help="How often session notes are promoted; default: the settings.",
    ),
    click.option(
        "--night",
        callback=_parse_time_of_day,
        metavar="HH:MM|off",
        help="When the daily consolidation runs, in UTC; default: the settings.",
    ),
)


def run_options(command: F) -> F:
    """Add the options of a run: retention, limits and budget."""
    return _add_options(_RUN_OPTIONS, command)


def background_options(command: F) -> F:
    """Add the options of background work in a server."""
    return _add_options(_BACKGROUND_OPTIONS, command)


def _add_options(options: Sequence[Callable[[F], F]], command: F) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def override_background(settings: "ConsolidationSettings", **values: Any) -> "ConsolidationSettings":
    """Return the settings of background work; typed options come first."""
    overrides: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    off: dict[str, Any] = dict.fromkeys(name for name, value in overrides.items() if value == OFF)
    return replace(settings, **(overrides | off))


def override_settings(settings: "ConsolidationSettings", values: dict[str, Any]) -> "ConsolidationSettings":
    """Return the settings of a run; typed options come first."""
    return replace(
        settings,
        retention=_override_retention(settings.retention, values),
        limits=_override_limits(settings.limits, values),
        spending=_override_spending(settings.spending, values),
        model=values["model"] or settings.model,
    )


def _override_retention(default: "Retention", values: dict[str, Any]) -> "Retention":
    from memorywire.app.settings import by_kind

    return replace(
        default,
        days=by_kind(default.days, values["keep"]),
        most=by_kind(default.most, values["most"]),
        pins=default.pins | set(values["pins"]),
    )


def _override_limits(default: "Limits", values: dict[str, Any]) -> "Limits":
    return replace(
        default, **_select(values, changes="max_changes", ratio="max_ratio", seconds="max_seconds")
    )


def _override_spending(default: "Spending", values: dict[str, Any]) -> "Spending":
    return replace(default, **_select(values, tokens="max_tokens", price="price", cost="max_cost"))


def _select(values: dict[str, Any], **names: str) -> dict[str, Any]:
    return {name: values[option] for name, option in names.items() if values[option] is not None}


@click.command("rules")
@shared
def rules(cli: CliContext) -> None:
    """Show the rules for the next session: know, do, never do."""
    from memorywire.consolidate.session import session_rules

    async def act(scope: Scope, context: "Context") -> Answer:
        return (await session_rules(scope, context)).document()

    cli.show(at_memory(cli, act), _render_rules)


def dream_session(cli: CliContext, log: Path) -> None:
    """Read a session log; the extractor of the settings finds its facts."""
    from memorywire.consolidate.session import read_session

    content = log.read_bytes()

    async def act(scope: Scope, container: "Container") -> Answer:
        context = await container.as_caller(PERSON).serving(scope)
        result = await read_session(content, log.stem, scope, context, container.reader.extractor)
        return result.document()

    cli.show(_run_in_app(cli, act), _render_session)


def dream_watch(cli: CliContext, every: float) -> None:
    """Promote session notes until interrupted."""
    from memorywire.consolidate.background import BackgroundWork

    async def act(scope: Scope, container: "Container") -> Answer:
        await BackgroundWork(container, cli.settings.consolidation).promote_repeatedly(every)
        return None

    click.echo(f"promoting notes every {every:g} seconds; stop with Ctrl-C")
    _run_in_app(cli, act)


def at_memory(cli: CliContext, act: "Callable[[Scope, Context], Awaitable[Answer]]") -> Answer:
    """Run `act` on the memory of the settings as the local person, and return its answer."""

    async def work(scope: Scope, container: "Container") -> Answer:
        return await act(scope, await container.as_caller(PERSON).serving(scope))

    return _run_in_app(cli, work)


def _run_in_app(cli: CliContext, act: "Callable[[Scope, Container], Awaitable[Answer]]") -> Answer:
    settings = cli.local_settings
    scope = Scope(tenant=cli.tenant, agent=settings.agent, user=settings.user)
    return run_in_app(settings, lambda container: act(scope, container))


def _render_session(answer: Answer) -> Iterator[str]:
    counts = f"remembered {len(answer['kept'])}, proposed {len(answer['proposed'])}"
    yield f"{counts}, already known {answer['known']}"
    if "problem" in answer:
        yield f"  the extractor failed: {answer['problem']}"


def _render_rules(answer: Answer) -> Iterator[str]:
    for name, memories in answer.items():
        yield f"{name}: {len(memories) or 'nothing'}"
        yield from (f"  {memory['id']}  {clean(str(memory['content']))}" for memory in memories)


_run = click.argument("run", metavar="RUN")


@click.group("dream", invoke_without_command=True)
@click.option("--night", is_flag=True, help="Run every pass once; the default.")
@click.option(
    "--session",
    "log",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="LOG",
    help="Read rules and facts from a session log: JSON lines with role and content.",
)
@click.option("--watch", is_flag=True, help="Promote session notes to long-term memory, until interrupted.")
@click.option(
    "--every",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How often --watch runs.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be done and change nothing.")
@run_options
@click.option(
    "--probes",
    type=click.File("rb"),
    metavar="FILE",
    help='Lines of {"query": ..., "ids": [...]} whose recall must not fall; default: the latest recalls.',
)
@shared
def dream_command(
    cli: CliContext, night: bool, log: Path | None, watch: bool, every: float, dry_run: bool, **rest: Any
) -> None:
    """Merge duplicates, resolve conflicts, archive old memories.

    Ends memories that a later one contradicts, and archives those that were not used for long. Sure steps are
    one change, a run, which `dream undo RUN` takes back; the others are proposed. Nothing is deleted. A run
    that would make recall worse is discarded.
    """
    subcommand = click.get_current_context().invoked_subcommand
    if subcommand is not None:
        if cli.options:
            raise click.UsageError(f"put {cli.options[0]} after {subcommand}")
        return
    if watch:
        cli.refuse_scope("--watch works for all agents and tenants")
        dream_watch(cli, every)
        return
    if log is not None and dry_run:
        raise click.UsageError("--dry-run has no effect on --session")
    if log is not None:
        dream_session(cli, log)
    if log is None or night:
        _consolidate(cli, dry_run, **rest)


def _consolidate(cli: CliContext, dry_run: bool, probes: BinaryIO | None, **values: Any) -> None:
    from memorywire.consolidate.background import add_recent_probes
    from memorywire.consolidate.run import build_run, dream

    questions = tuple(_parse_probe(number, document) for number, document in parse_json_lines(probes or ()))
    run = build_run(override_settings(cli.settings.consolidation, values))
    options = replace(run, dry_run=dry_run, probes=questions)

    async def act(scope: Scope, context: "Context") -> Answer:
        run_options = await add_recent_probes(options, scope, context) if probes is None else options
        return (await dream(scope, context, run_options)).document()

    cli.show(at_memory(cli, act), lambda answer: _render_run(answer, cli))


@dream_command.command("runs")
@shared
def runs_(cli: CliContext) -> None:
    """List the runs, newest first."""
    from memorywire.consolidate.runs import list_runs

    async def act(scope: Scope, context: "Context") -> Answer:
        return {"runs": [run.document() for run in await list_runs(scope, context)]}

    cli.show(at_memory(cli, act), _render_runs)


@dream_command.command("show")
@_run
@shared
def show(cli: CliContext, run: str) -> None:
    """Show the steps of a run, with reasons."""
    from memorywire.consolidate.runs import load_run

    async def act(scope: Scope, context: "Context") -> Answer:
        return await load_run(scope, run, context)

    cli.show(at_memory(cli, act), _render_whole_run)


@dream_command.command("undo")
@_run
@shared
def undo(cli: CliContext, run: str) -> None:
    """Undo a whole run."""
    from memorywire.cli.changes import render_undo
    from memorywire.consolidate.runs import undo_run
    from memorywire.wire.codec import encode

    async def act(scope: Scope, context: "Context") -> Answer:
        answer: Answer = encode(await undo_run(scope, run, context))
        return answer

    cli.show(at_memory(cli, act), render_undo)


dream_command.add_command(rules)


def _parse_probe(number: int, document: Json) -> "Probe":
    from memorywire.consolidate.probes import Probe

    match document:
        case {"query": str(query), "ids": list(ids), **rest} if not rest and all(
            isinstance(id, str) for id in ids
        ):
            return Probe(query, frozenset(ids))
    raise InvalidRequest(
        f"line {number} is not a probe",
        field="probes",
        fix='write lines such as {"query": "Where does Ana live?", "ids": ["m1"]}',
    )


_RESULTS = {
    "calm": "nothing to do",
    "rehearsed": "would be done",
    "committed": "done",
    "discarded": "discarded, because recall would be worse",
}


def _render_run(answer: Answer, cli: CliContext) -> Iterator[str]:
    counts = Counter(step["pass"] for step in answer["steps"])
    summary = ", ".join(f"{count} {name}" for name, count in counts.items())
    idle = answer["result"] == "rehearsed" and not answer["steps"]
    result = _RESULTS["calm" if idle else answer["result"]]
    yield f"{counted(answer['memories'], 'memory')}: {result}" + (f": {summary}" if summary else "")
    yield from _step_table(answer["steps"])
    for proposal in answer["proposed"]:
        yield f"  proposed {proposal['proposal_id']}: {', '.join(proposal['ids'])} {proposal['why']}"
    for refusal in answer["refused"]:
        yield f"  refused by rule {refusal['rule']}: {', '.join(refusal['ids'])} {refusal['why']}"
    if answer["left"]:
        yield f"{counted(answer['left'], 'more step is', 'more steps are')} left for the next run"
    if "probes" in answer:
        probes = answer["probes"]
        before, after = probes["recall_before"], probes["recall_after"]
        yield f"recall of {counted(probes['questions'], 'question')}: {before} before, {after} after"
    yield from _render_model(answer["model"])
    if "run" in answer:
        yield f"  undo with: {cli.suggest('dream', 'undo', answer['run'])}"


def _render_model(answer: Answer) -> Iterator[str]:
    """Yield what the model was asked, or why none was."""
    if answer["state"] == "off":
        yield f"summaries and procedures: off, {answer['why']}"
        return
    costs = f", {answer['cost']:.4f}" if "cost" in answer else ""
    spending = f"{answer['tokens']} tokens{costs}, {answer['left']} left"
    yield f"asked {answer['model']} {counted(answer['asked'], 'time')}: {spending}"
    for proposal in answer["proposed"]:
        origins = counted(len(proposal["derived_from"]), "memory")
        yield f"  proposed {proposal['proposal_id']}: a {proposal['pass']} of {origins}"
    if "problem" in answer:
        yield f"  {answer['problem']}"


def _step_table(steps: list[Answer]) -> list[str]:
    if not steps:
        return []
    rows = [[step["pass"], ", ".join(step["ids"]), step.get("kept", ""), step["why"]] for step in steps]
    return format_table(["PASS", "MEMORY", "IN FAVOUR OF", "WHY"], rows, elastic="WHY")


def _render_runs(answer: Answer) -> list[str]:
    if not answer["runs"]:
        return ["no runs yet"]
    rows = [
        [
            format_time(run["at"]),
            run["run"],
            f"undone by {run['undone_by']}" if "undone_by" in run else run["reason"],
        ]
        for run in answer["runs"]
    ]
    return format_table(["AT", "RUN", "WHAT"], rows, elastic="WHAT")


def _render_whole_run(answer: Answer) -> Iterator[str]:
    yield f"{format_time(answer['at'])}  {answer['reason']}"
    yield from _step_table(answer["steps"])
    for sign, name in (("-", "ended"), ("+", "began")):
        yield from (
            f"{sign} {one['id']} v{one['version']}: {clean(str(one['content']))}" for one in answer[name]
        )
