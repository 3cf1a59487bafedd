"""What the documents say is true: examples run, references are current, links lead somewhere."""

import fcntl
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import memorywire
from tests.gates.pages import commands
from tests.gates.source import ROOT

_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")
_PORT = re.compile(r"--port (\d+)")
_PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
_RUNNABLE = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "start").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
    *(
        pytest.param(page, marks=pytest.mark.long)
        for page in sorted((ROOT / "docs" / "tutorials").glob("*.md"))
    ),
]


@pytest.fixture
def desk(tmp_path: Path) -> dict[str, str]:
    """An environment in which `memorywire` is the command under test and keeps its data to itself."""
    command = tmp_path / "bin" / "memorywire"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memorywire.cli "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORYWIRE_")}
    return kept | {
        "MEMORYWIRE_HOME": str(tmp_path / "home"),
        "PATH": f"{command.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "packages/memorywire/src"),
    }


@pytest.mark.parametrize("page", _RUNNABLE, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_from_top_to_bottom(page: Path, tmp_path: Path, desk: dict[str, str]):
    said = page.read_text(encoding="utf-8")
    with _alone_at(*map(int, _PORT.findall(said))):
        for command in commands(said, sys.executable):
            done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=desk)
            assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"


@contextmanager
def _alone_at(*ports: int) -> Iterator[None]:
    """A page names the ports it serves on, and another checkout may be tested on this machine: it waits."""
    with Path(f"/tmp/memorywire-pages-{os.getuid()}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if ports else fcntl.LOCK_UN)
        for port in ports:
            while _is_served(port):  # by a server that was told to end, and has not yet
                time.sleep(0.1)
        yield


def _is_served(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path):
    targets = _LINK.findall(page.read_text(encoding="utf-8"))
    assert not [target for target in targets if not (page.parent / target).exists()]


def test_the_changelog_speaks_of_this_release():
    assert f"## {memorywire.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_reference_is_what_the_program_says_of_itself():
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "reference.py", "--check"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "packages/memorywire/src")},
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}write it again with `make docs`"
