"""Claude Code with the plugin's hooks, in the cells of `memorywire eval agents`; its model is scripted."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.evals.test_agents import TASKS
from tests.gates.source import ROOT
from tests.plugin.host import CLAUDE
from tests.vendors.environments import needs_everything
from tests.vendors.scripted_model import scripted_model

pytestmark = [pytest.mark.products, needs_everything("Claude Code")]

VERSION = "2.1.197"
QUIET = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 DISABLE_TELEMETRY=1"


def _install() -> Path:
    """The program, in a folder of its own."""
    folder = ROOT / ".vendors" / f"claude-code-{VERSION}"
    program = folder / "node_modules" / ".bin" / "claude"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        package = f"@anthropic-ai/claude-code@{VERSION}"
        subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), package], check=True
        )
        installer = folder / "node_modules" / "@anthropic-ai" / "claude-code" / "install.cjs"
        subprocess.run(["node", str(installer)], check=True)
    return program


def test_claude_code_calls_the_hooks_and_knows_in_one_task_what_another_said(tmp_path):
    tasks, agent = tmp_path / "tasks.jsonl", tmp_path / "agent"
    tasks.write_text("\n".join(map(json.dumps, TASKS)), encoding="utf-8")
    with scripted_model() as url:
        variables = f"ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=none {QUIET}"
        agent.write_text(f"#!/bin/sh\nexec env {variables} '{_install()}' -p --allowedTools Bash\n")
        agent.chmod(0o755)
        document = Shell(tmp_path / "home")(
            *("eval", "agents", str(tasks), "--agent-cmd", str(agent), "--hooks", str(CLAUDE)),
            *("--cell", "plugin", "--cell", "without", "--out", str(tmp_path / "results"), "--json"),
        ).json
    solved = {(row["cell"], row["task"]): row["solved"] for row in document["rows"]}
    assert solved == {
        ("plugin", "told"): True,
        ("plugin", "asked"): True,
        ("without", "told"): True,
        ("without", "asked"): False,
    }
    assert document["cells"]["plugin"]["hooks"] == {"SessionStart": 2, "Stop": 2, "UserPromptSubmit": 2}
    first, second = (row for row in document["rows"] if row["cell"] == "plugin")
    assert set(second["retrieved"]) & set(first["written"])
