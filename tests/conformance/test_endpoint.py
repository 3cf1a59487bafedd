"""Any endpoint that speaks the wire can be examined: here ours, and one that breaks its word."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memorywire_testing.report import Mark
from memorywire_testing.scenario import examine_endpoint
from tests.cli.shell import Shell
from tests.http.elsewhere import answering
from tests.http.server import serving


def test_our_own_server_plays_every_scenario_it_can_twice_over() -> None:
    with serving() as server:
        for _ in range(2):
            found = asyncio.run(examine_endpoint(server.client.url))
            assert [(one.check, one.detail) for one in found.failures] == []
    assert len(found.marked(Mark.PASSED)) >= 30
    assert all("needs" in str(one.detail) for one in found.marked(Mark.SKIPPED))


def test_the_command_takes_an_http_url_for_an_endpoint(tmp_path: Path) -> None:
    with serving() as server, _parrot() as parrot:
        good, bad = (Shell(tmp_path)("conformance", url) for url in (server.client.url, parrot))
    assert good.code == 0, good.out
    assert "passed" in good.out.splitlines()[-1]
    assert (bad.code, "failed" in bad.out.splitlines()[-1]) == (1, True)


@contextmanager
def _parrot() -> Iterator[str]:
    """Answers everything with success, and with the same words."""
    said = json.dumps({"id": "x", "status": "committed"}).encode()
    with answering(lambda asked, _: asked.reply(200, said)) as place:
        yield f"http://{place}"


def test_an_endpoint_that_breaks_the_schemas_passes_nothing() -> None:
    with _parrot() as url:
        found = asyncio.run(examine_endpoint(url))
    assert found.marked(Mark.PASSED) == ()
    assert any("breaks its schema" in str(one.detail) for one in found.failures)


def test_where_nobody_answers_or_lets_one_in_nothing_is_called_broken(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    with serving() as server:
        address = server.client.url
        server.operator("ana", "reader")
        closed = shell("conformance", address)
    away = shell("conformance", address)
    assert (closed.code, closed.out, "no valid token" in closed.err) == (3, "", True)
    assert (away.code, away.out, "did not answer" in away.err) == (4, "", True)


def test_a_report_without_a_place_to_go_to_is_refused_before_it_is_made(tmp_path: Path) -> None:
    done = Shell(tmp_path)("conformance", "memory://", "--html", str(tmp_path / "nowhere" / "report.html"))
    assert (done.code, done.out) == (2, "")
    assert "there is no folder for" in done.err
