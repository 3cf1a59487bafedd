"""`memorywire serve --openwop` as a process."""

import json
from pathlib import Path

from tests.cli.shell import Shell
from tests.http.test_command import started
from tests.openwop.stage import good, refused
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
