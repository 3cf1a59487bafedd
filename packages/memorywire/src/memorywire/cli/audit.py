"""`memorywire audit`: show, verify and export the ledger."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click
from msgspec.structs import asdict

from memorywire.cli.context import Answer, CliContext, scoped, shared, without_scope
from memorywire.cli.inputs import (
    EXISTING_FILE,
    PAST,
    add_options,
    limit_option,
    option,
    parse_json_object,
    parse_past,
)
from memorywire.cli.ledger_file import open_ledger, other_tenants, tenants_note
from memorywire.cli.terminal import clean, format_table, format_time
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.model.record import Json
from memorywire.model.text import counted

if TYPE_CHECKING:  # the engine is loaded by the command that runs, not to show --help
    from memorywire.journal.audit import Examination
    from memorywire.journal.ledger import Filters
    from memorywire.journal.signed_notes import Checkpoint, Verifier
    from memorywire.journal.verify import Report
    from memorywire.model.answers import Page

_BROKEN = 1
_PAGE = 20
_MOST_DIFFERENCES = 50
_LOOKED_AT = 1_000
_NAMED = ("operation", "kind", "actor")


@click.group("audit")
def audit_command() -> None:
    """Show, verify and export the signed ledger of operations."""


_filters = add_options(
    option("--operation NAME", "Only this operation, such as recall."),
    option("--kind NAME", "Only this outcome, such as committed or refused."),
    option("--actor NAME", "Only operations of this caller."),
    option("--memory ID", "Only entries about this memory."),
    option("--since WHEN", f"Only since this time: {PAST}.", type=parse_past),
    option("--until WHEN", "Only before this time.", type=parse_past),
    option("--all-agents", "Entries of all agents."),
)


@audit_command.command("log")
@_filters
@option("--subject ID", "Only entries about this change, proposal or recall.")
@option("--before N", "Only entries before this one.", type=int)
@limit_option(default=_PAGE)
@shared
def log(cli: CliContext, subject: str | None, before: int | None, limit: int, **criteria: Json) -> None:
    """Show ledger entries, newest first."""
    entries = _entries(cli, subject, before, limit, **criteria)
    last = entries[-1]["seq"] if subject is None and len(entries) == limit else 1
    answer = {"entries": entries, "next": last if last > 1 else None}
    cli.show(answer, lambda answer: _log_lines(answer, cli, limit, **criteria))


def _entries(
    cli: CliContext, subject: str | None, before: int | None, limit: int, **criteria: Json
) -> list[dict[str, Json]]:
    """Return entries of the local ledger, or of the server."""
    from memorywire.journal import ledger

    if subject is not None:
        cli.refuse_scope("--subject shows all entries about it", names=("user",))
        _refuse_filters("--subject", **criteria)
    if cli.server is not None:
        with cli.client(cli.server) as client:
            entries = list(client.audit_log(subject=subject, before=before, limit=limit, **criteria))
            return entries if subject is None else _of_agent(cli, entries)
    with open_ledger(cli) as ledger_file:
        if subject is not None:
            rows = ledger_file.read(lambda db: ledger.find_entries_about(db, cli.tenant, subject))
            return _of_agent(cli, [row.said for row in rows])
        filters = _build_filters(cli, **criteria)
        rows = ledger_file.read(lambda db: ledger.filter_entries(db, filters, before=before, limit=limit))
        return [row.said for row in rows]


@audit_command.command("verify")
@option(
    "--checkpoint",
    "A saved checkpoint that the ledger must agree with; repeatable.",
    name="files",
    type=EXISTING_FILE,
    multiple=True,
)
@option("--contents", "Also compare the memories of the agent with the ledger.")
@option("--state", "Replay the ledger and compare the result with the data.")
@option("--key KEY", "The public key to trust, instead of the stored one.")
@option("--export", "Verify this export instead.", name="file", type=click.File(encoding="utf-8"))
@shared
def verify(
    cli: CliContext,
    files: tuple[Path, ...],
    key: str | None,
    contents: bool,
    state: bool,
    file: TextIO | None,
) -> None:
    """Verify that no ledger entry was changed, removed, added or moved.

    Exits with 1 and names the first faulty entry if one was. The owner of the database could still rewrite
    entries after the last checkpoint; their number is shown. A server verifies its own ledger with its own
    key; an export is verified without the store.

    With --state it also exits with 1 if memories, proposals, rules, operators, tokens, webhooks or
    definitions differ from the ledger, and names each of them.
    """
    from memorywire.journal.signed_notes import parse_verifier

    if file is not None or not contents:
        cli.refuse_scope("the whole ledger is verified; only --contents reads one agent")
    keys = [] if key is None else [parse_verifier(key)]
    saved = [checkpoint for path in files for checkpoint in _read_saved(path)]
    if file is None and cli.server is not None and not (contents or keys):
        checkpoints = "\n".join(path.read_text(encoding="utf-8") for path in files)
        with cli.client(cli.server) as client:
            answer = _examination_answer(client.audit_verify(checkpoint=checkpoints or None, state=state))
    elif file is None:
        answer = _examine(cli, saved, keys, contents=contents, state=state)
    else:
        from memorywire.journal.audit import verify_export

        report = verify_export((line.rstrip("\n") for line in file), keys=keys, checkpoints=saved)
        answer = _report_answer(report, key)
    cli.show(answer, _render_verdict)
    if not answer["ok"]:
        raise click.exceptions.Exit(_BROKEN)


@audit_command.command("verify-hit")
@click.argument("file", type=click.File(encoding="utf-8"))
@option("--key KEY", "The public key of the ledger that signed.", required=True)
@without_scope
def verify_hit_command(cli: CliContext, file: TextIO, key: str) -> None:
    """Verify the hits in FILE, the JSON of a recall with --sign, or of one hit. Needs no store.

    Exits with 1 if one of them is not what was signed.
    """
    from memorywire.journal.signed_hits import verify_hit

    document = parse_json_object(file.read())
    hits = document.get("results", [document])
    answer = {"hits": [{"id": hit.get("id"), "ok": verify_hit(hit, key)} for hit in hits]}
    cli.show(
        answer, [f"{'signed' if one['ok'] else 'NOT what was signed'}: {one['id']}" for one in answer["hits"]]
    )
    if not all(one["ok"] for one in answer["hits"]):
        raise click.exceptions.Exit(_BROKEN)


@audit_command.command("checkpoint")
@option("--rotate-key", "Continue with a new key, which the old key signs.")
@without_scope
def checkpoint(cli: CliContext, rotate_key: bool) -> None:
    """Sign the ledger and print the checkpoint.

    Keep it where the owner of the database cannot write. `audit verify --checkpoint` compares with it.
    """
    if cli.server is not None and not rotate_key:
        with cli.client(cli.server) as client:
            answer = client.signed()
    else:
        with open_ledger(cli) as ledger_file:
            note = ledger_file.sign(rotate=rotate_key)
            answer = {"checkpoint": note, "key": str(ledger_file.signer.verifier())}
    cli.show(answer, [answer["checkpoint"].rstrip("\n")])


@audit_command.command("prove")
@click.argument("entry", type=int)
@option("--output FILE", "Write the proof to FILE.", type=click.Path(path_type=Path))
@scoped("tenant")
def prove(cli: CliContext, entry: int, output: Path | None) -> None:
    """Print a proof that ENTRY is in the signed ledger.

    The proof is an export of one entry; `audit verify --export` checks it without the store.
    """
    from memorywire.journal import ledger
    from memorywire.journal.audit import prove_entry

    if cli.server is not None:
        with cli.client(cli.server) as client:
            _deliver(cli, iter(client.proof(entry)), output)
        return
    with open_ledger(cli) as ledger_file:
        row = ledger_file.read(lambda db: ledger.find_entry(db, entry))
        if row is not None and cli.tenant_option not in (None, row.said["tenant"]):
            raise NotFound(f"tenant {cli.tenant_option} has no entry {entry}", field="entry")
        ledger_file.sign()
        _deliver(cli, ledger_file.lines(lambda db: prove_entry(db, ledger_file.signer, entry)), output)


@audit_command.command("export")
@_filters
@option("--whole", "The whole ledger with its chain, of all agents.")
@option("--output FILE", "Write to FILE.", type=click.Path(path_type=Path))
@shared
def export(cli: CliContext, whole: bool, output: Path | None, **criteria: Json) -> None:
    """Export ledger entries as JSON lines with their proofs.

    Of the agent, or with --whole of all agents.
    """
    from memorywire.journal.audit import export_entries

    if whole:
        cli.refuse_scope("--whole exports all agents and tenants")
        _refuse_filters("--whole", **criteria)
    with open_ledger(cli) as ledger_file:
        ledger_file.sign()
        filters = None if whole else _build_filters(cli, **criteria)
        _deliver(cli, ledger_file.lines(lambda db: export_entries(db, ledger_file.signer, filters)), output)


def _of_agent(cli: CliContext, entries: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """Return the entries of the typed agent, or all of them if none was typed."""
    agent = cli.typed_scope().get("agent_id")
    return [entry for entry in entries if agent in (None, entry["agent"])]


def _refuse_filters(option: str, **filters: Json) -> None:
    """Raise UsageError for filters that the option would ignore."""
    for word in _options(filters):
        raise click.UsageError(f"{option} takes no filters: leave out {word}")


def _build_filters(cli: CliContext, *, all_agents: bool, **criteria: Json) -> "Filters":
    from memorywire.journal.ledger import Filters

    if all_agents:
        cli.refuse_scope("--all-agents was given", names=("agent",))
    agent = None if all_agents else cli.settings.agent
    return Filters(tenant=cli.tenant, agent=agent, user=cli.settings.user, **criteria)


def _read_saved(path: Path) -> "list[Checkpoint]":
    from memorywire.journal.signer import read_checkpoints

    checkpoints, unreadable = read_checkpoints(path)
    if unreadable or not checkpoints:
        raise InvalidRequest(
            f"{path} is not a file of checkpoints",
            field="checkpoint",
            fix="give the unchanged output of `memorywire audit checkpoint`",
        )
    return checkpoints


def _examine(
    cli: CliContext, saved: "Sequence[Checkpoint]", keys: "Sequence[Verifier]", *, contents: bool, state: bool
) -> Answer:
    from memorywire.journal.audit import examine, find_contradicted

    with open_ledger(cli, missing_ok=True) as ledger_file:
        report = ledger_file.read(
            lambda db: examine(db, ledger_file.signer, saved=saved, keys=keys, state=state)
        )
        pages = _load_pages(cli) if contents else ()
        changed_ids = [
            id for page in pages for id in ledger_file.read(partial(find_contradicted, records=page))
        ]
    return _examination_answer(report, changed_ids)


def _examination_answer(report: "Examination", changed_ids: Sequence[str] = ()) -> Answer:
    answer = _report_answer(report.report, None if report.key is None else str(report.key))
    answer |= {"ok": report.ok and not changed_ids, "unreadable": report.unreadable}
    answer["changed"] = list(changed_ids)
    if report.state is not None:
        differences = [asdict(one) for one in report.state.differences]
        sizes = {"versions": report.state.versions, "rows": report.state.rows}
        answer["state"] = {"ok": report.state.ok, **sizes, "differences": differences}
    return answer


def _load_pages(cli: CliContext) -> "Iterator[Page]":
    """Yield all memories of the agent, page by page."""
    memory = cli.memory()
    page = memory.list(include=["archived"])
    yield page
    while page.next is not None:
        page = memory.list(include=["archived"], after=page.next)
        yield page


def _report_answer(report: "Report", key: str | None) -> Answer:
    fault = report.fault
    place = None if fault is None else {"entry": fault.entry, "until": fault.until, "reason": fault.reason}
    return {
        "ok": report.ok,
        "entries": report.entries,
        "sealed": report.sealed,
        "exposed": report.exposed,
        "checkpoints": report.checkpoints,
        "origin": report.origin,
        "root": report.root.hex(),
        "key": key,
        "fault": place,
    }


def _render_verdict(answer: Answer) -> Iterator[str]:
    fault = answer["fault"]
    if fault is not None and not answer["root"]:
        yield f"not a complete export of a ledger: {clean(fault['reason'])}"
        return
    if fault is not None:
        last = fault["until"]
        place = f"entry {fault['entry']}" if last is None else f"entries {fault['entry']} to {last}"
        yield f"the ledger is broken: {place}: {clean(fault['reason'])}"
        count = counted(answer["entries"], "entry")
        yield f"verified before it: {count}, {answer['sealed']} of them signed"
        return
    if answer.get("changed"):
        yield f"these memories differ from the ledger: {', '.join(answer['changed'])}"
    checkpoints = counted(answer["checkpoints"], "checkpoint")
    yield f"the ledger is sound: {counted(answer['entries'], 'entry')}, {checkpoints}"
    if answer["exposed"]:
        newer = counted(answer["exposed"], "entry is", "entries are")
        yield f"{newer} newer than the last checkpoint, and not signed yet"
    if answer.get("unreadable"):
        count = counted(answer["unreadable"], "checkpoint")
        yield f"{count} cannot be read (a process may have ended while it wrote one)"
    yield from _state_lines(answer.get("state"))
    if answer["key"]:
        yield f"public key: {answer['key']}"


def _state_lines(state: Answer | None) -> Iterator[str]:
    if state is None:
        return
    sizes = f"{counted(state['versions'], 'version')} and {counted(state['rows'], 'other row')}"
    if state["ok"]:
        yield f"the state agrees with the ledger: {sizes}"
        return
    differences = counted(len(state["differences"]), "difference")
    yield f"the state DIFFERS from the ledger: {differences} in {sizes}"
    for one in state["differences"][:_MOST_DIFFERENCES]:
        yield clean(f"  {one['kind']} {one['subject']}: {one['detail']}")
    if len(state["differences"]) > _MOST_DIFFERENCES:
        yield "  see all of them with --json"


def _log_lines(answer: Answer, cli: CliContext, limit: int, **criteria: Json) -> Iterator[str]:
    if not answer["entries"]:
        yield "no entry matches"
        yield from _suggest_names(cli, **criteria)
        if not criteria["all_agents"]:
            yield f"  of agent {clean(cli.settings.agent)}; --all-agents shows all agents"
        if cli.server is None:
            yield from tenants_note(other_tenants(cli))
        return
    headers = ["ENTRY", "AT", "OPERATION", "KIND", "ACTOR", "SUBJECT", "WHAT"]
    yield from format_table(headers, map(_row, answer["entries"]))
    if answer["next"]:
        options = {**criteria, "limit": None if limit == _PAGE else limit, "before": answer["next"]}
        yield f"older entries with: {cli.suggest('audit', 'log', *_options(options))}"


def _suggest_names(cli: CliContext, **criteria: Json) -> Iterator[str]:
    """Yield the names of the newest entries, if the typed name is not among them."""
    for name in _NAMED:
        if criteria[name] is not None:
            others = _entries(cli, None, None, _LOOKED_AT, **{**criteria, **dict.fromkeys(_NAMED)})
            names = sorted({entry[name] for entry in others})
            if criteria[name] not in names and names:
                yield f"  no {name} {clean(str(criteria[name]))}; there are: {clean(', '.join(names))}"


def _options(options: Mapping[str, Json]) -> Iterator[str]:
    """Yield the options as they are typed."""
    for name, value in options.items():
        if value not in (None, False):
            yield f"--{name.replace('_', '-')}"
            yield from () if value is True else (str(value),)


def _row(entry: dict[str, Json]) -> list[Json]:
    versions = [f"{one['id']} v{one['version']}" for one in entry.get("commitments", ())]
    what = ", ".join(versions) or "; ".join(_details(entry.get("details", {})))
    names = [entry[name] for name in ("operation", "kind", "actor")]
    return [entry["seq"], format_time(entry["at"]), *names, entry.get("subject"), what]


def _details(details: Mapping[str, Json]) -> Iterator[str]:
    """Yield the details of an entry as text; a hit of a recall is an id with its version."""
    for name, value in details.items():
        if name == "hits":
            yield ", ".join(f"{id} v{version}" for id, version, *_ in value) or "no hits"
        elif isinstance(value, list) and all(isinstance(one, str) for one in value):
            yield f"{name} {', '.join(value) or 'none'}"
        else:
            yield f"{name} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def _deliver(cli: CliContext, lines: Iterator[str], output: Path | None) -> None:
    """Write the lines to standard output, or to a file that only its owner can read."""
    if output is None:
        for line in lines:
            click.echo(line)
        return
    from memorywire.journal.audit import write_lines

    count = write_lines(lines, output)
    line = f"wrote {counted(count, 'line')} to {output}"
    cli.show({"output": str(output), "lines": count}, [line])
