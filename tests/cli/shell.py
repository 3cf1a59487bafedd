"""The command as a process: what is typed, what comes back."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memorywire.cli.command import memorywire

SRC = Path(__file__).parents[2] / "src"
COMMAND = (sys.executable, "-m", "memorywire.cli")

needs_mounts = pytest.mark.skipif(
    subprocess.run(["unshare", "--mount", "--map-root-user", "true"], capture_output=True).returncode != 0,
    reason="needs mounts of its own",
)


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def problem(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.err)
        return found


class Shell:
    """Types commands against one home folder."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def environment(self, **variables: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORYWIRE_")}
        path = os.pathsep.join([str(SRC), *filter(None, [os.environ.get("PYTHONPATH")])])
        return kept | {"MEMORYWIRE_HOME": str(self.home), "PYTHONPATH": path} | variables

    def __call__(self, *arguments: str, stdin: bytes = b"", **variables: str) -> Done:
        done = subprocess.run(
            [*COMMAND, *(os.fsencode(argument) for argument in arguments)],
            input=stdin,
            capture_output=True,
            env=self.environment(**variables),
        )
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def remember(self, content: str, *options: str) -> dict[str, Any]:
        """The receipt of a remember that succeeds."""
        done = self("remember", content, "--json", *options)
        assert done.code == 0, done.err
        receipt: dict[str, Any] = done.json
        return receipt


class Inside(Shell):
    """Types commands inside this process: many of them, without a start for each."""

    def __call__(self, *arguments: str, stdin: bytes = b"", **variables: str) -> Done:
        done = CliRunner().invoke(memorywire, arguments, input=stdin, env=self.environment(**variables))
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return Done(done.exit_code, done.stdout, done.stderr)
