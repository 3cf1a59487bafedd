"""`memorywire scan`: secrets and instructions in the memories that are kept already."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.terminal import safe, table, terminal_width
from memorywire.model.counting import counted

_FOUND = 1


@click.command("scan")
@click.option("--fix", is_flag=True, help="Propose a version without secrets of each memory that holds one.")
@click.option("--yes", is_flag=True, help="With --fix: write it at once instead of proposing it.")
@shared
def command(cli: CliContext, fix: bool, yes: bool) -> None:
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
    answer = asdict(found) | ({"fixed": _fixed(ids, [asdict(one) for one in cleared])} if fix else {})
    cli.show(answer, _sentences)
    if found.secrets or found.instructions:
        raise click.exceptions.Exit(_FOUND)


def _fixed(ids: Sequence[str], cleared: Sequence[Answer]) -> list[Answer]:
    """What became of each; what no id was found for has the secret in its id, which is shown without it."""
    by_id = {one["id"]: {name: value for name, value in one.items() if value} for one in cleared}
    lost = {"detail": "its id holds the secret", "fix": "erase it with: memorywire forget --hard"}
    return [by_id.get(id, {"id": id, "problem": lost}) for id in ids]


def _sentences(answer: Answer) -> Iterator[str]:
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
        yield f"  {safe(one['id'])}  {_became(one)}"


def _became(fixed: Answer) -> str:
    if "problem" in fixed:
        return f"not fixed: {safe(fixed['problem']['detail'])}"
    if "proposal_id" in fixed:
        return f"waits as proposal {fixed['proposal_id']}"
    return f"fixed by change {fixed['change_id']}"
