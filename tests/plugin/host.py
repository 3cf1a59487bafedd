"""A coding agent as far as its hooks can tell: it runs the commands of a hooks file and keeps a log."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.shell import Shell
from tests.gates.source import ROOT

PLUGIN = ROOT / "plugin"
CLAUDE = PLUGIN / "memorywire" / "hooks" / "hooks.json"
CODEX = PLUGIN / "codex" / "hooks.json"
CURSOR = PLUGIN / "cursor" / "hooks.json"


class Host:
    """Calls the hooks of one file as a shell would, in sessions that write their logs under `folder`."""

    def __init__(self, shell: Shell, hooks: Path, folder: Path) -> None:
        self.shell = shell
        self.hooks: dict[str, Any] = json.loads(hooks.read_text(encoding="utf-8"))["hooks"]
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        command = self.bin / "memorywire"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memorywire.cli "$@"\n')
        command.chmod(0o755)

    def log(self, session: str) -> Path:
        return self.folder / f"{session}.jsonl"

    def environment(self) -> dict[str, str]:
        return self.shell.environment(PATH=os.pathsep.join([str(self.bin), os.environ["PATH"]]))

    def fire(self, event: str, session: str, **told: Any) -> dict[str, Any]:
        """What the hook of an event answers; it must never fail."""
        document = {
            "hook_event_name": event,
            "session_id": session,
            "transcript_path": str(self.log(session)),
            **told,
        }
        done = subprocess.run(
            ["sh", "-c", self.command(event)],
            input=json.dumps(document).encode(),
            capture_output=True,
            env=self.environment(),
        )
        assert done.returncode == 0, done.stderr.decode()
        answer: dict[str, Any] = json.loads(done.stdout) if done.stdout.strip() else {}
        return answer

    def command(self, event: str) -> str:
        (entry,) = self.hooks[event]
        found: str = entry["command"] if "command" in entry else entry["hooks"][0]["command"]
        return found

    def write(self, session: str, *lines: dict[str, Any], end: str = "\n") -> None:
        with self.log(session).open("a", encoding="utf-8") as log:
            log.write("\n".join(json.dumps(line) for line in lines) + end)

    def contents(self) -> list[str]:
        """What memory holds."""
        return [item["content"] for item in self.shell("list", "--json").json["items"]]

    def until_kept(self, content: str) -> None:
        """Waits for the work that a hook left in the background."""
        until(lambda: content in self.contents())


def until(true: Callable[[], bool]) -> None:
    while not true():
        time.sleep(0.2)


def context(answer: dict[str, Any]) -> str:
    """What the model is shown."""
    shown: str = answer.get("hookSpecificOutput", {}).get("additionalContext", "")
    return shown


def said(words: str, role: str = "user", **rest: Any) -> dict[str, Any]:
    """A line of Claude Code's log."""
    return {"type": role, "message": {"role": role, "content": [{"type": "text", "text": words}]}, **rest}
