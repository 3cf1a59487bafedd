"""Importing is quiet and cheap, and the house keeps its floors."""

import json
import subprocess
import sys
from pathlib import Path

from tests.gates.source import ROOT

HEAVY = {"numpy", "apsw", "Stemmer", "click", "asyncio", "memorywire_minilm", "httpx"}


def _modules_after(code: str) -> set[str]:
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    return set(json.loads(done.stdout))


def test_importing_the_package_loads_nothing_heavy():
    assert not HEAVY & _modules_after("import memorywire")


def test_the_engine_is_not_loaded_to_show_help():
    loaded = _modules_after(
        "from memorywire.cli.command import memorywire, COMMANDS\n"
        "for verb in COMMANDS: memorywire.get_command(None, verb)"
    )
    assert "click" in loaded
    assert not (HEAVY - {"click"}) & loaded


def test_importing_the_package_writes_nothing():
    script = (
        "import sys\n"
        "def watch(event, args):\n"
        "    if event in ('socket.connect', 'subprocess.Popen', 'os.putenv') or (\n"
        "        event == 'open' and isinstance(args[1], str) and set(args[1]) & set('wax+')\n"
        "    ):\n"
        "        print(event, args)\n"
        "sys.dont_write_bytecode = True\n"
        "sys.addaudithook(watch)\n"
        "import memorywire\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert done.stdout == ""


def test_a_floor_imports_only_what_stands_below_it():
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout
