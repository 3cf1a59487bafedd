"""`memorywire migrate`: from one store to another, with everything that can come along."""

import shlex
from collections.abc import Iterator
from functools import partial

import click
from msgspec.structs import replace

from memorywire.cli.app import file_of, open_app, require_store
from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.import_ import on_conflict_option
from memorywire.cli.ledger_file import left_out, other_tenants
from memorywire.cli.problems import REFUSED, problem_lines
from memorywire.cli.terminal import Progress, without_secrets
from memorywire.model.errors import InvalidRequest
from memorywire.model.text import counted


@click.command("migrate")
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@on_conflict_option
@click.option("--dry-run", is_flag=True, help="Say what would be lost; write nothing.")
@shared
def migrate_command(cli: CliContext, source: str, target: str, on_conflict: str, dry_run: bool) -> None:
    """Bring the memories of the store SRC to the store DST.

    Of every agent and user; --agent and --user narrow it to one agent, to one user, or to one user of one
    agent.

    Both may go on being used. What is there already is not written twice: started again, it brings what
    was added since, or finishes what was cut off. At the end both sides are compared.
    """
    import asyncio

    require_store(source)
    if source == target or (file_of(source) is not None and file_of(source) == file_of(target)):
        raise InvalidRequest("SRC and DST are the same store", field="target", fix="name two stores")
    others = other_tenants(cli.under(replace(cli.settings, stores=(source,))))
    answer = {
        **asyncio.run(_migrate(cli, source, target, on_conflict, dry_run)),
        "other_tenants": others,
    }
    cli.show(answer, partial(_render_migration, target=target, tenant=cli.named))
    if answer["problems"] or not answer.get("verified", {"ok": True})["ok"]:
        raise click.exceptions.Exit(REFUSED)


async def _migrate(cli: CliContext, source: str, target: str, on_conflict: str, dry_run: bool) -> Answer:
    from memorywire.migrate.conflicts import OnConflict
    from memorywire.migrate.move import Move, move
    from memorywire.stores.registry import open_store

    narrowed = cli.reach()
    agents = tuple(filter(None, [narrowed.get("agent_id")]))
    async with open_app(replace(cli.settings, stores=(target,))) as container:
        origin = await open_store(source, space=container.context.embedder.space)
        try:
            asked = Move(
                source=origin,
                tenant=cli.tenant,
                name="\n".join((source, target, *narrowed.values())),
                agents=agents,
                user=narrowed.get("user_id"),
                on_conflict=OnConflict(on_conflict),
                dry_run=dry_run,
            )
            with Progress("moving", None) as progress:
                return await move(
                    asked, container.context, lambda done: progress.reached(done, counted(done, "change"))
                )
        finally:
            await origin.close()


def _render_migration(answer: Answer, target: str, tenant: str | None = None) -> Iterator[str]:
    for loss in answer["losses"]:
        yield f"lost: {loss['field']} of {loss['count']} ({loss['why']})"
    would = "would move" if answer["dry_run"] else "moved"
    yield f"{would} {counted(answer['memories'], 'memory')} by {counted(answer['changes'], 'change')}"
    yield from left_out(answer["other_tenants"])
    for name in ("already", "conflicts", "held", "ended", "refused", "redacted"):
        if answer[name]:
            yield f"  {name}: {answer[name]}"
    for problem in answer["problems"]:
        yield from problem_lines(problem, as_json=False)
    if "verified" in answer:
        yield from _render_comparison(answer["verified"])
        words = ["memorywire", "import", "--undo", answer["batch"], "--store", without_secrets(target)]
        words += [] if tenant is None else ["--tenant", tenant]
        yield f"  take it back with: {shlex.join(words)}"


def _render_comparison(found: Answer) -> Iterator[str]:
    if found["ok"]:
        yield "both sides have the same memories"
    else:
        yield f"{found['missing']} missing, {found['differing']} differ: {', '.join(found['named'])}"
    yield f"  {found['agreed']} of {found['asked']} sampled memories are found on both sides alike"
