"""`memorywire doctor`: check the installation, the settings and the data, of a store or of a server."""

import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
from msgspec.structs import replace

from memorywire import __version__
from memorywire.cli.app import find_file, run_in_app, store_exists
from memorywire.cli.context import Answer, CliContext, without_scope
from memorywire.cli.inputs import option
from memorywire.cli.problems import STORE_FAILURE
from memorywire.cli.terminal import clean, mask_secrets
from memorywire.model.clock import system_clock
from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire.model.record import Json
from memorywire.model.text import counted

if TYPE_CHECKING:
    from memorywire.app.container import Container
    from memorywire.journal.state import StateReport

_VARIABLE = "MEMORYWIRE_TOKEN"


class _Reply(NamedTuple):
    """The status and the document of a response; 0 if there was none."""

    status: int
    document: dict[str, Json]


def examine_server(url: str) -> Answer:
    """Return what a server reports, and the findings."""
    from memorywire.runtime import http
    from memorywire.stores.remote.client import locate

    try:
        place = locate(url, os.environ.get(_VARIABLE))
    except InvalidRequest as error:
        raise click.BadParameter(f"{error.detail}; {error.fix}", param_hint="--url") from error

    def get(path: str) -> _Reply:
        address = f"{place.origin}{place.path}{path}"
        try:
            response = http.request("GET", address, None, place.headers, timeout=10, max_bytes=1_000_000)
            document = json.loads(response.body)
        except (http.HttpError, ValueError) as error:
            return _Reply(0, {"detail": str(error)})
        return _Reply(response.status, document if isinstance(document, dict) else {})

    health, ready, capabilities = map(get, ("/healthz", "/readyz", "/v0/capabilities"))
    findings = [
        _finding(what, fix, serious=True) for what, fix in _server_findings(health, ready, capabilities)
    ]
    return {
        "ok": not findings,
        "memorywire": __version__,
        "server": {
            "url": mask_secrets(url),
            "alive": health.status == 200,
            "ready": ready.status == 200,
            "stores": capabilities.document.get("stores", []) if capabilities.status == 200 else [],
        },
        "findings": findings,
    }


def _server_findings(health: _Reply, ready: _Reply, capabilities: _Reply) -> Iterator[tuple[str, str]]:
    if health.status != 200:
        why = health.document.get("detail", health.status)
        yield f"no memorywire server answers: {why}", "start it, or check the URL"
        return
    if ready.document.get("status") == "read-only":
        yield "the store of the server is read-only", "make its file, folder and disk writable"
    elif ready.status != 200:
        yield "the server runs but is not ready", "see its log, and check its store"
    if capabilities.status == 401:
        yield "the server refuses the token", f"put a token into {_VARIABLE}"
    elif capabilities.status != 200:
        why = capabilities.document.get("detail")
        yield f"the server refuses to list its capabilities: {why}", "check the token's role"


def render_server(answer: Answer) -> Iterator[str]:
    yield f"server      {clean(answer['server']['url'])}"
    for store in answer["server"]["stores"]:
        yield f"store       {clean(store['name'])}: {clean(', '.join(store['features']))}"
    yield from _render_findings(answer)


_PRIVATE = 0o600
_LATE_MS = 600_000  # after which an entry should be signed
_SLOW = ("numpy", "onnx", "c")  # kernels of the embedder
_FASTER = (
    "install a wheel of memorywire-minilm for this machine, or a C compiler and memorywire-minilm again; "
    "onnxruntime (memorywire-minilm[onnx]) needs about half the time of numpy"
)
_MOST = 20  # the most broken files that are listed
_ROOM = 16 * 1024 * 1024  # free bytes: the write-ahead log alone may need as much


@click.command("doctor")
@option("--url URL", "Check this server instead; its token is in MEMORYWIRE_TOKEN.")
@without_scope
def doctor_command(cli: CliContext, url: str | None) -> None:
    """Check the installation, the settings and the data.

    With --url or MEMORYWIRE_URL it checks that server. Shows what is installed, which settings were read,
    whether the embedder answers and the data is healthy, and how to fix problems. Exits with 4 if something
    is not healthy. A store that does not exist is not created. SQLite files are read completely: each row is
    compared with its checksum and index entries, and each vector must have length one.
    """
    server = url or cli.server
    if server is None:
        answer = _examine(cli)
        cli.show(answer, _render_report)
    else:
        answer = examine_server(server)
        cli.show(answer, render_server)
    if not answer["ok"]:
        raise click.exceptions.Exit(STORE_FAILURE)


def _examine(cli: CliContext) -> Answer:
    import asyncio

    from memorywire.app.settings import literal_secrets, misspelt
    from memorywire.stores.sqlite.connection import sqlite_version, wal_is_safe

    version = sqlite_version()
    sqlite, embedder = {"version": version, "safe": wal_is_safe(version)}, asyncio.run(_embedder(cli))
    stores = [_store(cli, url) for url in cli.settings.stores]
    findings = []
    if not sqlite["safe"]:
        what = f"SQLite {version} can lose committed writes"
        findings.append(_finding(what, "install apsw 3.51.3.0 or newer", serious=True))
    findings += _problem_findings("embedder", embedder)
    findings += _name_findings()
    for name, suggestion in misspelt(os.environ).items():
        what = f"{name} is not a setting and has no effect"
        findings.append(_finding(what, f"did you mean {suggestion}?"))
    for path in filter(Path.is_file, map(Path, cli.settings.sources)):
        for name in literal_secrets(path):
            fix = "write ${NAME} in its place and set that environment variable"
            findings.append(_finding(f"{path}: {name} contains a password or key", fix))
    findings += [finding for store in stores for finding in _store_findings(store)]
    return {
        "ok": not any(finding["serious"] for finding in findings),
        "memorywire": __version__,
        "python": {"version": sys.version.split()[0], "executable": sys.executable},
        "sqlite": sqlite,
        "embedder": embedder,
        "stores": stores,
        "settings": {
            "agent": cli.settings.agent,
            "user": cli.settings.user,
            "home": str(cli.settings.home),
            "sources": list(cli.settings.sources),
        },
        "findings": findings,
    }


async def _embedder(cli: CliContext) -> dict[str, Json]:
    from memorywire.search.embed import open_embedder

    started = time.perf_counter()
    try:
        embedder = open_embedder(cli.settings.embedder, api_key=cli.settings.embedder_key)
        await embedder.embed(["are you there?"])
        await embedder.close()
    except MemorywireError as error:
        return {"name": mask_secrets(cli.settings.embedder), "problem": error.problem()}
    answer: Answer = {
        "name": mask_secrets(cli.settings.embedder),
        "space": str(embedder.space),
        "first_answer_ms": round((time.perf_counter() - started) * 1000),
    }
    if cli.settings.embedder.partition("?")[0] == "minilm":
        import memorywire_minilm

        kernel = getattr(embedder, "kernel", None) or memorywire_minilm.kernels()[0]
        answer["kernel"] = kernel
        if kernel in _SLOW:
            answer["faster"] = _FASTER
        try:
            memorywire_minilm.verify()  # its files are as published
        except memorywire_minilm.ModelDamaged as error:
            answer["problem"] = {"detail": str(error), "fix": "install memorywire-minilm again"}
    return answer


def _store(cli: CliContext, url: str) -> dict[str, Json]:
    from memorywire.stores.sqlite.connection import refuse_if_lost

    store: dict[str, Json] = {"url": mask_secrets(url)}
    settings = replace(cli.settings, stores=(url,))
    try:
        if (path := find_file(url)) is not None:
            refuse_if_lost(path)
        if not store_exists(url):
            return {**store, "exists": False}
        with cli.with_settings(settings) as store_cli:
            health = store_cli.memory().health()["stores"][0]
        if path is not None and health["ok"]:
            health |= _rows(path)
        report = run_in_app(settings, _verify_state) if health["ok"] else None
        if report is not None:
            differences = [str(one) for one in report.differences[:_MOST]]
            health |= {"verified_to": report.entries, "differences": differences}
        return {**store, "exists": True, **health}
    except MemorywireError as error:
        return {**store, "problem": error.problem()}


async def _verify_state(container: "Container") -> "StateReport | None":
    """Compare the state with the ledger, if both are in one database."""
    journal = container.journal
    is_shared = journal is not None and journal.backend.shares(container.context.store)
    return await journal.verify_state() if journal is not None and is_shared else None


def _rows(path: Path) -> dict[str, Json]:
    """Return faults of the rows and the ledger of a SQLite file, and the number of rows without checksum."""
    from memorywire.journal.sqlite.files import check_file

    check = check_file(path)
    since = check.unsigned_since
    late = {"unsigned_entries": check.unsigned} if since and system_clock() - since > _LATE_MS else {}
    integrity = {"ok": False, "integrity": "; ".join(check.problems)} if check.problems else {}
    return {**integrity, **late, "rows_without_checksum": check.unchecked}


def _problem_findings(what: str, part: dict[str, Json]) -> Iterator[dict[str, Json]]:
    if "problem" in part:
        problem = part["problem"]
        yield _finding(f"{what}: {problem['detail']}", problem.get("fix", "see the detail"), serious=True)


def _name_findings() -> Iterator[dict[str, Json]]:
    """Yield a finding if the distribution `memorywire`, another product, has files where ours are."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        other = distribution("memorywire")
    except PackageNotFoundError:
        return
    if "memorywire/__init__.py" in map(str, other.files or ()):
        what = f"memorywire {other.version} is another product that provides the import memorywire too"
        fix = "pip uninstall memorywire memorywire-core, and install memorywire-core again"
        yield _finding(what, fix, serious=True)


def _store_findings(store: dict[str, Json]) -> Iterator[dict[str, Json]]:
    from memorywire.search.text import EDITION

    url = store["url"]
    yield from _problem_findings(url, store)
    if store.get("debts"):
        what = f"{url}: {counted(store['debts'], 'change is', 'changes are')} not written yet"
        yield _finding(what, "see them with: memorywire debts")
    yield from _broken_findings(url, store.get("broken") or ())
    for file in store.get("strays") or ():
        what = f"{url}: {file} is outside of memories/TENANT/AGENT/ and is not read"
        yield _finding(what, "move it there, or leave it where it is if it is no memory")
    if store.get("unsigned_entries"):  # writes do not fail because of them
        entries = counted(store["unsigned_entries"], "entry of the ledger is", "entries of the ledger are")
        yield _finding(f"{url}: {entries} not signed", "sign them: memorywire audit checkpoint")
    if store.get("ok") is False:
        what = f"{url}: damaged: {store.get('integrity', 'the store reports a fault')}"
        yield _finding(what, "restore it from a backup", serious=True)
    path = store.get("path")
    if path and Path(path).is_file():
        yield from _file_findings(Path(path))
    if store.get("versions") and store.get("words", EDITION) < EDITION:
        what = f"{url}: memories of an earlier release are not indexed by all their words"
        yield _finding(what, f"memorywire reembed --store {shlex.quote(url)}")
    for difference in store.get("differences", ()):
        what = f"{url}: the state differs from the ledger: {difference}"
        yield _finding(what, "see all of it with: memorywire audit verify --state", serious=True)
    if store.get("erase_pending"):
        what = f"{url}: erased content is still in the write-ahead log"
        yield _finding(what, "close the other processes that read it and run doctor again")


def _file_findings(path: Path) -> Iterator[dict[str, Json]]:
    """Yield findings: others can read the file, it is read-only, or the disk is full."""
    from memorywire.stores.sqlite.location import Location

    if os.name != "nt" and path.stat().st_mode & 0o777 & ~_PRIVATE:
        yield _finding(f"{path} can be read by others", f"chmod 600 {path}")
    if not Location(path=path).writable:
        what = f"{path} is read-only: remember and recall fail"
        yield _finding(what, "check the permissions of the file and its folder, and the mount", serious=True)
    elif (free := shutil.disk_usage(path).free) < _ROOM:
        what = f"only {free // 1024} KiB are free on the disk of {path}: the next write may fail"
        yield _finding(what, "free space on that disk", serious=True)


def _broken_findings(url: str, files: Sequence[dict[str, Json]]) -> Iterator[dict[str, Json]]:
    """Yield findings for files of a Markdown folder that cannot be read as memories."""
    for one in files[:_MOST]:
        what = f"{url}: {one['file']} is not read: {one['detail']}"
        yield _finding(what, "correct it, or move it out of the folder")
    if len(files) > _MOST:
        what = f"{url}: {counted(len(files) - _MOST, 'more file is', 'more files are')} not read"
        yield _finding(what, "see them all with: memorywire doctor --json")


def _finding(what: str, fix: str, *, serious: bool = False) -> dict[str, Json]:
    return {"what": what, "fix": fix, "serious": serious}


def _render_findings(answer: Answer) -> Iterator[str]:
    for finding in answer["findings"]:
        yield f"{'problem' if finding['serious'] else 'advice':12}{clean(finding['what'])}"
        yield f"  fix: {clean(finding['fix'])}"
    yield "healthy" if answer["ok"] else "not healthy"


def _render_report(answer: Answer) -> Iterator[str]:
    settings, embedder, sqlite = answer["settings"], answer["embedder"], answer["sqlite"]
    yield f"memorywire  {answer['memorywire']}"
    yield f"python      {answer['python']['version']}  {answer['python']['executable']}"
    yield f"sqlite      {sqlite['version']}  {'safe' if sqlite['safe'] else 'NOT SAFE'}"
    if "space" in embedder:
        kernel = f"  kernel {embedder['kernel']}" if "kernel" in embedder else ""
        yield f"embedder    {embedder['space']}{kernel}  first answer after {embedder['first_answer_ms']} ms"
        if "faster" in embedder:
            yield f"            faster: {embedder['faster']}"
    yield f"agent       {clean(settings['agent'])}"
    yield f"user        {clean(settings['user']) if settings['user'] is not None else 'all'}"
    yield f"settings    {', '.join(settings['sources']) or 'defaults only'}"
    for store in answer["stores"]:
        yield f"store       {clean(store['url'])}"
        if store.get("exists") is False:
            yield "  does not exist yet; the first remember creates it"
        for name, value in store.items():
            if name not in ("url", "exists", "problem"):
                yield f"  {name:14}{clean(str(len(value) if name == 'broken' else value))}"
    yield from _render_findings(answer)
