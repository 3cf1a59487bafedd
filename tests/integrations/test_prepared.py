"""An opening that was made beforehand is used while it is good, and never longer."""

import os
from pathlib import Path

import pytest

from memorywire.hooks.hosts import Briefing, circumstances, files_of, keep, kept

TOLD = Briefing(context="memorywire keeps 2 memories", notice="1 memory awaits review")
HOUR = 3_600_000


@pytest.fixture
def store(tmp_path: Path) -> Path:
    store = tmp_path / "memory.db"
    store.write_text("as it was")
    keep(tmp_path / "opening", TOLD, files=[store, tmp_path / "memory.db-wal"], under="here", now=0)
    return store


def test_it_is_good_while_nothing_has_changed(store: Path, tmp_path: Path) -> None:
    assert kept(tmp_path / "opening", under="here", now=HOUR) == TOLD


def test_it_is_not_when_the_store_has_changed(store: Path, tmp_path: Path) -> None:
    os.utime(store, ns=(1, 1))
    assert kept(tmp_path / "opening", under="here", now=HOUR) is None


def test_it_is_not_when_a_file_has_come(store: Path, tmp_path: Path) -> None:
    (tmp_path / "memory.db-wal").write_text("new")
    assert kept(tmp_path / "opening", under="here", now=HOUR) is None


def test_it_is_not_for_another_memory_nor_for_ever(store: Path, tmp_path: Path) -> None:
    assert kept(tmp_path / "opening", under="there", now=HOUR) is None
    assert kept(tmp_path / "opening", under="here", now=7 * HOUR) is None


@pytest.mark.parametrize("broken", ["", "[]", "{}", '{"under": "here", "until": 9999999, "files": 3}'])
def test_a_file_that_cannot_be_read_is_none(broken: str, tmp_path: Path) -> None:
    (tmp_path / "opening").write_text(broken)
    assert kept(tmp_path / "opening", under="here", now=0) is None


def test_circumstances_are_the_settings_and_what_was_typed() -> None:
    usual = circumstances({"MEMORYWIRE_AGENT": "a", "TERM": "x"}, ())
    assert usual == circumstances({"MEMORYWIRE_AGENT": "a", "TERM": "y"}, ())
    assert usual != circumstances({"MEMORYWIRE_AGENT": "b", "TERM": "x"}, ())
    assert usual != circumstances({"MEMORYWIRE_AGENT": "a", "TERM": "x"}, ("--agent", "b"))


@pytest.mark.parametrize(
    "stores",
    [
        ("postgres://host/db",),
        ("sqlite:////a.db", "sqlite:////b.db"),
        ("memory://",),
        ("sqlite:///./memory.db",),
    ],
)
def test_only_a_memory_in_one_file_of_this_machine_has_files_to_look_at(stores: tuple[str, ...]) -> None:
    assert files_of(stores, Path("config")) is None
    assert files_of(("sqlite:///srv/my%20memory.db",), Path("config")) == [
        Path("/srv/my memory.db"),
        Path("/srv/my memory.db-wal"),
        Path("config"),
    ]
