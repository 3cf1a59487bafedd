"""Runs every task in every cell, and records what was written, retrieved and solved."""

import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from memorywire import __version__
from memorywire.hooks.hosts import Sessions
from memorywire.model.errors import InvalidRequest, StoreUnavailable
from memorywire.model.record import Json
from memorywire_evals import compare
from memorywire_evals.agents.programs import run_program
from memorywire_evals.agents.record_hook import NOTES
from memorywire_evals.agents.tasks import Task, check_out, is_solved
from memorywire_evals.readers import FOLDER, KEYS, MEMORY
from memorywire_evals.results import append, hash_text, machine, stamp, write_document
from memorywire_evals.trajectories import SUFFIX

PLUGIN, OWN, WITHOUT = "plugin", "own memory", "without"
CELLS = (PLUGIN, OWN, WITHOUT)

HOSTS = {"claude": ".claude/settings.json", "codex": ".codex/hooks.json", "cursor": ".cursor/hooks.json"}
"""The path at which each host looks for the hooks of a project."""

DRAIN_SECONDS = 120.0
"""Time limit for the background work that the last hook started."""


_COMMAND = """#!/bin/sh
[ "$*" = hook ] && exec {python} -m memorywire_evals.agents.record_hook
exec {python} -m memorywire "$@"
"""


class Plan(Struct, frozen=True, kw_only=True):
    """What to run; the agent reads a prompt on standard input, in its checkout."""

    cases: Mapping[str, Sequence[Task]]
    command: str
    hooks: Path
    host: str
    out: Path
    cells: tuple[str, ...] = CELLS
    seconds: float = 600.0


class Done(Struct, frozen=True, kw_only=True):
    """The result of a task in a cell; `hooks` counts the calls of each event.

    `retrieved` are ids of the memories that a hook showed the model, `written` those added during the task.
    """

    cell: str
    case: str
    task: str
    solved: bool
    exit: int | None
    seconds: float
    hooks: Mapping[str, int]
    retrieved: Sequence[str] = ()
    written: Sequence[str] = ()
    context_characters: int = 0


def run_agents(
    plan: Plan, *, date: str, typed: str, tell: Callable[[float, int, str], None]
) -> dict[str, Json]:
    """Run the plan and return its document; each case starts without memory in each cell."""
    text = plan.hooks.read_text(encoding="utf-8")
    total = sum(map(len, plan.cases.values())) * len(plan.cells)
    rows: list[Done] = []
    with tempfile.TemporaryDirectory(prefix="memorywire-agents-") as home:
        for number, name in enumerate(plan.cases):
            for cell in plan.cells:
                place = Path(home, str(number), cell.replace(" ", "-"))
                for one in _run_case(plan, cell, plan.cases[name], place, text):
                    rows.append(one)
                    tell(len(rows), total, f"{cell}: {name}")
    document: dict[str, Json] = {
        "run": {
            "version": __version__,
            "set": "agents",
            "agent": shlex.split(plan.command)[0],
            "host": plan.host,
            "tasks": hash_text(*(json.dumps(asdict(one)) for tasks in plan.cases.values() for one in tasks)),
            "hooks": hash_text(text),
        },
        "cells": {cell: _summarise([row for row in rows if row.cell == cell]) for cell in plan.cells},
        "plugin minus": dict(_compare(rows, plan.cells)),
        "rows": [asdict(row) for row in rows],
        "machine": machine(),
        "date": date,
        "command": typed,
    }
    write_document(plan.out, "agents", document, without=("rows",))
    steps = plan.out / __version__ / f"agents-{stamp(date)}{SUFFIX}"
    for row in rows:
        for step in _steps(row):
            append(steps, step)
    return document


def _run_case(plan: Plan, cell: str, tasks: Sequence[Task], place: Path, hooks: str) -> Iterator[Done]:
    """Yield the results of a case; all checkouts have one path, because agents remember by path."""
    checkout = place / "checkout"
    checkout.parent.mkdir(parents=True)
    bin = _put_command(place / "bin")
    lasting = place / "lasting"
    for number, task in enumerate(tasks):
        home = lasting if cell == OWN else place / f"home-{number}"
        home.mkdir(exist_ok=True)
        check_out(task, checkout)
        env = _environment(cell, place, home, bin, notes=place / f"hooks-{number}.jsonl")
        if cell == PLUGIN:
            file = checkout / HOSTS[plan.host]
            file.parent.mkdir(exist_ok=True)
            file.write_text(hooks, encoding="utf-8")
        before = _list_ids(env) if cell == PLUGIN else ()
        began = time.monotonic()
        code = _run_agent(plan, task, checkout, env)
        seconds = round(time.monotonic() - began, 2)
        solved = is_solved(task, checkout)
        done = Done(
            cell=cell, case=task.case, task=task.id, solved=solved, exit=code, seconds=seconds, hooks={}
        )
        yield _note_memory(done, env, before) if cell == PLUGIN else done


def _note_memory(done: Done, env: Mapping[str, str], before: Sequence[str]) -> Done:
    """Return the result with what the hooks showed the model, and with the memories that were added."""
    file = Path(env[NOTES])
    notes = (
        [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []
    )
    events = [note["event"] for note in notes]
    _drain(env)
    sessions = Sessions.at_home(env)
    seen = dict.fromkeys(note["session"] for note in notes if note["session"])
    return replace(
        done,
        hooks={event: events.count(event) for event in sorted(set(events))},
        retrieved=[id for session in seen for id in sessions.load(session).shown],
        written=[id for id in _list_ids(env) if id not in before],
        context_characters=sum(note["context_characters"] for note in notes),
    )


def _put_command(folder: Path) -> Path:
    """Create a `memorywire` command for the agent's PATH that records the hooks."""
    folder.mkdir()
    command = folder / "memorywire"
    command.write_text(_COMMAND.format(python=shlex.quote(sys.executable)), encoding="utf-8")
    command.chmod(0o755)
    return folder


def _environment(cell: str, place: Path, home: Path, bin: Path, *, notes: Path) -> dict[str, str]:
    """Return our environment without our settings and the readers' keys; HOME is the agent's memory."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("MEMORYWIRE_")}
    env = {name: value for name, value in ours.items() if name not in KEYS.values()} | {
        "HOME": str(home),
        FOLDER: str(home),
        MEMORY: "on" if cell == OWN else "off",
    }
    if cell == PLUGIN:
        env |= {
            "PATH": os.pathsep.join([str(bin), ours.get("PATH", "")]),
            "MEMORYWIRE_HOME": str(place / "memorywire"),
            "MEMORYWIRE_STORE": f"sqlite:///{place / 'memory.db'}",
            "MEMORYWIRE_AGENT": "eval",
            NOTES: str(notes),
        }
    return env


def _run_agent(plan: Plan, task: Task, checkout: Path, env: Mapping[str, str]) -> int | None:
    """Return the exit status of the agent; None if it took too long."""
    words, told = shlex.split(plan.command), task.prompt.encode()
    try:
        return run_program(words, cwd=checkout, env=env, told=told, seconds=plan.seconds).code
    except OSError as error:
        raise InvalidRequest(f"{words[0]} cannot be started: {error.strerror}", field="agent-cmd") from error


def _drain(env: Mapping[str, str]) -> None:
    """Wait until all copied logs are stored, because the next task must recall them."""
    end = time.monotonic() + DRAIN_SECONDS
    sessions = Sessions.at_home(env)
    while sessions.spooled():
        if time.monotonic() > end:
            raise StoreUnavailable(f"the logs of a session were not taken in within {DRAIN_SECONDS:g} s")
        _memorywire(env, "hook", "--work")
        time.sleep(0.1)


def _list_ids(env: Mapping[str, str]) -> tuple[str, ...]:
    items = json.loads(_memorywire(env, "list", "--limit", "1000", "--json"))["items"]
    return tuple(item["id"] for item in items)


def _memorywire(env: Mapping[str, str], *words: str) -> bytes:
    ended = run_program((sys.executable, "-m", "memorywire", *words), env=env)
    if ended.code:
        complaint = ended.complaint.decode(errors="replace")
        raise StoreUnavailable(f"memorywire {words[0]} failed: {complaint[:300]}")
    return ended.output


def _summarise(rows: Sequence[Done]) -> dict[str, Json]:
    hooks: dict[str, int] = {}
    for row in rows:
        for event, count in row.hooks.items():
            hooks[event] = hooks.get(event, 0) + count
    return {
        "solved": round(fmean(row.solved for row in rows), 4),
        "tasks": len(rows),
        "hooks": hooks,
        "tasks with memories": sum(bool(row.retrieved) for row in rows),
        "written": sum(len(row.written) for row in rows),
        "seconds": round(fmean(row.seconds for row in rows), 2),
    }


def _compare(rows: Sequence[Done], cells: Sequence[str]) -> Iterator[tuple[str, Json]]:
    """Yield the plugin's gain in solved tasks over each other cell."""
    solved = {cell: [float(row.solved) for row in rows if row.cell == cell] for cell in cells}
    for cell in cells:
        if PLUGIN in cells and cell != PLUGIN:
            gap = asdict(compare.difference(solved[PLUGIN], solved[cell]))
            yield cell, {name: round(value, 4) for name, value in gap.items()}


def _steps(row: Done) -> Iterator[dict[str, Json]]:
    about = {"cell": row.cell, "case": row.case, "task": row.task}
    yield {"step": "retrieved", **about, "hits": list(row.retrieved), "characters": row.context_characters}
    yield {"step": "used", **about, "solved": row.solved, "exit": row.exit, "seconds": row.seconds}
    for id in row.written:
        yield {"step": "written", **about, "id": id}


HEADERS = ("cell", "solved", "tasks", "plugin minus it", "hooks", "with memories", "written", "seconds")


def list_rows(document: Mapping[str, Any]) -> Iterator[list[str]]:
    for cell, one in document["cells"].items():
        gap = document["plugin minus"].get(cell)
        hooks = ", ".join(f"{event} {count}" for event, count in one["hooks"].items())
        yield [
            cell,
            f"{one['solved']:.3f}",
            str(one["tasks"]),
            f"{gap['mean']:+.3f} ({gap['low']:+.3f} to {gap['high']:+.3f})" if gap else "",
            hooks,
            str(one["tasks with memories"]),
            str(one["written"]),
            f"{one['seconds']:g}",
        ]
