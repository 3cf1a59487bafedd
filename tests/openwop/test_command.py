"""`memorywire serve --openwop` as a process."""

import json
import time
from pathlib import Path
from typing import Any

from tests.cli.shell import Shell
from tests.http.server import Client
from tests.http.test_command import started
from tests.openwop.stage import EXTENSION, good, refused
from tests.openwop.test_host import AGENT


def test_the_flags_open_the_host_and_its_test_endpoints(tmp_path: Path) -> None:
    shell, agents = Shell(tmp_path / "home"), tmp_path / "agents.json"
    agents.write_text(json.dumps([AGENT]), encoding="utf-8")
    with started(shell, "--openwop-agents", str(agents)) as (client, _):
        assert good(client.get("/.well-known/openwop"))["profiles"] == ["openwop-core", "openwop-memory"]
        assert good(client.get("/v1/agents"))["agents"] == [AGENT]
        refused(client.post("/v1/test/memory/seed", {}), 404, "not_found")
    with started(shell, "--openwop-test") as (client, _):
        refused(client.post("/v1/test/memory/seed", {}), 400, "validation_error")
    with started(shell) as (client, _):
        assert client.get("/.well-known/openwop").status == 404


def test_agents_that_are_none_are_refused_before_anything_is_served(tmp_path: Path) -> None:
    agents = tmp_path / "agents.json"
    agents.write_text("{}", encoding="utf-8")
    done = Shell(tmp_path / "home")("serve", "--port", "0", "--openwop-agents", str(agents))
    assert done.code == 2
    assert "JSON list" in done.err


def test_a_run_lasts_as_long_as_the_flag_says(tmp_path: Path) -> None:
    with started(Shell(tmp_path / "home"), "--openwop", "--openwop-run-hours", "0.001") as (client, _):
        while not (run := _noted(client)):  # on a busy machine it may be over before the note comes
            continue
        agent = {"agent_id": f"openwop-run:{run['runId']}:scratchpad"}
        while good(client.post("/v0/list", agent))["items"]:
            time.sleep(0.1)
        assert good(client.get(f"/v1/runs/{run['runId']}"))["error"]["code"] == "run_timeout"


def _noted(client: Client) -> dict[str, Any]:
    """A run with a note in its scratchpad, or nothing when it took none any more."""
    run: dict[str, Any] = good(client.post("/v1/runs", {"workflowId": "memorywire.session"}), 201)
    entry = {"memoryRef": run["memory"]["scratchpad"], "entry": {"content": "a note"}}
    return run if client.post(f"{EXTENSION}/runs/{run['runId']}/memory/put", entry).status == 200 else {}
