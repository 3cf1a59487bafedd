"""Backups: what is put back is what was kept, and what is damaged is not put back."""

import os
import resource
from pathlib import Path

import pytest

from memorywire.journal.sqlite.files import backup, restore
from memorywire.model.errors import Conflict, NotFound, StoreError
from memorywire.sync import Memory


def memories(path: Path) -> list[str]:
    with Memory("a", f"sqlite://{path}", policy="open") as memory:
        return [str(item.content) for item in memory.list()]


def keep(path: Path, content: str) -> None:
    with Memory("a", f"sqlite://{path}", policy="open") as memory:
        memory.remember(content)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A store of one memory, and a copy of it, in a folder."""
    keep(tmp_path / "memory.db", "before the backup")
    backup(tmp_path / "memory.db", tmp_path / "copy.db")
    return tmp_path


def test_a_copy_is_private_and_whole_by_itself(home: Path):
    copy = home / "copy.db"
    assert {path.name for path in home.glob("copy.db*")} == {
        "copy.db",
        "copy.db-ledger.key",
        "copy.db-checkpoints",
    }
    assert {path.stat().st_mode & 0o777 for path in home.glob("copy.db*")} == {0o600}
    assert memories(copy) == ["before the backup"]


def test_a_copy_is_never_written_over(home: Path):
    with pytest.raises(Conflict):
        backup(home / "memory.db", home / "copy.db")
    with pytest.raises(NotFound):
        backup(home / "nothing.db", home / "new.db")


def test_a_restore_replaces_only_when_told_to_and_keeps_what_was_there(home: Path):
    keep(home / "memory.db", "after the backup")
    with pytest.raises(Conflict):
        restore(home / "copy.db", home / "memory.db", replace=False, aside=".old")
    assert len(memories(home / "memory.db")) == 2
    done = restore(home / "copy.db", home / "memory.db", replace=True, aside=".old")
    assert done.replaced == home / "memory.db.old"
    assert done.entries == 1
    assert memories(home / "memory.db") == ["before the backup"]
    assert memories(home / "memory.db.old") == ["before the backup", "after the backup"]


def test_nothing_is_restored_under_somebody_who_has_the_store_open(home: Path):
    with Memory("a", f"sqlite://{home}/memory.db", policy="open") as memory:
        with pytest.raises(Conflict, match="open in another process"):
            restore(home / "copy.db", home / "memory.db", replace=True, aside=".old")
        memory.remember("still kept")
    assert memories(home / "memory.db") == ["before the backup", "still kept"]
    restore(home / "copy.db", home / "memory.db", replace=True, aside=".old")
    assert memories(home / "memory.db") == ["before the backup"]


def test_a_store_that_is_damaged_is_replaced(home: Path):
    (home / "memory.db").write_bytes(b"not a database" * 100)
    restore(home / "copy.db", home / "memory.db", replace=True, aside=".old")
    assert memories(home / "memory.db") == ["before the backup"]


def test_a_restored_store_goes_on(home: Path):
    restore(home / "copy.db", home / "elsewhere.db", replace=False, aside=".old")
    keep(home / "elsewhere.db", "and on")
    backup(home / "elsewhere.db", home / "second.db")
    assert restore(home / "second.db", home / "third.db", replace=False, aside=".old").entries == 2


@pytest.mark.parametrize("hurt", ["pages", "entries", "no database"])
def test_what_is_damaged_is_not_restored(home: Path, hurt: str):
    copy = home / "copy.db"
    if hurt == "entries":
        import apsw

        db = apsw.Connection(str(copy))
        db.execute("DROP TRIGGER ledger_stays; UPDATE ledger SET body = replace(body, 'remember', 'forget')")
        db.close()
    elif hurt == "pages":
        data = bytearray(copy.read_bytes())
        data[len(data) // 3 :] = os.urandom(len(data) - len(data) // 3)
        copy.write_bytes(data)
    else:
        copy.write_bytes(b"words, nothing but words" * 100)
    with pytest.raises(StoreError):
        restore(copy, home / "memory.db", replace=True, aside=".old")
    assert memories(home / "memory.db") == ["before the backup"]


def test_a_copy_that_lost_what_was_beside_it_is_told_what_is_missing(home: Path):
    lonely = home / "lonely.db"
    lonely.write_bytes((home / "copy.db").read_bytes())
    with pytest.raises(StoreError) as caught:
        restore(lonely, home / "new.db", replace=False, aside=".old")
    assert "lonely.db-ledger.key and lonely.db-checkpoints" in str(caught.value.fix)
    for end in ("-ledger.key", "-checkpoints"):
        (home / f"lonely.db{end}").write_bytes((home / f"copy.db{end}").read_bytes())
    restore(lonely, home / "new.db", replace=False, aside=".old")
    assert memories(home / "new.db") == ["before the backup"]


def test_a_copy_that_could_not_be_made_leaves_nothing_behind(home: Path):
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, most))  # no file may be larger, as on a full disk
    try:
        with pytest.raises(StoreError, match=r"/new\.db: the disk cannot be written"):
            backup(home / "memory.db", home / "new.db")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))
    assert list(home.glob("*new.db*")) == []
    assert backup(home / "memory.db", home / "new.db").entries == 1
