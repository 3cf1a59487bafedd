"""`memorywire audit`: what was done, proven."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click
from msgspec.structs import asdict

from memorywire.cli.context import Answer, CliContext, of_everybody, scoped, shared
from memorywire.cli.inputs import PAST, ago
from memorywire.cli.ledger_file import left_out, opened, other_tenants
from memorywire.cli.terminal import moment, safe, table, terminal_width
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.model.record import Json
from memorywire.model.text import counted

if TYPE_CHECKING:  # the engine is loaded by the verb that runs, not to show --help
    from memorywire.client.remote import BlockingClient
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

_Verb = Callable[..., None]


@click.group("audit")
def audit_command() -> None:
    """Show, prove and export the ledger: every operation, in order, chained and signed."""


def _filters(verb: _Verb) -> _Verb:
    options = (
        click.option("--operation", metavar="NAME", help="Only this operation, such as recall."),
        click.option("--kind", metavar="NAME", help="Only what ended so, such as committed or refused."),
        click.option("--actor", metavar="NAME", help="Only what this caller did."),
        click.option("--memory", metavar="ID", help="Only entries that name this memory."),
        click.option("--since", type=ago, metavar="WHEN", help=f"Not before this moment: {PAST}."),
        click.option("--until", type=ago, metavar="WHEN", help="Before this moment."),
        click.option("--all-agents", is_flag=True, help="Of every agent, not only of one."),
    )
    for option in reversed(options):
        verb = option(verb)
    return verb


@audit_command.command("log")
@_filters
@click.option("--subject", metavar="ID", help="Only about this change, proposal or recall.")
@click.option("--before", type=int, metavar="N", help="Only entries before this one.")
@click.option("--limit", type=click.IntRange(1), default=_PAGE, show_default=True, help="How many to show.")
@shared
def log(cli: CliContext, subject: str | None, before: int | None, limit: int, **wanted: Json) -> None:
    """Show entries of the ledger, newest first."""
    entries = _entries(cli, subject, before, limit, **wanted)
    last = entries[-1]["seq"] if subject is None and len(entries) == limit else 1
    answer = {"entries": entries, "next": last if last > 1 else None}
    cli.show(answer, lambda said: _log_lines(said, cli, limit, **wanted))


def _entries(
    cli: CliContext, subject: str | None, before: int | None, limit: int, **wanted: Json
) -> list[dict[str, Json]]:
    """The entries of the ledger here, or of the server's."""
    from memorywire.journal import ledger

    if subject is not None:
        cli.refuse_scope("--subject shows every entry about it", names=("user",))
        _refuse_filters("--subject", **wanted)
    if cli.server is not None:
        with cli.client(cli.server) as client:
            found = list(client.audit_log(subject=subject, before=before, limit=limit, **wanted))
            return found if subject is None else _of_agent(cli, found)
    with opened(cli) as book:
        if subject is not None:
            rows = book.read(lambda db: ledger.find_entries_about(db, cli.tenant, subject))
            return _of_agent(cli, [row.said for row in rows])
        filters = _wanted(cli, **wanted)
        return [
            row.said
            for row in book.read(lambda db: ledger.filter_entries(db, filters, before=before, limit=limit))
        ]


@audit_command.command("verify")
@click.option(
    "--checkpoint",
    "kept",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="A checkpoint that was kept elsewhere, which the ledger must agree with; repeatable.",
)
@click.option("--contents", is_flag=True, help="Compare the memories of the agent with the ledger, too.")
@click.option(
    "--state", is_flag=True, help="Replay the ledger and compare everything it speaks of with the data."
)
@click.option("--key", metavar="KEY", help="The public key to trust, instead of the one beside the data.")
@click.option(
    "--export", "file", type=click.File(encoding="utf-8"), help="Verify this export, and nothing else."
)
@shared
def verify(
    cli: CliContext, kept: tuple[Path, ...], key: str | None, contents: bool, state: bool, file: TextIO | None
) -> None:
    """Prove that no entry was changed, removed, added or moved.

    Exits with 1 when one was, and names the first. Entries after the last checkpoint could still be
    rewritten by whoever holds the database: their number is said. Of a server it is the server that says
    so, with the key it has; an export, taken where its store is, proves itself.

    With --state it also exits with 1 when memories, proposals, rules, operators, tokens, webhooks or
    definitions are not what the ledger says they are, and names each of them.
    """
    from memorywire.journal.signed_notes import parse_verifier

    if file is not None or not contents:
        cli.refuse_scope("the whole ledger is verified; --contents reads the memories of one agent")
    keys = [] if key is None else [parse_verifier(key)]
    saved = [checkpoint for path in kept for checkpoint in _kept_elsewhere(path)]
    if file is None and cli.server is not None and not (contents or keys):
        answer = _told(cli.client(cli.server), kept, state=state)
    elif file is None:
        answer = _examined(cli, saved, keys, contents=contents, state=state)
    else:
        from memorywire.journal.audit import verify_export

        report = verify_export((line.rstrip("\n") for line in file), keys=keys, checkpoints=saved)
        answer = _answer(report, key)
    cli.show(answer, _verdict)
    if not answer["ok"]:
        raise click.exceptions.Exit(_BROKEN)


@audit_command.command("checkpoint")
@click.option("--rotate-key", is_flag=True, help="Go on with a new key, which the old one signs for.")
@of_everybody
def checkpoint(cli: CliContext, rotate_key: bool) -> None:
    """Sign the ledger as it is, and print the checkpoint.

    Keep it where whoever holds the database cannot write. `verify --checkpoint` compares with it.
    """
    if cli.server is not None and not rotate_key:
        with cli.client(cli.server) as client:
            answer = client.signed()
    else:
        with opened(cli) as book:
            note = book.signed(rotate=rotate_key)
            answer = {"checkpoint": note, "key": str(book.signer.verifier())}
    cli.show(answer, lambda said: [said["checkpoint"].rstrip("\n")])


@audit_command.command("prove")
@click.argument("entry", type=int)
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the proof to a file.")
@scoped("tenant")
def prove(cli: CliContext, entry: int, output: Path | None) -> None:
    """Prove that ENTRY is in the signed ledger.

    The proof is an export of one entry: `verify --export` checks it, with nothing else at hand.
    """
    from memorywire.journal import ledger
    from memorywire.journal.audit import proven

    if cli.server is not None:
        with cli.client(cli.server) as client:
            _deliver(cli, iter(client.proof(entry)), output)
        return
    with opened(cli) as book:
        row = book.read(lambda db: ledger.find_entry(db, entry))
        if row is not None and cli.named not in (None, row.said["tenant"]):
            raise NotFound(f"no entry {entry} of this ledger is of tenant {cli.named}", field="entry")
        book.signed()
        _deliver(cli, book.lines(lambda db: proven(db, book.signer, entry)), output)


@audit_command.command("export")
@_filters
@click.option("--whole", is_flag=True, help="The whole ledger with its chain, of every agent.")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to a file.")
@shared
def export(cli: CliContext, whole: bool, output: Path | None, **wanted: Json) -> None:
    """Write entries as lines of JSON that prove themselves.

    Of the agent, each with its proof; or with --whole every entry there is.
    """
    from memorywire.journal.audit import exported

    if whole:
        cli.refuse_scope("--whole writes the ledger of every agent and tenant")
        _refuse_filters("--whole", **wanted)
    with opened(cli) as book:
        book.signed()
        filters = None if whole else _wanted(cli, **wanted)
        _deliver(cli, book.lines(lambda db: exported(db, book.signer, filters)), output)


def _of_agent(cli: CliContext, entries: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """The entries of the agent that was typed, or all of them if none was."""
    agent = cli.reach().get("agent_id")
    return [entry for entry in entries if agent in (None, entry["agent"])]


def _refuse_filters(option: str, **filters: Json) -> None:
    """Refuse filters beside an option that shows everything: they would be accepted and narrow nothing."""
    for typed in _options(filters):
        raise click.UsageError(f"{option} cannot be narrowed: leave out {typed}")


def _wanted(cli: CliContext, *, all_agents: bool, **wanted: Json) -> "Filters":
    from memorywire.journal.ledger import Filters

    if all_agents:
        cli.refuse_scope("--all-agents was given", names=("agent",))
    agent = None if all_agents else cli.settings.agent
    return Filters(tenant=cli.tenant, agent=agent, user=cli.settings.user, **wanted)


def _kept_elsewhere(path: Path) -> "list[Checkpoint]":
    from memorywire.journal.signer import read_checkpoints

    found, unreadable = read_checkpoints(path)
    if unreadable or not found:
        raise InvalidRequest(
            f"{path} holds something else than checkpoints",
            field="checkpoint",
            fix="give what `memorywire audit checkpoint` printed, unchanged",
        )
    return found


def _examined(
    cli: CliContext, saved: "Sequence[Checkpoint]", keys: "Sequence[Verifier]", *, contents: bool, state: bool
) -> Answer:
    from memorywire.journal.audit import contradicted, examine

    with opened(cli, missing_ok=True) as book:
        found = book.read(lambda db: examine(db, book.signer, saved=saved, keys=keys, state=state))
        pages = _memories(cli) if contents else ()
        changed = [id for page in pages for id in book.read(partial(contradicted, records=page))]
    answer = _answer(found.report, None if found.key is None else str(found.key))
    return {
        **answer,
        "ok": found.ok and not changed,
        "unreadable": found.unreadable,
        "changed": changed,
        **_state_answer(found),
    }


def _state_answer(found: "Examination") -> Answer:
    if found.state is None:
        return {}
    differences = [asdict(one) for one in found.state.differences]
    compared = {"versions": found.state.versions, "rows": found.state.rows}
    return {"state": {"ok": found.state.ok, **compared, "differences": differences}}


def _told(server: "BlockingClient", kept: Sequence[Path], *, state: bool) -> Answer:
    """What a server found in its ledger; it must agree with checkpoints that were kept elsewhere."""
    checkpoints = "\n".join(path.read_text(encoding="utf-8") for path in kept)
    with server as client:
        found = client.audit_verify(checkpoint=checkpoints or None, state=state)
    answer = _answer(found.report, None if found.key is None else str(found.key))
    return {
        **answer,
        "ok": found.ok,
        "unreadable": found.unreadable,
        "changed": [],
        **_state_answer(found),
    }


def _memories(cli: CliContext) -> "Iterator[Page]":
    """Everything the agent keeps, page by page."""
    with cli.memory() as memory:
        page = memory.list(include=["archived"])
        yield page
        while page.next is not None:
            page = memory.list(include=["archived"], after=page.next)
            yield page


def _answer(report: "Report", key: str | None) -> Answer:
    fault = report.fault
    return {
        "ok": report.ok,
        "entries": report.entries,
        "sealed": report.sealed,
        "exposed": report.exposed,
        "checkpoints": report.checkpoints,
        "origin": report.origin,
        "root": report.root.hex(),
        "key": key,
        "fault": None
        if fault is None
        else {"entry": fault.entry, "until": fault.until, "reason": fault.reason},
    }


def _verdict(answer: Answer) -> Iterator[str]:
    fault = answer["fault"]
    if fault is not None and not answer["root"]:
        yield f"this is no whole export of a ledger: {safe(fault['reason'])}"
        return
    if fault is not None:
        place = (
            f"entry {fault['entry']}"
            if fault["until"] is None
            else f"entries {fault['entry']} to {fault['until']}"
        )
        yield f"the ledger is broken: {place}: {safe(fault['reason'])}"
        proven = counted(answer["entries"], "entry")
        yield f"proven before that: {proven}, {answer['sealed']} of them signed"
        return
    if answer.get("changed"):
        yield f"these memories are not what the ledger says they were: {', '.join(answer['changed'])}"
    checkpoints = counted(answer["checkpoints"], "checkpoint")
    yield f"the ledger is sound: {counted(answer['entries'], 'entry')}, {checkpoints}"
    if answer["exposed"]:
        newer = counted(answer["exposed"], "entry is", "entries are")
        yield f"{newer} newer than the last checkpoint, and not proven yet"
    if answer.get("unreadable"):
        broken = counted(answer["unreadable"], "checkpoint")
        yield f"{broken} cannot be read, as when a process ended while it wrote one"
    yield from _state_lines(answer.get("state"))
    if answer["key"]:
        yield f"public key: {answer['key']}"


def _state_lines(state: Answer | None) -> Iterator[str]:
    if state is None:
        return
    compared = f"{counted(state['versions'], 'version')} and {counted(state['rows'], 'other row')}"
    if state["ok"]:
        yield f"the state is what the ledger says: {compared}"
        return
    differences = counted(len(state["differences"]), "difference")
    yield f"the state is NOT what the ledger says: {differences} in {compared}"
    for one in state["differences"][:_MOST_DIFFERENCES]:
        yield safe(f"  {one['kind']} {one['subject']}: {one['detail']}")
    if len(state["differences"]) > _MOST_DIFFERENCES:
        yield "  see all of them with --json"


def _log_lines(answer: Answer, cli: CliContext, limit: int, **wanted: Json) -> Iterator[str]:
    if not answer["entries"]:
        yield "no entry matches"
        yield from _known(cli, **wanted)
        if not wanted["all_agents"]:
            yield f"  of agent {safe(cli.settings.agent)}; --all-agents shows what every agent did"
        if cli.server is None:
            yield from left_out(other_tenants(cli))
        return
    headers = ["ENTRY", "AT", "OPERATION", "KIND", "ACTOR", "SUBJECT", "WHAT"]
    rows = [_row(entry) for entry in answer["entries"]]
    yield from table(headers, rows, elastic="WHAT", width=terminal_width())
    if answer["next"]:
        asked = {**wanted, "limit": None if limit == _PAGE else limit, "before": answer["next"]}
        yield f"older ones with: {cli.again('audit', 'log', *_options(asked))}"


def _known(cli: CliContext, **wanted: Json) -> Iterator[str]:
    """The names among the newest entries, to suggest one for a name that is not known."""
    for name in _NAMED:
        if wanted[name] is not None:
            others = _entries(cli, None, None, _LOOKED_AT, **{**wanted, **dict.fromkeys(_NAMED)})
            known = sorted({entry[name] for entry in others})
            if wanted[name] not in known and known:
                yield f"  no {name} {safe(str(wanted[name]))}; there are: {safe(', '.join(known))}"


def _options(asked: Mapping[str, Json]) -> Iterator[str]:
    """The options that were asked for, as one would type them."""
    for name, value in asked.items():
        if value not in (None, False):
            yield f"--{name.replace('_', '-')}"
            yield from () if value is True else (str(value),)


def _row(entry: dict[str, Json]) -> list[str]:
    committed = [f"{one['id']} v{one['version']}" for one in entry.get("commitments", ())]
    return [
        str(entry["seq"]),
        moment(entry["at"]),
        entry["operation"],
        entry["kind"],
        entry["actor"],
        entry.get("subject", ""),
        ", ".join(committed) or safe("; ".join(_details(entry.get("details", {})))),
    ]


def _details(details: Mapping[str, Json]) -> Iterator[str]:
    """What else an entry says, in words: a hit of a recall is an id with its version."""
    for name, value in details.items():
        if name == "hits":
            yield ", ".join(f"{id} v{version}" for id, version, *_ in value) or "no hits"
        elif isinstance(value, list) and all(isinstance(one, str) for one in value):
            yield f"{name} {', '.join(value) or 'none'}"
        else:
            yield f"{name} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def _deliver(cli: CliContext, lines: Iterator[str], output: Path | None) -> None:
    """To standard output, or to a file for its owner alone."""
    if output is None:
        for line in lines:
            click.echo(line)
        return
    from memorywire.journal.audit import write_lines

    count = write_lines(lines, output)
    cli.show(
        {"output": str(output), "lines": count}, lambda said: [f"wrote {counted(count, 'line')} to {output}"]
    )
