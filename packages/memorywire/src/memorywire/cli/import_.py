"""`memorywire import`, `import-lines` and `migrate`: bundles, other products, lines of text, other stores."""

import os
import shlex
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO

import click
from msgspec import Struct, field
from msgspec.structs import asdict, replace

from memorywire.cli.app import find_file, open_app, require_store, run_in_app
from memorywire.cli.context import Answer, CliContext, shared, shared_for_owner
from memorywire.cli.inputs import TYPES, decode_text, option
from memorywire.cli.ledger_file import other_tenants, tenants_note
from memorywire.cli.problems import INTERRUPTED, REFUSED, STORE_FAILURE, problem_lines
from memorywire.cli.terminal import Progress, mask_secrets
from memorywire.model.answers import Remembered, Status
from memorywire.model.errors import EmbedderFailed, InvalidRequest, MemorywireError, NotFound, StoreError
from memorywire.model.record import Json
from memorywire.model.text import counted

if TYPE_CHECKING:
    from memorywire.app import Container
    from memorywire.client.sync import Memory
    from memorywire.migrate.run_import import ImportRequest


SOURCES = (
    "auto bundle markdown csv okf mcp-memory notes basic-memory mem0 openmemory letta langgraph chroma "
    "chatgpt claude memorywire-0"
).split()

on_conflict_option = option(
    "--on-conflict",
    "What to do if an id exists already.",
    type=click.Choice(["skip", "overwrite", "new-id", "merge"]),
    default="skip",
)


@click.command("import")
@click.argument("what", metavar="[FILE|URL]", required=False)
@option(
    "--from FORMAT",
    f"What it is: {', '.join(SOURCES)}, or a format that another package adds.",
    name="kind",
    default="auto",
    shell_complete=lambda ctx, param, text: [name for name in SOURCES if name.startswith(text)],
)
@on_conflict_option
@option(
    "--remap WHO=NEW",
    "Rename agents or users: agent=NEW, agent=OLD:NEW, user=OLD:NEW; repeatable.",
    multiple=True,
)
@option("--dry-run", "Show what would be imported and lost; write nothing.")
@option("--without-ledger", "Do not import the ledger of a bundle.")
@option("--trusted", "Trust its sources, and a bundle with an unknown key.")
@option("--undo BATCH", "Undo an import.", name="undo")
@shared
def import_command(
    cli: CliContext,
    what: str | None,
    kind: str,
    on_conflict: str,
    remap: tuple[str, ...],
    dry_run: bool,
    without_ledger: bool,
    trusted: bool,
    undo: str | None,
) -> None:
    """Import memories from a file or another product.

    Memories keep their ids and times, and the policy judges each. Existing ones are not written twice, so an
    interrupted import is completed by running it again. Memories of other products become those of --agent.
    URL is the API of a Letta server or of mem0, with its key in LETTA_API_KEY or MEM0_API_KEY, or the
    Postgres database of LangGraph, Letta or mem0. --undo takes back a whole import.
    """
    if undo is not None and what is None:
        from memorywire.migrate.undo import undo_import

        cli.refuse_scope("an import is undone as a whole", names=("agent", "user"))
        result = run_in_app(cli.local_settings, lambda app: undo_import(undo, app.context, cli.tenant))
        cli.show(asdict(result), partial(_render_import_undo, cli))
        return
    if what is None or undo is not None:
        raise click.UsageError("name a FILE, or an import with --undo")
    from memorywire.migrate.run_import import ImportRequest

    request = ImportRequest(
        **_locate(what),
        explicit=frozenset(cli.typed_scope()),
        kind=kind,
        agent=cli.settings.agent,
        user=cli.settings.user,
        tenant=cli.tenant,
        on_conflict=on_conflict,
        remap=remap,
        dry_run=dry_run,
        ledger=not without_ledger,
        trusted=trusted,
    )
    answer = run_in_app(cli.local_settings, partial(_import_memories, request))
    cli.show(answer, partial(_render_import, cli))
    if answer["problems"] or answer["refused"]:
        raise click.exceptions.Exit(REFUSED)


def _locate(what: str) -> dict[str, Any]:
    """Return the file or the address of the memories as fields of the request."""
    from memorywire.migrate.importers import is_address, read_keys

    if is_address(what):
        return {"address": what, "keys": read_keys(os.environ)}
    path = Path(what)
    if not what or not path.exists():  # an empty name would be the current folder
        raise NotFound(f"there is no file {what}", field="file", fix="name a file, a folder, or a URL")
    return {"path": path}


async def _import_memories(request: "ImportRequest", container: "Container") -> Answer:
    from memorywire.journal.ledger import Filters
    from memorywire.migrate.run_import import import_memories

    with Progress("importing", None) as progress:
        answer = await import_memories(
            request,
            container.context,
            lambda done, total: progress.update(done, f"{done} of {total} changes", of=total),
        )
    if container.journal is None or not answer["already"]:
        return answer
    filters = Filters(tenant=request.tenant, operation="undo")
    entries = [row.said for row in await container.journal.filter_entries(filters)]
    # An import makes each change once, so that it can be repeated: what was undone stays undone.
    taken_back = {entry["details"].get("undoes") for entry in entries}
    undos = [
        {"change_id": entry["subject"], "agent_id": entry["agent"]}
        for entry in entries
        if entry["details"].get("batch") == answer["batch"] and entry["subject"] not in taken_back
    ]
    return {**answer, "undone": undos} if undos else answer


def _render_import(cli: CliContext, answer: Answer) -> Iterator[str]:
    would = "would import" if answer["dry_run"] else "imported"
    yield f"{would} {counted(answer['memories'], 'memory')} by {counted(answer['changes'], 'change')}"
    for name, words in _OTHER_COUNTS.items():
        if answer[name]:
            yield f"  {answer[name]} {words}"
    for undo in answer.get("undone", ()):
        again = cli.for_agent(undo["agent_id"]).suggest("undo", undo["change_id"])
        yield "  this import was undone, so its memories stay ended; bring them back with:"
        yield f"    {again}"
    if "signed_by" in answer:
        signer = f"signed by {answer['signed_by']}" if answer["signed_by"] else "not signed"
        unknown = "the key is unknown, so its memories are untrusted; import with --trusted to trust it"
        yield f"  {signer}: {'trusted' if answer['trusted'] else unknown}"
    for ledger in answer["ledgers"]:
        sealed = f"{ledger['sealed']} of its {ledger['entries']} entries are signed"
        yield f"  the ledger of {ledger['origin']} is valid: {sealed}"
    yield from (f"  lost: {loss}" for loss in answer["losses"])
    for problem in answer["problems"]:
        yield from problem_lines(problem, as_json=False)
    if not answer["dry_run"] and answer["changes"]:
        yield f"  undo with: {cli.suggest('import', '--undo', answer['batch'])}"


_OTHER_COUNTS = {
    "already": "changes exist already",
    "conflicts": "changes conflict with an existing id, or depend on one that was not imported",
    "held": "wait for a person: memorywire review list",
    "ended": "were skipped: a person would decide on them, but they have ended in the source",
    "refused": "were refused by policy",
    "redacted": "had a secret, which was removed",
    "proposals": "proposals were imported",
}


def _render_import_undo(cli: CliContext, answer: Answer) -> Iterator[str]:
    ended = counted(answer["ended"], "memory")
    yield f"undone: {ended} ended, {answer['restored']} restored"
    if answer["moved"]:
        yield f"  {len(answer['moved'])} were changed since and stay: {', '.join(answer['moved'])}"
    yield from (f"  undo with: {cli.suggest('undo', id)}" for id in answer["change_ids"])


_BATCH = 128
"""The number of lines that the client embeds at once, so that the count is right after a failure."""


class Tally(Struct):
    """The results of the lines so far."""

    committed: int = 0
    duplicate: int = 0
    failed: list[Answer] = field(default_factory=list)
    stopped: Answer | None = None
    """The first line that failed because of the store or the embedder."""
    interrupted: bool = False

    def count(self, line: int, result: Remembered | MemorywireError) -> None:
        if isinstance(result, StoreError | EmbedderFailed):
            self.stopped = self.stopped or {"line": line, "problem": result.problem()}
        elif isinstance(result, MemorywireError):
            self.failed.append({"line": line, "problem": result.problem()})
        elif result.status is Status.DUPLICATE:
            self.duplicate += 1
        else:
            self.committed += 1

    def answer(self) -> Answer:
        failed = sorted(self.failed, key=lambda fault: fault["line"])
        answer: Answer = {"committed": self.committed, "duplicate": self.duplicate, "failed": failed}
        answer |= {"stopped": self.stopped} if self.stopped else {}
        return answer | ({"interrupted": True} if self.interrupted else {})

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return INTERRUPTED
        if self.stopped:
            return STORE_FAILURE
        return REFUSED if self.failed else 0


@click.command("import-lines")
@click.argument("file", type=click.File("rb"))
@option("--type", "The memory type.", name="type_", type=TYPES, default="semantic")
@option("--source TEXT", "Where the memories come from.")
@option("--tag TAG", "A tag for every line; repeatable.", name="tags", multiple=True)
@option("--session ID", "The session they come from.", name="session_id")
@shared_for_owner
def import_lines_command(
    cli: CliContext, file: BinaryIO, type_: str, tags: tuple[str, ...], **fields: Json
) -> None:
    """Remember every line of FILE; `-` is standard input.

    A line that starts with `{` is a JSON object with the fields of a remember request; the options fill in
    missing fields. Empty lines are skipped. A wrong line does not stop the import; a failing store does.
    Importing the same file again continues where it stopped.
    """
    defaults = cli.payload(type=type_, tags=list(tags), **fields)
    tally = Tally()
    size = os.fstat(file.fileno()).st_size or None  # none for a pipe
    with Progress("importing", size) as progress:
        try:
            position, lines = 0, enumerate(file, start=1)
            while not tally.stopped and (batch := list(islice(lines, _BATCH))):
                with _delay_interrupt():
                    _remember_batch(cli.memory(), batch, defaults, tally)
                position += sum(len(line) for _, line in batch)
                done = tally.committed + tally.duplicate + len(tally.failed)
                progress.update(position, counted(done, "line"))
        except KeyboardInterrupt:
            tally.interrupted = True
    cli.show(tally.answer(), _render_lines)
    raise click.exceptions.Exit(tally.exit_code)


@contextmanager
def _delay_interrupt() -> Iterator[None]:
    """Delay a Ctrl-C until the current batch is stored, so that the count is right; a second acts at once."""
    interrupted = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        if interrupted:
            raise KeyboardInterrupt
        interrupted = True

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupted:
        raise KeyboardInterrupt


def _remember_batch(
    memory: "Memory", batch: Iterable[tuple[int, bytes]], defaults: Answer, tally: Tally
) -> None:
    from memorywire.wire.strict import parse

    requests: list[tuple[int, Answer]] = []
    for number, line in batch:
        try:
            text = decode_text(line, field="content").strip()
            if text:
                fields = parse(text) if text.startswith("{") else {"content": text}
                requests.append((number, {**defaults, **fields}))
        except MemorywireError as error:
            tally.count(number, error)
    try:
        results = memory.remember_many([request for _, request in requests])
    except (StoreError, EmbedderFailed) as error:
        tally.count(requests[0][0], error)
        return
    for (number, _), result in zip(requests, results, strict=True):
        tally.count(number, result)


def _render_lines(answer: Answer) -> Iterator[str]:
    failed = answer["failed"]
    yield f"remembered {answer['committed']}, already known {answer['duplicate']}, failed {len(failed)}"
    stops = [("stopped at line", answer["stopped"])] if "stopped" in answer else []
    for label, fault in [*(("line", fault) for fault in failed), *stops]:
        first, *rest = problem_lines(fault["problem"], as_json=False)
        yield f"{label} {fault['line']}: {first}"
        yield from rest
    if "interrupted" in answer:
        yield "interrupted; import the same file again to continue"


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
