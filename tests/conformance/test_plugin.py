"""The pytest plugin, as somebody who wrote a store would use it."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

from tests.gates.source import ROOT

_TEST = """
def test_the_store_honours_the_contract(memorywire_check):
    memorywire_check()
"""


def _named() -> list[str]:
    """Where the package is installed, pytest finds the plugin by itself, and will not have it twice."""
    found = {plugin.name for plugin in entry_points(group="pytest11")}
    return [] if "memorywire" in found else ["-p", "memorywire_testing.plugin"]


def _pytest(folder: Path, *options: str, conftest: str = "") -> str:
    (folder / "test_mine.py").write_text(_TEST, encoding="utf-8")
    (folder / "conftest.py").write_text(conftest, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *_named(), *options],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'packages/memorywire/src'}:{ROOT}"},
    )
    return done.stdout + done.stderr


def test_one_test_is_run_for_every_check(tmp_path: Path) -> None:
    said = _pytest(tmp_path, "--memorywire-url", "memory://", "-k", "filter or prefix")
    assert "passed" in said
    assert "failed" not in said


def test_a_broken_store_fails_by_the_name_of_the_promise(tmp_path: Path) -> None:
    conftest = """
import memorywire.stores.registry as registry
import pytest

registry.BUILT_IN["broken"] = "tests.conformance.broken"

@pytest.fixture
def memorywire_url():
    return "broken://leaky"
"""
    said = _pytest(tmp_path, "-k", "another_agent_sees or taken_once", conftest=conftest)
    assert "another_agent_sees_nothing" in said
    assert "1 failed" in said
    assert "1 passed" in said
    exempt = tmp_path / "mine.toml"
    exempt.write_text('[broken]\nanother_agent_sees_nothing = "one namespace"\n', encoding="utf-8")
    said = _pytest(
        tmp_path, "-k", "another_agent_sees", "--memorywire-exempt", str(exempt), conftest=conftest
    )
    assert "1 xfailed" in said


def test_without_a_url_it_says_what_is_missing(tmp_path: Path) -> None:
    assert "name the store" in _pytest(tmp_path, "-k", "another_agent_sees")


def test_a_store_that_nobody_opens_is_one_usage_error(tmp_path: Path) -> None:
    said = _pytest(tmp_path, "--memorywire-url", "foo://")
    assert said.startswith("ERROR: --memorywire-url: no store has the URL scheme foo; use one of: ")
    assert len(said.strip().splitlines()) == 1
