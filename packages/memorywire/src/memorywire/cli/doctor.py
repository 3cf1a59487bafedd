"""`memorywire doctor`: what is installed, where the data is, whether it is healthy, what would be fixed."""

import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
from msgspec.structs import replace

from memorywire import __version__
from memorywire.cli.app import file_of, store_exists
from memorywire.cli.context import Answer, CliContext, of_everybody
from memorywire.cli.problems import STORE_FAILURE
from memorywire.cli.terminal import safe, without_secrets
from memorywire.model.clock import system_clock
from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire.model.record import Json
from memorywire.model.text import counted

if TYPE_CHECKING:
    from memorywire.stores.remote.client import Place


_SECONDS = 10
_VARIABLE = "MEMORYWIRE_TOKEN"
_MOST_BYTES = 1_000_000


def examine_server(url: str) -> Answer:
    """What a server says of itself, and what is wrong with it."""
    from memorywire.stores.remote.client import locate

    try:
        place = locate(url, os.environ.get(_VARIABLE))
    except InvalidRequest as error:
        raise click.BadParameter(f"{error.detail}; {error.fix}", param_hint="--url") from error
    health, ready, capabilities = (_get(place, path) for path in ("/healthz", "/readyz", "/v0/capabilities"))
    findings = list(_server_findings(health, ready, capabilities))
    return {
        "ok": not findings,
        "memorywire": __version__,
        "server": {
            "url": without_secrets(url),
            "alive": health.status == 200,
            "ready": ready.status == 200,
            "stores": capabilities.said.get("stores", []) if capabilities.status == 200 else [],
        },
        "findings": findings,
    }


def render_server(answer: Answer) -> Iterator[str]:
    server = answer["server"]
    yield f"server      {safe(server['url'])}"
    for store in server["stores"]:
        yield f"store       {safe(store['name'])}: {safe(', '.join(store['features']))}"
    for finding in answer["findings"]:
        yield f"problem     {safe(finding['what'])}"
        yield f"  fix: {safe(finding['fix'])}"
    yield "healthy" if answer["ok"] else "not healthy"


class _Reply(NamedTuple):
    """The status and the document of an answer; 0 when there was none."""

    status: int
    said: dict[str, Json]


def _get(place: "Place", path: str) -> _Reply:
    from memorywire.runtime import http

    url = f"{place.origin}{place.path}{path}"
    try:
        response = http.request("GET", url, None, place.headers, timeout=_SECONDS, max_bytes=_MOST_BYTES)
        document = json.loads(response.body)
    except (http.HttpError, ValueError) as error:
        return _Reply(0, {"detail": str(error)})
    return _Reply(response.status, document if isinstance(document, dict) else {})


def _server_findings(health: _Reply, ready: _Reply, capabilities: _Reply) -> Iterator[dict[str, Json]]:
    if health.status != 200:
        why = health.said.get("detail", health.status)
        yield _server_finding(f"no memorywire answers there: {why}", "start it, or check the URL")
        return
    if ready.said.get("status") == "read-only":
        yield _server_finding("the server can only read its store", "make its file, folder and disk writable")
    elif ready.status != 200:
        yield _server_finding("the server lives but cannot answer", "look into its log, and at its store")
    if capabilities.status == 401:
        yield _server_finding("the server does not know us", f"put a token into {_VARIABLE}")
    elif capabilities.status != 200:
        why = capabilities.said.get("detail")
        yield _server_finding(f"it refuses to say what it can do: {why}", "check the token's role")


def _server_finding(what: str, fix: str) -> dict[str, Json]:
    return {"what": what, "fix": fix, "serious": True}


_PRIVATE = 0o600
_LATE_MS = 600_000  # after which an entry should be signed, however little is written
_MOST = 20  # broken files that are named
_ROOM = 16 * 1024 * 1024  # of free bytes: the write-ahead log alone may need as much


@click.command("doctor")
@click.option("--url", metavar="URL", help="Examine a server instead; its token is in MEMORYWIRE_TOKEN.")
@of_everybody
def doctor_command(cli: CliContext, url: str | None) -> None:
    """Examine the installation and the data, or the server that --url or MEMORYWIRE_URL names.

    Says what is installed, which settings were read, whether the embedder answers and the data is
    healthy, and what would be fixed. Exits with 4 when something is not healthy. A store that does
    not exist yet is not created. SQLite files are read whole: each row is compared with its checksum and
    its index entries, and each vector must be of length one.
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

    sqlite, embedder = _sqlite(), asyncio.run(_embedder(cli))
    stores = [_store(cli, url) for url in cli.settings.stores]
    findings = [*_engine_findings(sqlite), *_findings("embedder", embedder), *_variable_findings()]
    findings += _config_findings(cli.settings.sources)
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


def _sqlite() -> dict[str, Json]:
    from memorywire.stores.sqlite.connection import sqlite_version, wal_is_safe

    version = sqlite_version()
    return {"version": version, "safe": wal_is_safe(version)}


async def _embedder(cli: CliContext) -> dict[str, Json]:
    from memorywire.search.embed import open_embedder

    began = time.perf_counter()
    try:
        embedder = open_embedder(cli.settings.embedder, api_key=cli.settings.embedder_key)
        await embedder.embed(["are you there?"])
        await embedder.close()
    except MemorywireError as error:
        return {"name": without_secrets(cli.settings.embedder), "problem": error.problem()}
    return {
        "name": without_secrets(cli.settings.embedder),
        "space": str(embedder.space),
        "first_answer_ms": round((time.perf_counter() - began) * 1000),
        **(_built_in() if cli.settings.embedder.partition("?")[0] == "minilm" else {}),
    }


def _built_in() -> dict[str, Json]:
    """Which kernel the built-in model runs on, and whether every byte of it is as published."""
    import memorywire_minilm

    kernel = {"kernel": memorywire_minilm.kernels()[0]}
    try:
        memorywire_minilm.verify()
    except memorywire_minilm.ModelDamaged as error:
        return {**kernel, "problem": {"detail": str(error), "fix": "install memorywire-minilm again"}}
    return kernel


def _store(cli: CliContext, url: str) -> dict[str, Json]:
    from memorywire.stores.sqlite.connection import refuse_if_lost

    named: dict[str, Json] = {"url": without_secrets(url)}
    try:
        if (path := file_of(url)) is not None:
            refuse_if_lost(path)
        if not store_exists(url):
            return {**named, "exists": False}
        with cli.under(replace(cli.settings, stores=(url,))).memory() as memory:
            health = memory.health()["stores"][0]
        if path is not None and health["ok"]:
            health |= _rows(path)
        if path is not None and health["ok"]:
            health |= _state(cli, url)
        return {**named, "exists": True, **health}
    except MemorywireError as error:
        return {**named, "problem": error.problem()}


def _rows(path: Path) -> dict[str, Json]:
    """What is wrong with the rows and the ledger of a SQLite file, and how many rows have no checksum."""
    from memorywire.journal.sqlite.files import check_file

    check = check_file(path)
    since = check.unsigned_since
    late = {"unsigned_entries": check.unsigned} if since and system_clock() - since > _LATE_MS else {}
    integrity = {"ok": False, "integrity": "; ".join(check.problems)} if check.problems else {}
    return {**integrity, **late, "rows_without_checksum": check.unchecked}


def _state(cli: CliContext, url: str) -> dict[str, Json]:
    """How the state compares with the ledger, where both are in one database."""
    from memorywire.cli.app import as_sqlite, run_in_journal

    if as_sqlite(url) is None:
        return {}
    report = run_in_journal(replace(cli.settings, stores=(url,)), lambda journal: journal.verify_state())
    differences = [str(one) for one in report.differences[:_MOST]]
    return {"verified_to": report.entries, "differences": differences}


def _findings(what: str, examined: dict[str, Json]) -> Iterator[dict[str, Json]]:
    if "problem" in examined:
        problem = examined["problem"]
        yield _finding(f"{what}: {problem['detail']}", problem.get("fix", "see the detail"), serious=True)


def _engine_findings(sqlite: dict[str, Json]) -> Iterator[dict[str, Json]]:
    if not sqlite["safe"]:
        what = f"SQLite {sqlite['version']} can lose committed writes"
        yield _finding(what, "install apsw 3.51.3.0 or newer", serious=True)


def _variable_findings() -> Iterator[dict[str, Json]]:
    from memorywire.app.settings import misspelt

    for name, meant in misspelt(os.environ).items():
        yield _finding(f"{name} is no setting: nobody reads it", f"did you mean {meant}?", serious=False)


def _config_findings(sources: Iterable[str]) -> Iterator[dict[str, Json]]:
    """Findings: a settings file holds a password or key in clear."""
    from memorywire.app.settings import literal_secrets

    for path in filter(Path.is_file, map(Path, sources)):
        for name in literal_secrets(path):
            what = f"{path}: {name} holds a password or key in clear"
            yield _finding(
                what, "write ${NAME} in its place and set that environment variable", serious=False
            )


def _store_findings(store: dict[str, Json]) -> Iterator[dict[str, Json]]:
    yield from _findings(store["url"], store)
    yield from _debt_findings(store)
    yield from _broken_findings(store)
    yield from _unsigned_findings(store)
    if store.get("ok") is False:
        what = f"{store['url']}: damaged: {store.get('integrity', 'the store says it is not fit for use')}"
        yield _finding(what, "restore it from a copy", serious=True)
    path = store.get("path")
    if path and Path(path).is_file():
        yield from _file_findings(Path(path))
    yield from _word_findings(store)
    for difference in store.get("differences", ()):
        what = f"{store['url']}: the state differs from the ledger: {difference}"
        yield _finding(what, "see all of it with: memorywire audit verify --state", serious=True)
    if store.get("erase_pending"):
        what = f"{store['url']}: erased content is still in the write-ahead log"
        yield _finding(what, "close the other processes that read it and run doctor again", serious=False)


def _file_findings(path: Path) -> Iterator[dict[str, Json]]:
    """Findings: others can read the file, or there is no room for the next write."""
    from memorywire.stores.sqlite.location import Location

    if path.stat().st_mode & 0o777 & ~_PRIVATE:
        yield _finding(f"{path} can be read by others", f"chmod 600 {path}", serious=False)
    if not Location(path=path).writable:
        what = f"{path} cannot be written: nothing can be remembered or recalled"
        yield _finding(what, "check the permissions of the file and its folder, and the mount", serious=True)
    elif (free := shutil.disk_usage(path).free) < _ROOM:
        what = f"{free // 1024} KiB are free beside {path}: the next write may fail"
        yield _finding(what, "free some space on that disk", serious=True)


def _debt_findings(store: dict[str, Json]) -> Iterator[dict[str, Json]]:
    if store.get("debts"):
        what = f"{store['url']}: {counted(store['debts'], 'change waits', 'changes wait')} to be written"
        yield _finding(what, "see them with: memorywire debts", serious=False)


def _word_findings(store: dict[str, Json]) -> Iterator[dict[str, Json]]:
    from memorywire.search.text import EDITION

    if store.get("versions") and store.get("words", EDITION) < EDITION:
        what = f"{store['url']}: memories of an earlier release are not found by all their words"
        yield _finding(what, f"memorywire reembed --store {shlex.quote(store['url'])}", serious=False)


def _unsigned_findings(store: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """Entries that should have been signed long ago: no write fails because of them."""
    if store.get("unsigned_entries"):
        entries = counted(store["unsigned_entries"], "entry of the ledger is", "entries of the ledger are")
        yield _finding(
            f"{store['url']}: {entries} not signed", "sign them: memorywire audit checkpoint", serious=False
        )


def _broken_findings(store: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """Files of a folder that hold no memory, which their writers may believe to be remembered."""
    broken = store.get("broken") or ()
    for one in broken[:_MOST]:
        what = f"{store['url']}: {one['file']} is not read: {one['detail']}"
        yield _finding(what, "mend it, or move it out of the folder", serious=False)
    if len(broken) > _MOST:
        what = f"{store['url']}: {counted(len(broken) - _MOST, 'more file is', 'more files are')} not read"
        yield _finding(what, "see them all with: memorywire doctor --json", serious=False)


def _finding(what: str, fix: str, *, serious: bool) -> dict[str, Json]:
    return {"what": what, "fix": fix, "serious": serious}


def _render_report(answer: Answer) -> Iterator[str]:
    settings, embedder, sqlite = answer["settings"], answer["embedder"], answer["sqlite"]
    yield f"memorywire  {answer['memorywire']}"
    yield f"python      {answer['python']['version']}  {answer['python']['executable']}"
    yield f"sqlite      {sqlite['version']}  {'safe' if sqlite['safe'] else 'NOT SAFE'}"
    if "space" in embedder:
        kernel = f"  kernel {embedder['kernel']}" if "kernel" in embedder else ""
        yield f"embedder    {embedder['space']}{kernel}  first answer after {embedder['first_answer_ms']} ms"
    yield f"agent       {safe(settings['agent'])}"
    yield f"user        {safe(settings['user']) if settings['user'] is not None else 'all'}"
    yield f"settings    {', '.join(settings['sources']) or 'defaults only'}"
    for store in answer["stores"]:
        yield from _render_store(store)
    for finding in answer["findings"]:
        yield f"{'problem' if finding['serious'] else 'advice':12}{safe(finding['what'])}"
        yield f"  fix: {safe(finding['fix'])}"
    yield "healthy" if answer["ok"] else "not healthy"


def _render_store(store: dict[str, Json]) -> Iterator[str]:
    yield f"store       {safe(store['url'])}"
    if store.get("exists") is False:
        yield "  not there yet; the first remember makes it"
    for name, value in store.items():
        if name not in ("url", "exists", "problem"):
            shown = str(len(value)) if name == "broken" else str(value)
            yield f"  {name:14}{safe(shown)}"
