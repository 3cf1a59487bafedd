"""Recalls are noted with the session, run and trace that they are asked for, and found by them."""

import json
from pathlib import Path
from typing import Any

import pytest

from memorywire import Memory
from memorywire.model.errors import InvalidRequest
from memorywire.sync import Memory as Blocking
from tests.cli.shell import Shell
from tests.engine.stage import STORES, HandClock, play
from tests.http.server import serving

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


async def ask_for_two_runs(memory: Memory, clock: HandClock) -> None:
    await memory.remember("Ana lives in Graz")
    first = await memory.recall("Where does Ana live?", session_id="chat", run_id="one", trace_id="t1")
    second = await memory.context("Where does Ana live?", session_id="chat", run_id="two")
    await memory.recall("Where does Ana live?")

    async def found(**filters: Any) -> list[str]:
        return [one.recall_id for one in (await memory.recalls(**filters)).items]

    assert await found(run_id="one") == [first.recall_id]
    assert await found(session_id="chat") == [second.recall_id, first.recall_id]
    assert await found(session_id="chat", run_id="two") == [second.recall_id]
    assert await found(trace_id="t1") == [first.recall_id]
    assert await found(run_id="three") == []
    assert len(await found()) == 3
    [noted] = (await memory.recalls(run_id="one")).items
    assert (noted.session_id, noted.run_id, noted.trace_id) == ("chat", "one", "t1")
    reasons = await memory.why(second.recall_id)
    assert (reasons.session_id, reasons.run_id, reasons.trace_id) == ("chat", "two", None)


@pytest.mark.parametrize("url", STORES)
def test_recalls_are_found_by_session_run_and_trace(url: str) -> None:
    play(url, ask_for_two_runs)


def test_a_wrong_field_is_named_and_nothing_is_noted(tmp_path: Path) -> None:
    with Blocking("agent", f"sqlite://{tmp_path}/memory.db", policy="open") as memory:
        for name in ("session_id", "run_id", "trace_id"):
            for value in ("", 7, "x" * 257):
                with pytest.raises(InvalidRequest) as refusal:
                    memory.recall("Where?", **{name: value})
                assert refusal.value.field == name
                with pytest.raises(InvalidRequest) as refusal:
                    memory.recalls(**{name: value})
                assert refusal.value.field == name
        assert memory.recalls().items == ()


def test_a_secret_in_a_run_is_not_noted(tmp_path: Path) -> None:
    url, secrets = f"sqlite://{tmp_path}/memory.db", {"token": "hunter2-hunter2"}
    with Blocking("agent", url, secrets=secrets) as memory:
        answer = memory.recall("Where?", run_id="run hunter2-hunter2")
        assert "hunter2" not in str(memory.why(answer.recall_id).run_id)


def test_the_trace_of_a_request_is_noted_by_the_server() -> None:
    with serving() as server:
        body = {"agent_id": "a", "query": "Where?", "run_id": "r"}
        header = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01", "Content-Type": "application/json"}
        client = server.operator("boss", role="admin")
        assert client.send("POST", "/v0/recall", json.dumps(body).encode(), header).status == 200
        assert client.send("POST", "/v0/recall", json.dumps(body | {"trace_id": "own"}).encode(), header)
        assert client.post("/v0/recall", body).status == 200
        [noted] = client.get(f"/v0/recalls?trace_id={TRACE}").json["items"]
        assert noted["run_id"] == "r"
        assert len(client.get("/v0/recalls?trace_id=own").json["items"]) == 1
        plain = client.get("/v0/recalls?run_id=r").json["items"]
        assert [one.get("trace_id") for one in plain] == [None, "own", TRACE]
        refusal = client.get("/v0/recalls?run_id=")
        assert (refusal.status, refusal.json["field"]) == (422, "run_id")


def test_the_command_lists_recalls_of_a_run(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.remember("Ana lives in Graz")
    shell("recall", "Where does Ana live?", "--run", "r-1", "--session", "s-1", "--trace", "t-1")
    shell("recall", "Where does Ana live?")
    [one] = shell("why", "--run", "r-1", "--json").json["items"]
    assert (one["session_id"], one["trace_id"]) == ("s-1", "t-1")
    assert "r-1" in shell("why").out
    assert len(shell("why", "--json").json["items"]) == 2
    assert shell("why", one["recall_id"], "--run", "r-1").code == 2
    assert shell("why", "--run", "").code != 0
