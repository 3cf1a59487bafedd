"""Commands that clean memory up: `recover` from a bad source, and `scan` for secrets."""

from collections import Counter
from collections.abc import Iterator

import click
from msgspec import to_builtins

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.inputs import PAST, option, parse_past
from memorywire.cli.problems import REFUSED
from memorywire.cli.terminal import clean, format_table
from memorywire.model.text import counted


@click.command("recover")
@option("--source PATTERN", "The source; `*` is any characters.", required=True)
@option("--since WHEN", f"Since this time: {PAST}.", type=parse_past, required=True)
@option("--dry-run", "Show what would change, and change nothing.")
@shared
def recover_command(cli: CliContext, source: str, since: int, dry_run: bool) -> None:
    """Remove the effects of a bad source.

    Forgets memories of the source and everything derived from, merged from or replaced by them. A memory with
    an earlier clean version goes back to it, memories that the source replaced return, and remaining memories
    that look like instructions to the model are archived. All of it is one change that can be undone. Exits
    with 3 if nothing was found. Reads the newest 1,000,000 changes; `older_changes` says if there are more.
    """
    recovery = cli.memory().recover(source, since=since, dry_run=dry_run)
    fields = to_builtins(recovery)
    fields["steps"] = [{name: value for name, value in step.items() if value} for step in fields["steps"]]
    answer = {name: value for name, value in fields.items() if value not in (None, ())}
    cli.show(answer, _render_recovery)
    if not recovery.steps:
        raise click.exceptions.Exit(REFUSED)


def _render_recovery(answer: Answer) -> Iterator[str]:
    steps = answer["steps"]
    if not steps:
        yield "nothing from this source was found"
        return
    counts = Counter(step["deed"].replace("_", " ") for step in steps)
    would = "would be: " if answer["dry_run"] else ""
    yield would + ", ".join(f"{count} {action}" for action, count in counts.items())
    rows = []
    for step in steps:
        via = step.get("via", ", ".join(step.get("signs", ())))
        rows.append([step["deed"].replace("_", " "), step["id"], step["cause"], via])
    yield from format_table(["ACTION", "MEMORY", "BECAUSE", "OF"], rows)


_FINDINGS = 1


@click.command("scan")
@option("--fix", "Propose a version without the secret for each finding.")
@option("--yes", "With --fix: write it instead of proposing it.")
@shared
def scan_command(cli: CliContext, fix: bool, yes: bool) -> None:
    """Find secrets and instructions in stored memories.

    Checks every memory of the agent as a new one would be checked. Prints the kind and the place of each
    finding, never the value. Exits with 1 if there are findings. The history of a fixed memory still has the
    secret: erase it with `forget --hard`, and replace the secret where it is used.
    """
    if yes and not fix:
        raise click.UsageError("--yes needs --fix")
    memory = cli.memory()
    findings = memory.scan()
    ids = list(dict.fromkeys(one.id for one in findings.secrets))
    results = memory.clear(ids, hold=not yes) if fix else ()
    answer = to_builtins(findings)
    if fix:
        by_id = {
            one.id: {name: value for name, value in to_builtins(one).items() if value} for one in results
        }
        # A memory without a result has the secret in its id, which is masked.
        problem = {"detail": "its id holds the secret", "fix": "erase it with: memorywire forget --hard"}
        answer["fixed"] = [by_id.get(id, {"id": id, "problem": problem}) for id in ids]
    cli.show(answer, _render_scan)
    if findings.secrets or findings.instructions:
        raise click.exceptions.Exit(_FINDINGS)


def _render_scan(answer: Answer) -> Iterator[str]:
    yield f"read {counted(answer['memories'], 'memory')}"
    for kind in ("secrets", "instructions"):
        findings = answer[kind]
        counts = Counter(one["what"] for one in findings)
        summary = ", ".join(f"{what} {count}" for what, count in sorted(counts.items()))
        yield f"{kind}: {summary or 'none'}"
        if findings:
            rows = [[one["what"], one["place"], one["id"]] for one in findings]
            yield from format_table(["KIND", "PLACE", "MEMORY"], rows, elastic="PLACE")
    for one in answer.get("fixed", ()):
        if "problem" in one:
            outcome = f"not fixed: {clean(one['problem']['detail'])}"
        elif "proposal_id" in one:
            outcome = f"waits as proposal {one['proposal_id']}"
        else:
            outcome = f"fixed by change {one['change_id']}"
        yield f"  {clean(one['id'])}  {outcome}"
