"""A damaged file is named by `doctor`, and gives no wrong answer."""

import asyncio
import shutil
import struct
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from memorywire import Memory, MemorywireError
from memorywire.journal.signer import Signer
from memorywire.journal.sqlite.files import backup, find_faults, restore
from memorywire.model.errors import StoreCorrupt
from memorywire.stores.sqlite.connection import connect
from memorywire.stores.sqlite.health import count_unchecked
from memorywire.stores.sqlite.location import Location
from tests.cli.shell import Shell

AT = 1_700_000_000_000


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with memories, and what stands beside it."""
    path = tmp_path_factory.mktemp("whole") / "memory.db"

    now = [AT]

    async def main() -> None:
        async with Memory(stores=f"sqlite://{path}", clock=lambda: now[0]) as memory:
            for number in range(12):
                kept = await memory.remember(
                    f"Ana lives in Lisbon, flat {number}", metadata={"floor": "third"}
                )
            await memory.remember("Ana lives in Porto", id=kept.id, if_version=1, idempotency_key="move")
            await memory.kv.set("theme", "violet")
            now[0] += 98_765
            await memory.recall("Where does Ana live?")
            now[0] += 1
            gone = (await memory.list()).items[0].id
            await memory.forget(gone, hard_delete=True)
            await memory.audit_checkpoint()

    asyncio.run(main())
    return path


def _copy(whole: Path, folder: Path) -> Path:
    shutil.copytree(whole.parent, folder, dirs_exist_ok=True)
    return folder / whole.name


def _faults(path: Path) -> list[str]:
    with closing(connect(Location(path=path))) as db:
        return find_faults(db, Signer.beside(path))


def _value(path: Path, sql: str) -> bytes:
    with closing(apsw.Connection(str(path))) as db:
        [value] = db.execute(f"{sql} LIMIT 1").fetchone() or [None]
    if isinstance(value, int):
        return struct.pack(">q", value)[2:]
    return value if isinstance(value, bytes) else str(value).encode()


VALUES = {
    "content": "SELECT content FROM version WHERE ended IS NULL",
    "metadata": "SELECT metadata FROM version WHERE metadata LIKE '%third%' AND ended IS NULL",
    "an ended version": "SELECT content FROM version WHERE reason = 'replaced'",
    "the reason of an end": "SELECT reason FROM version WHERE reason = 'replaced'",
    "index terms": "SELECT substr(terms, 1, 40) FROM version WHERE ended IS NULL",
    "vector": "SELECT substr(vector, 1, 40) FROM version WHERE ended IS NULL",
    "the fingerprint of a change": "SELECT fingerprint FROM change WHERE fingerprint IS NOT NULL",
    "the moment of a recall": "SELECT at FROM recall",
    "an entry of the ledger": "SELECT body FROM ledger WHERE seq = 3",
    "the schema": "SELECT sql FROM sqlite_schema WHERE name = 'record'",
}


@pytest.mark.parametrize("what", VALUES)
def test_a_flipped_bit_is_named_by_doctor(whole: Path, tmp_path: Path, what: str) -> None:
    path = _copy(whole, tmp_path / "copy")
    assert _faults(path) == []
    value, data = _value(path, VALUES[what]), path.read_bytes()
    assert value in data
    at = data.find(value)
    while at >= 0:  # also where an index holds it
        flipped = bytearray(data)
        flipped[at + len(value) // 2] ^= 1
        path.write_bytes(flipped)
        with suppress(MemorywireError, apsw.Error, UnicodeDecodeError):  # it is refused
            assert _faults(path), f"{what} at byte {at}"
        at = data.find(value, at + 1)


@pytest.mark.parametrize(
    "index", ["version_live", "version_digest", "change_agent", "sqlite_autoindex_version_1"]
)
def test_an_index_that_disagrees_with_its_table_is_named_by_doctor(
    whole: Path, tmp_path: Path, index: str
) -> None:
    path = _copy(whole, tmp_path / "copy")
    root = int.from_bytes(_value(path, f"SELECT rootpage FROM sqlite_schema WHERE name = '{index}'"))
    data = bytearray(path.read_bytes())
    page = (root - 1) * 4096
    cell = int.from_bytes(data[page + 8 : page + 10])  # the first of a page without children
    data[page + cell + 20] ^= 4
    path.write_bytes(data)
    with suppress(apsw.Error):
        assert _faults(path)


def _damaged(path: Path, sql: str, *values: object) -> None:
    with closing(apsw.Connection(str(path))) as db:
        db.execute(sql, values)


def test_a_vector_that_is_not_of_length_one_is_not_recalled_by(whole: Path, tmp_path: Path) -> None:
    path = _copy(whole, tmp_path / "copy")
    size = len(_value(path, "SELECT vector FROM version WHERE ended IS NULL"))
    infinite = b"\x00\x7c" * (size // 2)
    _damaged(
        path, "UPDATE version SET vector = ?, vector_checksum = NULL WHERE content LIKE '%Porto'", infinite
    )

    async def main() -> None:
        async with Memory(stores=f"sqlite://{path}") as memory:
            recalled = await memory.recall("Where does Ana live?", explain=True)
            assert "damaged_vectors" in recalled.degraded
            assert all(hit.signals and abs(hit.signals["vector"]) <= 1.001 for hit in recalled.hits)

    asyncio.run(main())
    assert any("not of length one" in fault for fault in _faults(path))


@pytest.mark.parametrize("column", ["type", "trust", "metadata", "tags"])
def test_a_row_that_cannot_be_read_is_an_error_of_ours(whole: Path, tmp_path: Path, column: str) -> None:
    path = _copy(whole, tmp_path / "copy")
    _damaged(path, f"UPDATE version SET {column} = 'gibberish' WHERE content LIKE '%Porto'")

    async def main() -> None:
        async with Memory(stores=f"sqlite://{path}") as memory:
            await memory.list()

    with pytest.raises(StoreCorrupt):
        asyncio.run(main())


def test_a_backup_of_a_damaged_file_is_refused_and_leaves_nothing(whole: Path, tmp_path: Path) -> None:
    path = _copy(whole, tmp_path / "copy")
    _damaged(path, "UPDATE version SET content = 'Ana lives in Rome' WHERE content LIKE '%Porto'")
    target = tmp_path / "backup.db"
    with pytest.raises(StoreCorrupt, match="checksum"):
        backup(path, target)
    assert not target.exists()


def test_a_damaged_backup_is_not_restored(whole: Path, tmp_path: Path) -> None:
    path = _copy(whole, tmp_path / "copy")
    target = tmp_path / "backup.db"
    backup(path, target)
    _damaged(target, "UPDATE version SET vector = zeroblob(4) WHERE content LIKE '%Porto'")
    with pytest.raises(StoreCorrupt):
        restore(target, tmp_path / "restored.db", replace=False, aside="-old")


@pytest.mark.parametrize("lose", [lambda path: path.write_bytes(b""), Path.unlink], ids=["empty", "missing"])
def test_a_file_that_is_lost_beside_its_signed_ledger_is_named(
    whole: Path, shell: Shell, lose: Callable[[Path], object]
) -> None:
    path = _copy(whole, shell.home)
    lose(path)
    doctor, recall = shell("doctor"), shell("recall", "Where does Ana live?")
    assert (doctor.code, recall.code) == (4, 4)
    assert "memory.db-checkpoints" in doctor.out
    assert "memory.db-checkpoints" in recall.err
    assert not path.exists() or not path.stat().st_size


def test_a_file_with_fewer_entries_than_were_signed_is_not_healthy(whole: Path, shell: Shell) -> None:
    path = _copy(whole, shell.home)
    earlier = path.read_bytes()
    shell.remember("Ana moved to Faro")
    shell("audit", "checkpoint")
    path.write_bytes(earlier)
    done = shell("doctor")
    assert done.code == 4
    assert "ledger" in done.out


def test_a_row_of_an_earlier_release_has_no_checksum_and_is_sound(whole: Path, tmp_path: Path) -> None:
    path = _copy(whole, tmp_path / "copy")
    _damaged(path, "UPDATE version SET checksum = NULL, vector_checksum = NULL")
    assert _faults(path) == []
    with closing(connect(Location(path=path))) as db:
        assert count_unchecked(db) == 14
