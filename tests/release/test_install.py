"""Each documented install line installs this project, from wheels or from the clone, into a new environment.

`uv` stands for pip where only the packages differ: it makes an environment and fills it in a second.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gates.install_lines import faults, install_lines, pages, requirements
from tests.gates.source import ROOT

pytestmark = pytest.mark.long
PRODUCTS = {"chroma", "cognee", "graphiti", "langgraph", "letta", "mem0", "memos", "zep"}
"""Extras that bring another product: hundreds of megabytes each, and what they need is only resolved."""


def _documented() -> list[str]:
    lines = [line for page in pages() for line in install_lines(page.read_text(encoding="utf-8"))]
    named = {one for line in lines for one in requirements(line.command) if not faults(one)}
    return sorted(one for one in named if not one.startswith("/"))


@pytest.fixture(scope="session")
def uv(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The installer `uv`, that of the machine or in an environment of its own."""
    found = shutil.which("uv")
    if found:
        return found
    folder = tmp_path_factory.mktemp("uv")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", "uv"], check=True)
    return str(folder / "bin" / "uv")


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory, uv: str) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    for project in sorted((ROOT / "packages").glob("*/pyproject.toml")):
        source = folder / "source" / project.parent.name
        left_out = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "*.so")
        shutil.copytree(project.parent, source, ignore=left_out)
        _run(uv, "build", "--quiet", "--wheel", "--out-dir", str(folder), str(source))
    return folder


def _run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("MEMORYWIRE_", "PYTHON"))
    }
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=kept | variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def _environment(uv: str, folder: Path) -> Path:
    _run(uv, "venv", "--quiet", "--python", sys.executable, str(folder))
    return folder / "bin" / "python"


def _names(uv: str, python: Path) -> set[str]:
    listed = json.loads(_run(uv, "pip", "list", "--format", "json", "--python", str(python)).stdout)
    return {one["name"] for one in listed}


@pytest.mark.parametrize("requirement", _documented())
def test_a_documented_line_installs_this_project(
    requirement: str, dist: Path, uv: str, tmp_path: Path
) -> None:
    python = _environment(uv, tmp_path / "venv")
    install = (uv, "pip", "install", "--python", str(python), "--find-links", str(dist))
    if any(f"{extra}]" in requirement for extra in PRODUCTS):
        told = _run(*install, "--dry-run", requirement).stderr
        assert "+ memorywire-core==" in told
        assert "+ memorywire==" not in told
        return
    told = _run(*install, requirement).stderr
    assert "does not have an extra" not in told
    names = _names(uv, python)
    assert "memorywire-core" in names or requirement.endswith("memorywire-minilm")
    assert "memorywire" not in names
    if "memorywire-core" in names:
        command = str(python.with_name("memorywire"))
        report = _run(command, "doctor", "--json", MEMORYWIRE_HOME=str(tmp_path / "home"))
        assert json.loads(report.stdout)["ok"]


def test_the_demo_runs_with_the_server_alone(dist: Path, uv: str, tmp_path: Path) -> None:
    python = _environment(uv, tmp_path / "venv")
    _run(uv, "pip", "install", "--python", str(python), "--find-links", str(dist), "memorywire-core[server]")
    assert "memorywire-consolidate" not in _names(uv, python)
    home = os.environ | {"MEMORYWIRE_HOME": str(tmp_path / "home")}
    command = [python.with_name("memorywire"), "serve", "--demo", "--port", "0", "--json"]
    server = subprocess.Popen(command, env=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    told = server.stdout.readline()
    server.terminate()
    _, errors = server.communicate(timeout=60)
    assert told.startswith('{"url": '), errors


@pytest.mark.parametrize("order", [("core", "other"), ("other", "core")], ids=" then ".join)
def test_the_doctor_notices_the_other_product_of_this_name(
    order: tuple[str, ...], dist: Path, uv: str, tmp_path: Path
) -> None:
    python = _environment(uv, tmp_path / "venv")
    what = {"core": "memorywire-core", "other": "memorywire==0.5.0"}
    for one in order:
        _run(uv, "pip", "install", "--python", str(python), "--find-links", str(dist), what[one])
    home = os.environ | {"MEMORYWIRE_HOME": str(tmp_path / "home")}
    command = [str(python.with_name("memorywire")), "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, env=home)
    assert done.returncode == 4
    assert "memorywire 0.5.0 is another product" in done.stdout
    _run(uv, "pip", "uninstall", "--python", str(python), "memorywire", "memorywire-core")
    _run(uv, "pip", "install", "--python", str(python), "--find-links", str(dist), "memorywire-core")
    assert subprocess.run(command, capture_output=True, text=True, env=home).returncode == 0
