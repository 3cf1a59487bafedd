"""Any endpoint that speaks the wire can be examined: here ours, and one that breaks its word."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memorywire.wire import spec
from memorywire_testing.report import Mark
from memorywire_testing.scenario import examine_endpoint
from tests.cli.shell import Shell
from tests.http.elsewhere import answering
from tests.http.server import serving
from tests.http.test_command import started


def test_our_own_server_plays_every_scenario_it_can_twice_over() -> None:
    with serving() as server:
        for _ in range(2):
            found = asyncio.run(examine_endpoint(server.client.url))
            assert [(one.check, one.detail) for one in found.failures] == []
    assert len(found.marked(Mark.PASSED)) >= 30
    assert all("needs" in str(one.detail) for one in found.marked(Mark.SKIPPED))


def test_our_server_under_test_plays_every_scenario_and_skips_none(tmp_path: Path) -> None:
    with started(Shell(tmp_path), "--conformance") as (client, _):
        for _ in range(2):
            found = asyncio.run(examine_endpoint(client.url))
            assert [(one.check, one.detail) for one in found.failures] == []
            assert len(found.marked(Mark.PASSED)) == len(spec.scenarios())
        bad = {"clock": "soon"}, {"clock": -1}, {"clock": 10**15}, {"clock": 1, "more": 2}, [], {}
        for body in bad:
            refused = client.post("/v0/conformance/begin", body)
            assert (refused.status, refused.json["field"]) == (422, "clock")
        assert client.post("/v0/conformance/advance", {"advance_ms": 10**15}).json["field"] == "advance_ms"


def test_a_scenario_sees_nothing_of_the_one_before_it(tmp_path: Path) -> None:
    with started(Shell(tmp_path), "--conformance") as (client, _):
        client.post("/v0/conformance/begin", {"clock": 1_700_000_000_000})
        written = client.remember("Ana likes tea.", id="tea")
        assert client.post("/v0/conformance/advance", {"advance_ms": 5}).json == {"clock": 1_700_000_000_005}
        assert client.get("/v0/memories/tea", agent_id="a").json["created_at"] == 1_700_000_000_000
        client.post("/v0/conformance/begin", {"clock": 1_600_000_000_000})
        assert client.get("/v0/memories/tea", agent_id="a").status == 404
        again = client.remember("Ana likes tea.", id="tea")
        assert (written["status"], again["status"]) == ("committed", "committed")
        assert client.get("/v0/memories/tea", agent_id="a").json["created_at"] == 1_600_000_000_000


def test_nobody_sets_the_clock_of_a_server_in_use(tmp_path: Path) -> None:
    with serving() as server:
        assert server.client.post("/v0/conformance/begin", {"clock": 1}).status == 404
    shell = Shell(tmp_path)
    for options in (("--host", "0.0.0.0"), ("--demo",), ("--oidc-issuer", "https://idp.example")):
        done = shell("serve", "--conformance", *options, *_OIDC[: 4 * ("--oidc-issuer" in options)])
        assert (done.code, done.out, "--conformance" in done.err) == (2, "", True)
    assert not any(tmp_path.rglob("*.db"))


_OIDC = ("--oidc-audience", "memory", "--oidc-keys", "keys.json")


@pytest.mark.parametrize("policy", ["balanced", "strict"])
def test_what_the_policy_of_a_server_holds_is_no_fault_of_its_answers(policy: str) -> None:
    with serving(policy=policy) as server:
        found = asyncio.run(examine_endpoint(server.client.url))
    assert [(one.check, one.detail) for one in found.failures] == []
    held = [one.check for one in found.marked(Mark.SKIPPED) if "policy" in str(one.detail)]
    assert ("forget_by_filter" in held) == (policy == "strict")


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
