"""Generated files are current."""

import subprocess
import sys

from tests.gates.source import ROOT


def test_the_blocking_client_is_generated_from_the_async_one():
    command = [sys.executable, ROOT / "tools" / "generate_sync.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
