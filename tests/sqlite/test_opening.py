"""A URL opens the file it names, brings it up to date, or refuses it untouched."""

import stat
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from memorywire.model.capabilities import Feature
from memorywire.model.errors import (
    InvalidRequest,
    SpaceMismatch,
    StoreCorrupt,
    StoreNewer,
    StoreUnavailable,
    UnsafeEngine,
)
from memorywire.stores.contract import RecallCounter, SupportsHistory, Tracker
from memorywire.stores.document import migrations
from memorywire.stores.sqlite import open_store
from memorywire.stores.sqlite.connection import configure, connect, require_safe_wal, wal_is_safe
from memorywire.stores.sqlite.location import Location, locate
from memorywire.stores.sqlite.migrate import APPLICATION_ID
from memorywire.stores.sqlite.sql import QUERIES
from memorywire_testing.samples import SPACE, a_record, a_scope, everything, ids, keep
from tests.sqlite.desk import opened, rows, run

MIGRATIONS = migrations("memorywire.stores.sqlite")


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ("3.7.0", False),
        ("3.40.1", False),
        ("3.44.5", False),
        ("3.44.6", True),
        ("3.44.9", True),
        ("3.45.0", False),
        ("3.50.6", False),
        ("3.50.7", True),
        ("3.51.0", False),
        ("3.51.2", False),
        ("3.51.3", True),
        ("3.52", True),
        ("3.54.1", True),
        ("4.0.0", True),
    ],
)
def test_a_log_is_trusted_only_to_an_engine_that_cannot_skip_a_commit(version: str, safe: bool) -> None:
    assert wal_is_safe(version) is safe


def test_an_unsafe_engine_is_refused_with_a_way_out() -> None:
    with pytest.raises(UnsafeEngine, match=r"3\.51\.2") as refusal:
        require_safe_wal("3.51.2")
    assert "apsw" in str(refusal.value.fix)


def test_the_engine_in_use_is_safe() -> None:
    assert wal_is_safe(apsw.sqlite_lib_version())


@pytest.mark.parametrize(
    ("url", "path", "synchronous"),
    [
        ("sqlite:///var/lib/m.db", "/var/lib/m.db", "full"),
        ("sqlite:///var/lib/m%20y%23%3f.db", "/var/lib/m y#?.db", "full"),
        ("sqlite:///./m.db", f"{Path.cwd()}/m.db", "full"),
        ("sqlite:///~/m.db", f"{Path.home()}/m.db", "full"),
        ("sqlite:////var/lib/m.db", "/var/lib/m.db", "full"),
        ("sqlite:////m.db", "/m.db", "full"),
        ("sqlite:////no/such/folder/m.db", "/no/such/folder/m.db", "full"),
        ("sqlite:///var/m.db?synchronous=normal", "/var/m.db", "normal"),
        ("sqlite:///var/m.db?synchronous=full", "/var/m.db", "full"),
    ],
)
def test_a_url_names_a_file(url: str, path: str, synchronous: str) -> None:
    assert locate(url) == Location(path=Path(path), synchronous=synchronous)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_a_url_without_a_path_or_of_sqlites_own_name_is_in_memory(url: str) -> None:
    assert locate(url) == Location(path=None)


@pytest.mark.parametrize("path", ["/m.db", "/no-such-folder/m.db"])
def test_a_relative_path_after_three_slashes_is_refused_with_both_spellings(path: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        locate(f"sqlite://{path}")
    assert refusal.value.field == "store"
    assert f"sqlite:///.{path}" in str(refusal.value.fix)
    assert f"sqlite:///{path}" in str(refusal.value.fix)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://host/m.db",
        "sqlite:///folder/",
        "sqlite:///",
        "sqlite:///var/m.db#part",
        "sqlite:///var/m%00.db",
        "sqlite:///var/m.db?synchronous=off",
        "sqlite:///var/m.db?journal=wal",
        "sqlite:///var/m.db?synchronous=",
        "sqlite:///var/m.db?synchronous=full&synchronous=normal",
        "postgresql:///m.db",
    ],
)
def test_a_url_that_says_more_than_is_understood_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        locate(url)
    assert refusal.value.field == "store"
    assert refusal.value.fix


def test_the_file_and_its_folders_belong_to_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "memory.db"

    async def modes() -> dict[str, int]:
        async with opened(path) as store:
            await keep(store, a_record(a_scope()))
            parts = [path.parent.parent, path.parent, path, *path.parent.glob("memory.db-*")]
            return {part.name: stat.S_IMODE(part.stat().st_mode) for part in parts}

    assert run(modes()) == {
        "a": 0o700,
        "b": 0o700,
        "memory.db": 0o600,
        "memory.db-wal": 0o600,
        "memory.db-shm": 0o600,
    }


def test_durability_is_full_unless_normal_is_asked_for_by_name(tmp_path: Path) -> None:
    async def synchronous(url: str) -> tuple[str, str]:
        store = await open_store(url, space=SPACE)
        health = await store.health()
        await store.close()
        return health["journal_mode"], health["synchronous"]

    assert run(synchronous(f"sqlite://{tmp_path}/a.db")) == ("wal", "full")
    assert run(synchronous(f"sqlite://{tmp_path}/b.db?synchronous=normal")) == ("wal", "normal")


def test_every_connection_keeps_the_promises(tmp_path: Path) -> None:
    promised = {"synchronous": 2, "secure_delete": 1, "temp_store": 2, "foreign_keys": 1}
    path = tmp_path / "m.db"
    for location in (Location(path=path), Location(path=None)):
        db = connect(location)
        assert {name: db.execute(f"PRAGMA {name}").get for name in promised} == promised
        db.close()


def _looks_at_a_statement(db: apsw.Connection) -> list[int]:
    """How often the engine asked whether it may do what a statement says, after each of its executions:
    it asks whenever it parses one.
    """
    asked: list[int] = []

    def allow(operation: int, *_: object) -> int:
        asked.append(operation)
        return apsw.SQLITE_OK

    db.authorizer = allow
    counts = []
    for seen in range(3):
        db.execute(QUERIES["index_began"], {"tenant": "t", "agent": "a", "seen": seen, "upto": 9}).fetchall()
        counts.append(len(asked))
    return counts


def test_a_statement_is_parsed_once_whatever_is_bound_to_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "m.db"):
            pass

    run(story())
    ours, plain = connect(Location(path=tmp_path / "m.db")), apsw.Connection(str(tmp_path / "m.db"))
    first, *later = _looks_at_a_statement(ours)
    assert later == [first, first]
    once, *more = _looks_at_a_statement(plain)
    assert (more != [once, once]) == ("ENABLE_STAT4" in apsw.compile_options)
    ours.close()
    plain.close()


def test_a_new_file_is_marked_as_ours_and_current(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            health = await store.health()
            assert health["ok"]
            assert health["user_version"] == MIGRATIONS[-1][0]

    run(main())
    assert rows(tmp_path / "m.db", "PRAGMA application_id") == [(APPLICATION_ID,)]


def test_the_migrations_are_numbered_from_one_without_gaps() -> None:
    assert [number for number, _ in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


def test_what_was_written_is_there_after_reopening(tmp_path: Path) -> None:
    kept = a_record(a_scope(), metadata={"k": [1, None, {"x": 2.5}]}, tags=("a", "b"))

    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            await keep(store, kept)
        async with opened(tmp_path / "m.db") as store:
            assert await store.get(kept.scope, [kept.id]) == [kept]

    run(main())


def test_a_file_that_can_only_be_read_gives_what_it_has_and_takes_nothing(tmp_path: Path) -> None:
    def to_read(location: Location) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return configure(apsw.Connection(f"file:{location}?immutable=1", flags=flags), location)

    path, kept = tmp_path / "memory.db", a_record(a_scope())

    async def written() -> None:
        async with opened(path) as store:
            await keep(store, kept)

    async def read() -> None:
        async with opened(path, connect=to_read) as store:
            assert await store.get(kept.scope, [kept.id]) == [kept]
            await store.touch(kept.scope, [kept.id], 1)
            with pytest.raises(StoreUnavailable, match="is read-only") as refusal:
                await keep(store, a_record(a_scope()))
            assert "memorywire backup" in str(refusal.value.fix)
            assert (await store.health())["records"] == 1

    run(written())
    before = path.read_bytes()
    run(read())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_a_newer_release_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    known = MIGRATIONS[-1][0]

    async def main() -> None:
        async with opened(path):
            pass
        rows(path, f"PRAGMA user_version = {known + 41}")
        before = path.read_bytes()
        with pytest.raises(StoreNewer, match=f"{known + 41}.*{known}") as refusal:
            async with opened(path):
                pass
        assert "upgrade" in str(refusal.value.fix)
        assert path.read_bytes() == before

    run(main())


def test_a_database_of_another_application_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    rows(path, "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
    before = path.read_bytes()

    async def main() -> None:
        with pytest.raises(StoreCorrupt, match="another application"):
            async with opened(path):
                pass

    run(main())
    assert path.read_bytes() == before
    assert rows(path, "PRAGMA journal_mode") == [("delete",)]


@pytest.mark.parametrize("content", [b"dear diary\n" * 200, b"SQLite format 3\0" + b"\xff" * 4080])
def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.db"
    path.write_bytes(content)

    async def main() -> None:
        with pytest.raises(StoreCorrupt):
            async with opened(path):
                pass

    run(main())
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "m.db").touch()

    async def main() -> bool:
        async with opened(tmp_path / "m.db") as store:
            return bool((await store.health())["ok"])

    assert run(main())


def test_a_path_that_cannot_be_opened_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    async def main(path: Path) -> None:
        with pytest.raises(StoreUnavailable):
            async with opened(path):
                pass

    run(main(tmp_path))
    run(main(tmp_path / "file" / "m.db"))


@pytest.mark.parametrize(
    "other", [{"model": "else"}, {"revision": "2"}, {"dimension": 9}, {"normalised": False}]
)
def test_vectors_of_another_space_are_refused_by_name(tmp_path: Path, other: dict[str, object]) -> None:
    theirs = replace(SPACE, **other)

    async def main() -> None:
        async with opened(tmp_path / "m.db"):
            pass
        with pytest.raises(SpaceMismatch) as refusal:
            async with opened(tmp_path / "m.db", space=theirs):
                pass
        assert str(SPACE) in str(refusal.value)
        assert str(theirs) in str(refusal.value)
        assert f"memorywire reembed --store sqlite://{tmp_path}/m.db" in str(refusal.value.fix)

    run(main())


def test_a_migration_cut_short_is_done_again(tmp_path: Path) -> None:
    """The file of a process that was killed inside the first migration."""
    path = tmp_path / "m.db"
    script = MIGRATIONS[0][1].split(";")[0]
    killed = (
        "import apsw, os, sys\n"
        "db = apsw.Connection(sys.argv[1])\n"
        "db.execute('PRAGMA journal_mode = WAL')\n"
        "db.execute('BEGIN IMMEDIATE')\n"
        "db.execute(sys.argv[2])\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", killed, str(path), script], check=False)
    assert path.exists()

    async def main() -> None:
        scope = a_scope()
        async with opened(path) as store:
            await keep(store, a_record(scope, id="m"))
            assert ids(await store.find(everything(scope))) == ["m"]

    run(main())


def test_a_store_in_memory_is_private_and_not_durable() -> None:
    async def main() -> None:
        scope = a_scope()
        async with opened(None) as one, opened(None) as other:
            await keep(one, a_record(scope))
            assert await one.count(everything(scope)) == 1
            assert await other.count(everything(scope)) == 0
            assert Feature.DURABLE not in one.features

    run(main())


def test_a_file_has_every_feature_and_every_ability(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            assert store.name == "sqlite"
            assert store.features == frozenset(Feature) - {Feature.GRAPH}
            assert isinstance(store, SupportsHistory)
            assert isinstance(store, Tracker)
            assert isinstance(store, RecallCounter)

    run(main())
