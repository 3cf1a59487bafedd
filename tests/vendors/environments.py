"""Each product is examined in an environment of its own, by a process of its own; here is how one asks it."""

import fcntl
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.gates.source import ROOT

EVERYTHING = "MEMORYWIRE_ALL_VENDORS"
PAPER = 16


def needs_everything(name: str) -> pytest.MarkDecorator:
    """For products too large to be installed by every run of the tests: `make conformance-all` runs them."""
    return pytest.mark.skipif(not os.environ.get(EVERYTHING), reason=f"{name} is run by make conformance-all")


@cache
def python_of(vendor: str) -> str:
    """The Python of the vendor's environment, which is made if it is not there."""
    return _output(sys.executable, str(ROOT / "scripts" / "vendor-env"), vendor).strip()


def examined(vendor: str, url: str) -> dict[str, Any]:
    """The report of the whole kit on this URL, made where the product is."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = (python_of(vendor), "-m", "memorywire", "conformance", url, "--json", str(report))
        done = _run(*command)
        assert report.exists(), done.stderr[-2000:]
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return found


def keeps_every_promise(report: dict[str, Any]) -> None:
    """Nothing failed, nothing is excused, and the paper's scenarios were all played."""
    broken = [one for one in report["results"] if one["mark"] == "failed"]
    assert broken == []
    played = [one["mark"] for one in report["results"] if one["group"] == "paper"]
    assert played == ["passed"] * PAPER
    lived = [one["mark"] for one in report["results"] if one["group"] == "oracle"]
    assert lived == ["passed"] * 3


@cache
def judged(vendor: str, inside: str) -> dict[str, str | None]:
    """What each claim of `tests/vendors/inside/INSIDE.py` came to in the vendor's environment."""
    said = _output(python_of(vendor), "-m", "tests.vendors.inside.judge", inside)
    # Before it there may be what the product has to tell the world as it starts.
    found: dict[str, str | None] = json.loads(said.splitlines()[-1])
    return found


def _output(*command: str) -> str:
    done = _run(*command)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    # One at a time, whatever runs the tests: a product's process is large, and two cores are few.
    with (Path(tempfile.gettempdir()) / "memorywire-vendors.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return subprocess.run(
            command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
