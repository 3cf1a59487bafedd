"""`memorywire migrate`: copy memories from one store to another."""

import shlex
from collections.abc import Iterator
from functools import partial

import click
from msgspec.structs import replace

from memorywire.cli.app import find_file, open_app, require_store
from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.import_ import on_conflict_option
from memorywire.cli.inputs import option
from memorywire.cli.ledger_file import other_tenants, tenants_note
from memorywire.cli.problems import REFUSED, problem_lines
from memorywire.cli.terminal import Progress, mask_secrets
from memorywire.model.errors import InvalidRequest
from memorywire.model.text import counted


@click.command("migrate")
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@on_conflict_option
@option("--dry-run", "Show what would be lost; write nothing.")
@shared
def migrate_command(cli: CliContext, source: str, target: str, on_conflict: str, dry_run: bool) -> None:
    """Copy memories from store SRC to store DST.

    Of all agents and users, unless --agent or --user selects one.

    Both stores may stay in use. Existing memories are not written twice: run it again to copy new ones, or to
    complete an interrupted migration. At the end both sides are compared.
    """
    import asyncio

    require_store(source)
    if source == target or (find_file(source) is not None and find_file(source) == find_file(target)):
        raise InvalidRequest("SRC and DST are the same store", field="target", fix="name two stores")
    with cli.with_settings(replace(cli.settings, stores=(source,))) as source_cli:
        others = other_tenants(source_cli)
    answer = {**asyncio.run(_migrate(cli, source, target, on_conflict, dry_run)), "other_tenants": others}
    cli.show(answer, partial(_render_migration, target=target, tenant=cli.tenant_option))
    if answer["problems"] or not answer.get("verified", {"ok": True})["ok"]:
        raise click.exceptions.Exit(REFUSED)


async def _migrate(cli: CliContext, source: str, target: str, on_conflict: str, dry_run: bool) -> Answer:
    from memorywire.migrate.conflicts import OnConflict
    from memorywire.migrate.move import Move, move
    from memorywire.stores.registry import open_store

    scope = cli.typed_scope()
    agents = tuple(filter(None, [scope.get("agent_id")]))
    async with open_app(replace(cli.settings, stores=(target,))) as container:
        origin = await open_store(source, space=container.context.embedder.space)
        try:
            request = Move(
                source=origin,
                tenant=cli.tenant,
                name="\n".join((source, target, *scope.values())),
                agents=agents,
                user=scope.get("user_id"),
                on_conflict=OnConflict(on_conflict),
                dry_run=dry_run,
            )
            with Progress("moving", None) as progress:
                return await move(
                    request, container.context, lambda done: progress.update(done, counted(done, "change"))
                )
        finally:
            await origin.close()


def _render_migration(answer: Answer, target: str, tenant: str | None = None) -> Iterator[str]:
    for loss in answer["losses"]:
        yield f"lost: {loss['field']} of {loss['count']} ({loss['why']})"
    would = "would copy" if answer["dry_run"] else "copied"
    yield f"{would} {counted(answer['memories'], 'memory')} by {counted(answer['changes'], 'change')}"
    yield from tenants_note(answer["other_tenants"])
    for name in ("already", "conflicts", "held", "ended", "refused", "redacted"):
        if answer[name]:
            yield f"  {name}: {answer[name]}"
    for problem in answer["problems"]:
        yield from problem_lines(problem, as_json=False)
    if "verified" in answer:
        comparison = answer["verified"]
        if comparison["ok"]:
            yield "both sides have the same memories"
        else:
            ids = ", ".join(comparison["named"])
            yield f"{comparison['missing']} missing, {comparison['differing']} differ: {ids}"
        yield f"  {comparison['agreed']} of {comparison['asked']} sampled recalls agree on both sides"
        words = ["memorywire", "import", "--undo", answer["batch"], "--store", mask_secrets(target)]
        words += [] if tenant is None else ["--tenant", tenant]
        yield f"  undo with: {shlex.join(words)}"
