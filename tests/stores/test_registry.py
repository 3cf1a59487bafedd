"""A URL leads to its store, or to an error that helps and keeps secrets."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from memorywire.model.errors import InvalidRequest, MemorywireError, StoreUnavailable
from memorywire.stores.contract import Store, SupportsHistory, Tracker
from memorywire.stores.registry import known_schemes, open_store
from memorywire_testing.samples import SPACE


def _opened(url: str) -> Store:
    return asyncio.run(open_store(url, space=SPACE))


def _problem(url: str) -> dict[str, str]:
    with pytest.raises(MemorywireError) as caught:
        _opened(url)
    return caught.value.problem()


@pytest.fixture
def foreign_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that brings a store, one whose library is missing, and three that are none."""
    (tmp_path / "cellar.py").write_text(
        "from memorywire.stores.memory import MemoryStore\n"
        "async def open_store(url, *, space):\n"
        "    store = MemoryStore(space)\n"
        "    store.name = url\n"
        "    return store\n"
        "async def open_badly(url, *, space):\n"
        "    return {}[url]\n"
        "async def open_nothing(url, *, space):\n"
        "    pass\n"
    )
    (tmp_path / "attic.py").write_text("import a_library_nobody_has\n")
    described = tmp_path / "cellar-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: cellar\nVersion: 1\n")
    (described / "entry_points.txt").write_text(
        "[memorywire.stores]\ncellar = cellar:open_store\nattic = attic:open_store\n"
        "nameless = cellar:open_stroe\nempty = cellar:open_nothing\nfaulty = cellar:open_badly\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


def test_memory_is_opened_empty_every_time() -> None:
    first, second = _opened("memory://"), _opened("memory://")
    assert first is not second
    assert first.name == "memory"
    assert isinstance(first, SupportsHistory)
    assert isinstance(first, Tracker)


def test_another_package_adds_a_store_by_entry_point(foreign_package: None) -> None:
    assert _opened("cellar://shelf/7").name == "cellar://shelf/7"
    assert {"memory", "sqlite", "cellar", "attic"} <= set(known_schemes())


def test_a_store_whose_library_is_missing_says_which(foreign_package: None) -> None:
    with pytest.raises(StoreUnavailable, match="attic needs the module a_library_nobody_has"):
        _opened("attic://")


def test_an_unknown_scheme_is_answered_with_the_known_ones() -> None:
    problem = _problem("etcd://somewhere")
    assert problem["code"] == "validation_error"
    assert problem["field"] == "store"
    assert "etcd" in problem["detail"]
    assert "memory://" in problem["fix"]
    assert "sqlite://" in problem["fix"]


@pytest.mark.parametrize(
    "url", ["memory.db", "/var/lib/memory.db", "", "sqlite:memory.db", "C:\\memory.db", "SQLite://"]
)
def test_a_path_is_answered_with_the_url_to_write(url: str) -> None:
    problem = _problem(url)
    assert problem["field"] == "store"
    assert "sqlite:///" in problem["fix"]


@pytest.mark.parametrize(
    "url",
    [
        "faulty://hunter2",
        "etcd://ana:hunter2@host/db",
        "ana:hunter2@host",
        "://hunter2",
        "hunter2@etcd://x",
        "memory://hunter2",
    ],
)
def test_no_error_repeats_a_password(foreign_package: None, url: str) -> None:
    assert "hunter2" not in str(_problem(url))


def test_memory_takes_no_path() -> None:
    with pytest.raises(InvalidRequest, match="no path or options") as caught:
        _opened("memory:///var/lib/memory.db")
    assert caught.value.field == "store"


def test_finding_a_built_in_store_reads_no_package_metadata() -> None:
    code = (
        "import asyncio, sys\n"
        "from memorywire_testing.samples import SPACE\n"
        "from memorywire.stores.registry import open_store\n"
        "asyncio.run(open_store('memory://', space=SPACE))\n"
        "print('importlib.metadata' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        ("nameless", "has no attribute 'open_stroe'"),
        ("empty", "NoneType, which is not a store"),
        ("faulty", "the package of the store faulty raised KeyError in line 7 of"),
    ],
)
def test_a_store_of_others_that_is_none_is_their_fault(foreign_package: None, scheme: str, said: str) -> None:
    problem = _problem(f"{scheme}://")
    assert (problem["code"], problem["field"], bool(problem["fix"])) == ("store_unavailable", "store", True)
    assert said in problem["detail"]
