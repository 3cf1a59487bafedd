"""`memorywire dream`: consolidates memory by changes that can be inspected and undone.

Command line options override the table `[dream]` of the settings file.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
from msgspec.structs import replace

from memorywire.cli.app import run_in_app
from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.inputs import EXISTING_FILE, add_options, option, parse_json_lines
from memorywire.cli.terminal import clean, format_table, format_time
from memorywire.model.consolidation import WINDOW_MAX
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import PERSON, Json, MemoryType, Scope
from memorywire.model.text import counted

if TYPE_CHECKING:
    from memorywire.app import Container
    from memorywire.model.consolidation import ConsolidationSettings, Probe
    from memorywire.pipeline.context import Context


_NUMBER = re.compile(r"[0-9]{1,9}")


def _parse_by_kind(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[MemoryType, int]:
    """Parse options such as `episodic=90`."""
    pairs = [text.partition("=") for text in values]
    if not all(kind in set(MemoryType) and _NUMBER.fullmatch(number) for kind, _, number in pairs):
        raise click.BadParameter(f"write KIND=N with one of the kinds {', '.join(MemoryType)}")
    return {MemoryType(kind): int(number) for kind, _, number in pairs}


run_options = add_options(
    option(
        "--keep KIND=DAYS",
        "Archive unused memories of a type after so many days; 0: never; repeatable.",
        multiple=True,
        callback=_parse_by_kind,
    ),
    option(
        "--most KIND=N",
        "The most memories of a type for each user; 0: no limit; repeatable.",
        multiple=True,
        callback=_parse_by_kind,
    ),
    option("--pin TAG", "Keep memories with this tag; repeatable.", name="pins", multiple=True),
    option("--max-changes N", "Change at most N memories.", type=click.IntRange(1)),
    option("--max-ratio SHARE", "Change at most this share.", type=click.FloatRange(0, 1)),
    option("--max-seconds N", "Start no step after that.", type=click.FloatRange(0)),
    option("--model URL|off", "The model that writes summaries and procedures."),
    option("--max-tokens N", "The most tokens of the model.", type=click.IntRange(0)),
    option("--price P", "The price of a million tokens.", type=click.FloatRange(0)),
    option("--max-cost P", "The most it may cost.", type=click.FloatRange(0)),
)


def override_settings(settings: "ConsolidationSettings", values: dict[str, Any]) -> "ConsolidationSettings":
    """Return the settings with the command line options applied."""
    from memorywire.app.settings import by_kind

    def select(**names: str) -> dict[str, Any]:
        return {name: values[option] for name, option in names.items() if values[option] is not None}

    retention = settings.retention
    return replace(
        settings,
        retention=replace(
            retention,
            days=by_kind(retention.days, values["keep"]),
            most=by_kind(retention.most, values["most"]),
            pins=retention.pins | set(values["pins"]),
        ),
        limits=replace(
            settings.limits, **select(changes="max_changes", ratio="max_ratio", seconds="max_seconds")
        ),
        spending=replace(settings.spending, **select(tokens="max_tokens", price="price", cost="max_cost")),
        model=values["model"] or settings.model,
    )


@click.command("rules")
@shared
def rules(cli: CliContext) -> None:
    """Show the rules for the next session: know, do, never do."""
    from memorywire.wire.codec import encode
    from memorywire_consolidate.session import session_rules

    async def act(scope: Scope, context: "Context") -> Answer:
        answer: Answer = encode(await session_rules(scope, context))
        return answer

    answer = at_memory(cli, act)
    lines = []
    for name, memories in answer.items():
        lines.append(f"{name}: {len(memories) or 'nothing'}")
        lines += [f"  {memory['id']}  {clean(str(memory['content']))}" for memory in memories]
    cli.show(answer, lines)


def dream_session(cli: CliContext, log: Path) -> None:
    """Read a session log; the extractor of the settings finds its facts."""
    from memorywire_consolidate.session import read_session

    content = log.read_bytes()

    async def act(scope: Scope, container: "Container") -> Answer:
        context = await container.as_caller(PERSON).serving(scope)
        result = await read_session(content, log.stem, scope, context, container.reader.extractor)
        return result.document()

    answer = _run_in_app(cli, act)
    counts = f"remembered {len(answer['kept'])}, proposed {len(answer['proposed'])}"
    problem = [f"  the extractor failed: {answer['problem']}"] if "problem" in answer else []
    cli.show(answer, [f"{counts}, already known {answer['known']}", *problem])


def dream_watch(cli: CliContext, every: float) -> None:
    """Look through short-term memory until interrupted."""
    from memorywire_consolidate.background import BackgroundWork

    async def act(scope: Scope, container: "Container") -> Answer:
        await BackgroundWork(container, cli.settings.consolidation).promote_repeatedly(every)
        return None

    click.echo(f"promoting every {every:g} seconds; stop with Ctrl-C")
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


_run = click.argument("run", metavar="RUN")


@click.group("dream", invoke_without_command=True)
@option("--night", "Run every pass once; the default.")
@option(
    "--session LOG",
    "Read rules and facts from a session log: JSON lines with role and content.",
    name="log",
    type=EXISTING_FILE,
)
@option("--watch", "Look through short-term memory again and again, until interrupted.")
@option("--every SECONDS", "How often --watch runs.", type=click.FloatRange(min=0.1), default=60.0)
@option("--dry-run", "Show what would be done and change nothing.")
@run_options
@option(
    "--probes FILE",
    'Lines of {"query": ..., "ids": [...]} whose recall must not fall; default: the latest recalls.',
    type=click.File("rb"),
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
    from memorywire.app.consolidators import find_consolidator

    questions = None if probes is None else [_parse_probe(*line) for line in parse_json_lines(probes)]
    settings = override_settings(cli.settings.consolidation, values)
    consolidator = find_consolidator(settings.consolidator)

    async def act(scope: Scope, context: "Context") -> Answer:
        result = await consolidator.dream(scope, context, settings, probes=questions, dry_run=dry_run)
        return result.document()

    cli.show(at_memory(cli, act), lambda answer: _render_run(answer, cli))


@dream_command.command("promote")
@option(
    "--window N",
    "The newest N memories of each user are short-term; 0: those with the tag.",
    type=click.IntRange(0, WINDOW_MAX),
)
@option("--dry-run", "Show what would be done and change nothing.")
@shared
def promote_(cli: CliContext, window: int | None, dry_run: bool) -> None:
    """Look through short-term memory once.

    What is recent, mentioned often and sure becomes a semantic memory; what is cold is archived.
    """
    from memorywire.app.consolidators import promote
    from memorywire.wire.codec import encode

    async def act(scope: Scope, container: "Container") -> Answer:
        usual = replace(container, consolidation=cli.settings.consolidation)
        usual = replace(usual, context=container.as_caller(PERSON))
        answer: Answer = encode(await promote(scope, usual, window=window, dry_run=dry_run))
        return answer

    cli.show(_run_in_app(cli, act), _render_promotion)


def _render_promotion(answer: Answer) -> Iterator[str]:
    names = ("promoted", "archived", "staged", "refused")
    counts = ", ".join(f"{name} {len(answer[name])}" for name in names)
    yield f"{counted(answer['memories'], 'short-term memory', 'short-term memories')}: {counts}"
    yield from (f"  {one['id']} is now {one.get('into', 'a semantic memory')}" for one in answer["promoted"])
    yield from (f"  {id} archived" for id in answer["archived"])


@dream_command.command("runs")
@shared
def runs_(cli: CliContext) -> None:
    """List the runs, newest first."""
    from memorywire_consolidate.runs import list_runs

    async def act(scope: Scope, context: "Context") -> Answer:
        return {"runs": [run.document() for run in await list_runs(scope, context)]}

    answer = at_memory(cli, act)
    rows = []
    for run in answer["runs"]:
        reason = f"undone by {run['undone_by']}" if "undone_by" in run else run["reason"]
        rows.append([format_time(run["at"]), run["run"], reason])
    cli.show(answer, format_table(["AT", "RUN", "WHAT"], rows, empty="no runs yet"))


@dream_command.command("show")
@_run
@shared
def show(cli: CliContext, run: str) -> None:
    """Show the steps of a run, with reasons."""
    from memorywire.app.consolidators import find_consolidator

    consolidator = find_consolidator(cli.settings.consolidation.consolidator)

    async def act(scope: Scope, context: "Context") -> Answer:
        return await consolidator.load_run(scope, run, context)

    cli.show(at_memory(cli, act), _render_whole_run)


@dream_command.command("undo")
@_run
@shared
def undo(cli: CliContext, run: str) -> None:
    """Undo a whole run."""
    from memorywire.cli.changes import render_undo
    from memorywire.wire.codec import encode
    from memorywire_consolidate.runs import undo_run

    async def act(scope: Scope, context: "Context") -> Answer:
        answer: Answer = encode(await undo_run(scope, run, context))
        return answer

    cli.show(at_memory(cli, act), render_undo)


dream_command.add_command(rules)


def _parse_probe(number: int, document: Json) -> "Probe":
    from memorywire.model.consolidation import Probe

    match document:
        case {"query": str(query), "ids": list(ids), **rest} if not rest:
            if all(isinstance(id, str) for id in ids):
                return Probe(query, frozenset(ids))
    fix = 'write lines such as {"query": "Where does Ana live?", "ids": ["m1"]}'
    raise InvalidRequest(f"line {number} is not a probe", field="probes", fix=fix)


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
    """Yield the model's usage, or why no model was asked."""
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
    return format_table(["PASS", "MEMORY", "IN FAVOUR OF", "WHY"], rows)


def _render_whole_run(answer: Answer) -> Iterator[str]:
    yield f"{format_time(answer['at'])}  {answer['reason']}"
    yield from _step_table(answer["steps"])
    for sign, name in (("-", "ended"), ("+", "began")):
        yield from (
            f"{sign} {one['id']} v{one['version']}: {clean(str(one['content']))}" for one in answer[name]
        )


EXAMPLES = {
    "dream": ("memorywire dream --dry-run", "memorywire dream --session log.jsonl"),
    "dream promote": ("memorywire dream promote --dry-run",),
    "dream runs": ("memorywire dream runs",),
    "dream show": ("memorywire dream show 01a1e811-37c3",),
    "dream undo": ("memorywire dream undo 01a1e811-37c3",),
    "dream rules": ("memorywire dream rules",),
}
