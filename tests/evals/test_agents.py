"""A coding agent with the plugin's hooks, with its own memory, and without: `memorywire eval agents`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Done, Shell
from tests.plugin.host import CLAUDE

AGENT = Path(__file__).with_name("small_agent.py")

TASKS = (
    {
        "id": "told",
        "prompt": "Our database port is 5433. Write the port into port.txt.",
        "files": {"README": "A service."},
        "check": "grep -qx 5433 port.txt",
    },
    {
        "id": "asked",
        "prompt": "Write the port of our database into port.txt.",
        "files": {"README": "Another service."},
        "check": "grep -qx 5433 port.txt",
    },
)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home")


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return _write(tmp_path, *TASKS)


def _write(folder: Path, *tasks: dict[str, Any]) -> Path:
    file = folder / "tasks.jsonl"
    file.write_text("\n".join(map(json.dumps, tasks)), encoding="utf-8")
    return file


def _run(shell: Shell, tasks: Path, *more: str) -> Done:
    agent = ("--agent-cmd", f"{sys.executable} {AGENT}", "--hooks", str(CLAUDE))
    return shell("eval", "agents", str(tasks), *agent, "--out", str(tasks.parent / "results"), *more)


def test_what_one_task_said_is_known_in_the_next_through_the_hooks_of_the_plugin(shell, tasks):
    document = _run(shell, tasks, "--json").json
    rows = {(row["cell"], row["task"]): row for row in document["rows"]}
    solved = {place: row["solved"] for place, row in rows.items()}
    assert solved == {
        ("plugin", "told"): True,
        ("plugin", "asked"): True,
        ("own memory", "told"): True,
        ("own memory", "asked"): True,
        ("without", "told"): True,
        ("without", "asked"): False,
    }
    first, second = rows["plugin", "told"], rows["plugin", "asked"]
    assert first["hooks"] == second["hooks"] == {"SessionStart": 1, "Stop": 1, "UserPromptSubmit": 1}
    assert first["retrieved"] == []
    assert set(second["retrieved"]) & set(first["written"])
    assert all(
        not row["hooks"] and not row["retrieved"] for (cell, _), row in rows.items() if cell != "plugin"
    )
    assert document["plugin minus"]["without"]["mean"] == 0.5


def test_every_step_is_written_down_and_the_table_is_printed(shell, tasks):
    done = _run(shell, tasks, "--cell", "plugin", "--cell", "without")
    assert done.code == 0, done.err
    assert [line.split()[0] for line in done.out.splitlines()] == ["cell", "plugin", "without"]
    results = tasks.parent / "results"
    [steps] = results.rglob("agents-*.trajectories.jsonl")
    lines = [json.loads(line) for line in steps.read_text(encoding="utf-8").splitlines()]
    assert {line["step"] for line in lines} == {"written", "retrieved", "used"}
    [shown] = [line for line in lines if line["step"] == "retrieved" and line["hits"]]
    assert (shown["cell"], shown["task"]) == ("plugin", "asked")
    [ledger] = (results / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(ledger)["cells"]["plugin"]["solved"] == 1.0


def test_a_case_begins_with_no_memory(shell, tmp_path):
    tasks = [{**task, "case": case} for task, case in zip(TASKS, ("one", "two"), strict=True)]
    document = _run(shell, _write(tmp_path, *tasks), "--cell", "plugin", "--json").json
    assert [row["solved"] for row in document["rows"]] == [True, False]


def test_a_task_may_begin_with_a_commit_of_a_repository(shell, tmp_path):
    import subprocess

    repository = tmp_path / "repository"
    repository.mkdir()
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "one"]):
        who = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
        subprocess.run(["git", *who, *words], cwd=repository, check=True)
    first = {name: value for name, value in TASKS[0].items() if name != "files"}
    tasks = _write(tmp_path, {**first, "repo": str(repository), "commit": "HEAD"})
    document = _run(shell, tasks, "--cell", "without", "--json").json
    assert [row["solved"] for row in document["rows"]] == [True]


def test_an_agent_that_takes_too_long_is_ended_and_has_not_solved_its_task(shell, tmp_path):
    tasks = _write(tmp_path, TASKS[0])
    slow = ("--agent-cmd", "sleep 60", "--seconds", "1", "--cell", "without", "--json")
    [row] = _run(shell, tasks, *slow).json["rows"]
    assert (row["exit"], row["solved"]) == (None, False)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"id": "a", "prompt": "x", "check": "true"}, "either files or a repo"),
        ({"id": "a", "prompt": "x", "check": "true", "files": {"../b": ""}}, "outside of the checkout"),
        ({"id": "a", "prompt": " ", "check": "true", "files": {"b": ""}}, "prompt or check is empty"),
        ({"id": "a", "prompt": "x", "files": {"b": ""}}, "missing required field `check`"),
        ({"id": "told", "prompt": "x", "check": "true", "files": {"b": ""}}, "'told' is there twice"),
        ({"id": "a", "promt": "x"}, "unknown field `promt`"),
    ],
)
def test_a_task_that_cannot_be_run_is_refused_with_its_line(shell, tmp_path, line, said):
    done = _run(shell, _write(tmp_path, TASKS[0], line))
    assert done.code != 0
    assert "line 2" in done.err
    assert said in done.err


def test_more_runs_than_allowed_are_refused_before_the_first(shell, tasks):
    done = _run(shell, tasks, "--max-runs", "5")
    assert done.code != 0
    assert "6 runs of the agent" in done.err
    assert not (tasks.parent / "results").exists()


def test_a_file_without_hooks_is_refused(shell, tasks):
    done = _run(shell, tasks, "--hooks", str(tasks))
    assert done.code != 0
    assert "hooks" in done.err
