"""A store knows how it is, and says what is wrong with its file."""

from pathlib import Path

import pytest

from memorywire.model.errors import StoreCorrupt
from memorywire.search.text import EDITION
from memorywire_testing.samples import a_change, a_scope, ending, everything, keep, records
from tests.sqlite.desk import opened, rows, run

PAGE = 4096


def _damage(path: Path, name: str) -> None:
    """Overwrite the first page of a table or an index."""
    [(root,)] = rows(path, "SELECT rootpage FROM sqlite_schema WHERE name = ?", name)
    with path.open("r+b") as file:
        file.seek((root - 1) * PAGE)
        file.write(b"\x0a" + b"\xff" * (PAGE - 1))


async def _filled(path: Path) -> None:
    async with opened(path) as store:
        kept = records(a_scope(), 12)
        await keep(store, *kept)
        await store.write(a_change(kept[0].scope, ending(kept[0])))


def test_a_sound_file_says_what_it_holds(tmp_path: Path) -> None:
    async def main() -> None:
        await _filled(tmp_path / "m.db")
        async with opened(tmp_path / "m.db") as store:
            health = dict(await store.health())
            assert health.pop("bytes") % PAGE == 0
            assert health.pop("sqlite").startswith("3.")
            assert health == {
                "ok": True,
                "path": str(tmp_path / "m.db"),
                "journal_mode": "wal",
                "synchronous": "full",
                "user_version": 5,
                "integrity": "ok",
                "records": 11,
                "versions": 12,
                "embedded_anew": 0,
                "words": EDITION,
                "wal_bytes": 0,
                "erase_pending": False,
                "mode": "0600",
            }

    run(main())


def test_a_damaged_index_is_reported(tmp_path: Path) -> None:
    async def main() -> None:
        await _filled(tmp_path / "m.db")
        _damage(tmp_path / "m.db", "version_digest")
        async with opened(tmp_path / "m.db") as store:
            health = await store.health()
            assert not health["ok"]
            assert health["integrity"] != "ok"

    run(main())


def test_a_damaged_table_is_an_error_of_ours(tmp_path: Path) -> None:
    async def main() -> None:
        await _filled(tmp_path / "m.db")
        _damage(tmp_path / "m.db", "version_live")
        async with opened(tmp_path / "m.db") as store:
            with pytest.raises(StoreCorrupt):
                await store.find(everything(a_scope()))

    run(main())
