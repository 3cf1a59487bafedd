"""The core works without its satellites, and says which of them a request needs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SATELLITES = (
    "memorywire_adapters",
    "memorywire_consolidate",
    "memorywire_evals",
    "memorywire_frameworks",
    "memorywire_openwop",
    "memorywire_postgres",
    "memorywire_server",
    "memorywire_testing",
)
INSTALLED = Path(pytest.__file__).parents[1]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables under which Python finds every installed package, and of ours the core and the embedder."""
    return _environment(tmp_path_factory, hidden=SATELLITES)


@pytest.fixture(scope="module")
def with_server(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The same, with the server."""
    others = tuple(name for name in SATELLITES if name != "memorywire_server")
    return _environment(tmp_path_factory, "memorywire-server", hidden=others)


def _environment(paths: pytest.TempPathFactory, *packages: str, hidden: tuple[str, ...]) -> dict[str, str]:
    folder = paths.mktemp("installed")
    for entry in INSTALLED.iterdir():
        if not entry.name.startswith(hidden) and entry.suffix != ".pth":
            (folder / entry.name).symlink_to(entry)
    home = paths.mktemp("home")
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    path = [folder, *(ROOT / "packages" / name / "src" for name in ("memorywire", *packages))]
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "HOME": str(home),
        "MEMORYWIRE_HOME": str(home),
    }


def _command(*words: str) -> list[str]:
    # Without `site` nothing but PYTHONPATH is searched: the satellites are neither importable nor listed.
    return [sys.executable, "-S", *words]


def _run(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(_command(*words), env=environment, capture_output=True, text=True)


def _memorywire(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return _run(environment, "-m", "memorywire.cli", *words)


def test_the_satellites_are_hidden(environment: dict[str, str]) -> None:
    for name in SATELLITES:
        assert "ModuleNotFoundError" in _run(environment, "-c", f"import {name}").stderr
    listed = "import importlib.metadata as m; print([d.name for d in m.distributions()])"
    assert "memorywire-evals" not in _run(environment, "-c", listed).stdout


_STORY = """
from memorywire.sync import Memory
with Memory("agent", "sqlite://") as memory:
    memory.remember("Ana likes green tea")
    print([hit.content for hit in memory.recall("what does Ana like?")])
"""


def test_it_remembers_and_recalls(environment: dict[str, str]) -> None:
    done = _run(environment, "-c", _STORY)
    assert (done.stdout.strip(), done.returncode) == ("['Ana likes green tea']", 0), done.stderr


@pytest.mark.parametrize(
    ("code", "package"),
    [
        ("import memorywire.testing", "memorywire-testing"),
        ("from memorywire.integrations.langgraph import MemorywireStore", "memorywire-frameworks"),
    ],
)
def test_an_earlier_import_names_the_package(environment: dict[str, str], code: str, package: str) -> None:
    done = _run(environment, "-c", code)
    assert done.returncode == 1
    assert f"pip install ./packages/{package}" in done.stderr.splitlines()[-1]


def test_its_commands_work(environment: dict[str, str], tmp_path: Path) -> None:
    store = ("--store", f"sqlite:///{tmp_path}/memory.db")
    assert "remember" in _memorywire(environment, "--help").stdout
    assert _memorywire(environment, "remember", "Ana likes green tea", *store).returncode == 0
    assert "green tea" in _memorywire(environment, "recall", "what does Ana like?", *store).stdout
    assert "(needs the package memorywire-server)" in _memorywire(environment, "--help").stdout


@pytest.fixture
def server(with_server: dict[str, str], tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    words = ("-m", "memorywire.cli", "serve", "--port", "0", "--store", f"sqlite:///{tmp_path}/memory.db")
    process = subprocess.Popen(
        _command(*words), env=with_server, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    yield process
    process.terminate()
    process.communicate()


def test_the_server_needs_no_other_satellite(server: subprocess.Popen[str]) -> None:
    assert server.stdout is not None
    assert "serving on http://" in server.stdout.readline()


def test_a_daily_run_names_the_package_of_the_consolidator(with_server: dict[str, str]) -> None:
    done = _memorywire(with_server, "serve", "--port", "0", "--night", "03:00", "--store", "sqlite://")
    assert done.returncode != 0, done.stdout
    assert "pip install ./packages/memorywire-consolidate" in done.stderr


def test_the_server_names_the_package_of_the_openwop_host(with_server: dict[str, str]) -> None:
    done = _memorywire(with_server, "serve", "--openwop")
    assert done.returncode == 2, done.stderr
    assert "pip install ./packages/memorywire-openwop" in done.stderr


@pytest.mark.parametrize(
    ("words", "package"),
    [
        (("eval",), "memorywire-evals"),
        (("bench",), "memorywire-evals"),
        (("dream", "--dry-run"), "memorywire-consolidate"),
        (("serve",), "memorywire-server"),
        (("serve", "--help"), "memorywire-server"),
        (("mcp",), "memorywire-server"),
        (("operator", "list"), "memorywire-server"),
        (("webhook", "list"), "memorywire-server"),
        (("conformance", "memory://"), "memorywire-testing"),
        (("recall", "tea", "--store", "mem0://"), "memorywire-adapters"),
        (("recall", "tea", "--store", "markdown:///./notes"), "memorywire-adapters"),
        (("recall", "tea", "--store", "postgresql://db/memory"), "memorywire-postgres"),
        (("reembed", "--store", "postgresql://db/memory"), "memorywire-postgres"),
        (("shards", "status"), "memorywire-postgres"),
        (("import", "notes", "--from", "mem0"), "memorywire-adapters"),
        (("import", "https://api.mem0.ai"), "memorywire-adapters"),
        (("import", "picture.png"), "memorywire-adapters"),
    ],
)
def test_what_a_satellite_does_names_the_satellite(
    environment: dict[str, str], tmp_path: Path, words: tuple[str, ...], package: str
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    done = subprocess.run(
        _command("-m", "memorywire.cli", *words),
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "pip install" in done.stderr
    assert package in done.stderr
