"""The command as a process: what is typed, what comes back."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memorywire.cli.command import memorywire
from tests.cli.forks import PIPE, forks

SRC = Path(__file__).parents[2] / "packages/memorywire/src"
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
    """Types commands against one home folder; each is a process of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def environment(self, **variables: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORYWIRE_")}
        path = os.pathsep.join([str(SRC), *filter(None, [os.environ.get("PYTHONPATH")])])
        return kept | {"MEMORYWIRE_HOME": str(self.home), "PYTHONPATH": path} | variables

    def __call__(self, *arguments: str, stdin: bytes = b"", **variables: str) -> Done:
        environment = self.environment(**variables)
        # What Python itself reads when it starts is for a process that starts.
        if len(stdin) > PIPE or any(name.startswith("PYTHON") for name in variables):
            return _done(*_started(arguments, environment, stdin))
        return _done(*forks().run(arguments, environment, stdin))

    def remember(self, content: str, *options: str) -> dict[str, Any]:
        """The receipt of a remember that succeeds."""
        done = self("remember", content, "--json", *options)
        assert done.code == 0, done.err
        receipt: dict[str, Any] = done.json
        return receipt


class Started(Shell):
    """Types commands as everybody does: each loads Python and the house for itself."""

    def __call__(self, *arguments: str, stdin: bytes = b"", **variables: str) -> Done:
        return _done(*_started(arguments, self.environment(**variables), stdin))


class Inside(Shell):
    """Types commands inside this process: many of them, without a start for each."""

    def __call__(self, *arguments: str, stdin: bytes = b"", **variables: str) -> Done:
        done = CliRunner().invoke(memorywire, arguments, input=stdin, env=self.environment(**variables))
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return Done(done.exit_code, done.stdout, done.stderr)


def _started(arguments: Sequence[str], environment: dict[str, str], stdin: bytes) -> tuple[int, bytes, bytes]:
    words = [*COMMAND, *(os.fsencode(argument) for argument in arguments)]
    done = subprocess.run(words, input=stdin, capture_output=True, env=environment)
    return done.returncode, done.stdout, done.stderr


def _done(code: int, out: bytes, err: bytes) -> Done:
    assert b"Traceback" not in err, err.decode()
    return Done(code, out.decode(), err.decode())
