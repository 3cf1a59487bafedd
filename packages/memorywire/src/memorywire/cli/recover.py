"""`memorywire recover`: take out what a source said, and all that was made of it."""

from collections import Counter
from collections.abc import Iterator, Sequence

import click
from msgspec import to_builtins

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.inputs import PAST, ago
from memorywire.cli.problems import REFUSED
from memorywire.cli.terminal import safe, table, terminal_width
from memorywire.model.text import counted


@click.command("recover")
@click.option("--source", required=True, metavar="PATTERN", help="Whose memories; `*` stands for anything.")
@click.option("--since", type=ago, required=True, metavar="WHEN", help=f"From this moment on: {PAST}.")
@click.option("--dry-run", is_flag=True, help="Report, and change nothing.")
@shared
def recover_command(cli: CliContext, source: str, since: int, dry_run: bool) -> None:
    """Take out what came from a source, and whatever was derived or merged from it or replaced it.

    What had a clean version before goes back to it; what the source had pushed aside returns; what
    remains and reads like an instruction to the model is archived. All of it is one change, and one
    undo takes it back. Exits with 3 when nothing was found. Of more than 1,000,000 changes since then the
    newest are looked at, and the answer says `older_changes`.
    """
    with cli.memory() as memory:
        found = memory.recover(source, since=since, dry_run=dry_run)
    told = to_builtins(found)
    told["steps"] = [{name: value for name, value in step.items() if value} for step in told["steps"]]
    answer = {name: value for name, value in told.items() if value not in (None, ())}
    cli.show(answer, _render_recovery)
    if not found.steps:
        raise click.exceptions.Exit(REFUSED)


def _render_recovery(answer: Answer) -> Iterator[str]:
    steps = answer["steps"]
    if not steps:
        yield "nothing came from there"
        return
    counts = Counter(step["deed"].replace("_", " ") for step in steps)
    would = "would be: " if answer["dry_run"] else ""
    yield would + ", ".join(f"{count} {deed}" for deed, count in counts.items())
    rows = [
        [
            step["deed"].replace("_", " "),
            step["id"],
            step["cause"],
            step.get("via", ", ".join(step.get("signs", ()))),
        ]
        for step in steps
    ]
    yield from table(["DEED", "MEMORY", "BECAUSE", "OF"], rows, elastic="OF", width=terminal_width())


_FINDINGS = 1


@click.command("scan")
@click.option("--fix", is_flag=True, help="Propose a version without secrets of each memory that holds one.")
@click.option("--yes", is_flag=True, help="With --fix: write it at once instead of proposing it.")
@shared
def scan_command(cli: CliContext, fix: bool, yes: bool) -> None:
    """Read every memory of the agent as a new one would be read.

    Names the kind and the place of what looks like a secret or like an instruction to the model, never
    the value. Exits with 1 when something was found. A fixed memory still says it in its history: what
    must leave the disk is erased with `forget --hard`, and the secret changed where it is used.
    """
    if yes and not fix:
        raise click.UsageError("--yes says how to --fix")
    with cli.memory() as memory:
        found = memory.scan()
        ids = list(dict.fromkeys(one.id for one in found.secrets))
        cleared = memory.clear(ids, hold=not yes) if fix else ()
    answer = to_builtins(found) | (
        {"fixed": _fix_results(ids, [to_builtins(one) for one in cleared])} if fix else {}
    )
    cli.show(answer, _render_scan)
    if found.secrets or found.instructions:
        raise click.exceptions.Exit(_FINDINGS)


def _fix_results(ids: Sequence[str], cleared: Sequence[Answer]) -> list[Answer]:
    """What became of each; what no id was found for has the secret in its id, which is shown without it."""
    by_id = {one["id"]: {name: value for name, value in one.items() if value} for one in cleared}
    lost = {"detail": "its id holds the secret", "fix": "erase it with: memorywire forget --hard"}
    return [by_id.get(id, {"id": id, "problem": lost}) for id in ids]


def _render_scan(answer: Answer) -> Iterator[str]:
    yield f"read {counted(answer['memories'], 'memory')}"
    for kind in ("secrets", "instructions"):
        found = answer[kind]
        counts = Counter(one["what"] for one in found)
        told = ", ".join(f"{what} {count}" for what, count in sorted(counts.items()))
        yield f"{kind}: {told or 'none'}"
        if found:
            rows = [[one["what"], one["place"], one["id"]] for one in found]
            yield from table(["KIND", "PLACE", "MEMORY"], rows, elastic="PLACE", width=terminal_width())
    for one in answer.get("fixed", ()):
        yield f"  {safe(one['id'])}  {_fix_outcome(one)}"


def _fix_outcome(fixed: Answer) -> str:
    if "problem" in fixed:
        return f"not fixed: {safe(fixed['problem']['detail'])}"
    if "proposal_id" in fixed:
        return f"waits as proposal {fixed['proposal_id']}"
    return f"fixed by change {fixed['change_id']}"
