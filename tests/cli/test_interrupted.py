"""A start that is interrupted says so in a line, and shows no traceback."""

import subprocess
import sys

from tests.cli.shell import Shell

SCRIPT = """
import builtins, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
load = builtins.__import__

def interrupted(name, *rest, **more):
    if name == "memorywire.cli.command":
        os.kill(os.getpid(), signal.SIGINT)
    return load(name, *rest, **more)

from memorywire.cli import main
builtins.__import__ = interrupted
sys.argv = ["memorywire", "version"]
main()
"""


def test_ctrl_c_while_modules_are_loaded_prints_no_traceback(shell: Shell) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=shell.environment()
    )
    assert (done.returncode, done.stderr) == (130, "stopped; nothing more was done\n")
