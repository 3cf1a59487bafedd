"""The ledger is archived in a folder or an object store: append only, and only if it was not rebuilt."""

import asyncio
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memorywire import Memory
from memorywire.app import Container
from memorywire.journal.journal import Journal
from memorywire.model.errors import Conflict, InvalidRequest, NotFound
from memorywire_server import archive as archives
from memorywire_server.archive import (
    Bucket,
    Folder,
    LedgerArchive,
    archive_ledger,
    open_place,
    sign_request,
    verify_archive,
)
from tests.cli.shell import Shell
from tests.dreaming.test_background import until
from tests.engine.stage import HandClock
from tests.http.server import serving

KEYS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}


async def journal_of(memory: Memory) -> Journal:
    journal = (await memory._open()).journal
    assert journal is not None
    return journal


def archived(tmp_path: Path, story: Callable[[Memory, Journal, Folder], Any]) -> Any:
    async def told() -> Any:
        url = f"sqlite://{tmp_path}/memory.db"
        async with Memory("agent", [url], policy="open", clock=HandClock()) as memory:
            return await story(memory, await journal_of(memory), Folder(tmp_path / "archive"))

    return asyncio.run(told())


def files_of(place: Folder) -> dict[str, bytes]:
    paths = (path for path in place.path.rglob("*") if path.is_file())
    return {path.relative_to(place.path).as_posix(): path.read_bytes() for path in paths}


def verified(journal: Journal, place: Folder) -> Any:
    assert journal.signer is not None
    key = journal.signer.verifier()
    assert key is not None
    return verify_archive(place, key)


def test_each_round_adds_what_is_new_and_changes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "SEGMENT", 3)

    async def story(memory: Memory, journal: Journal, place: Folder) -> None:
        assert (await archive_ledger(journal, place)).entries == 0
        assert files_of(place) == {}
        for number in range(5):
            await memory.remember(f"Fact number {number}")
        first = await archive_ledger(journal, place)
        assert first.written == first.entries >= 5
        before = files_of(place)
        assert (await archive_ledger(journal, place)).written == 0
        assert files_of(place) == before
        await memory.remember("One more")
        second = await archive_ledger(journal, place)
        assert (second.written, second.entries) == (1, first.entries + 1)
        after = files_of(place)
        assert before.items() <= after.items()
        report = verified(journal, place)
        assert (report.ok, report.entries, report.checkpoints) == (True, second.entries, 2)

    archived(tmp_path, story)


def test_a_rebuilt_ledger_is_not_archived_and_the_archive_stays(tmp_path: Path):
    async def story(memory: Memory, journal: Journal, place: Folder) -> None:
        for number in range(3):
            await memory.remember(f"Fact number {number}")
        await archive_ledger(journal, place)

    archived(tmp_path, story)
    before = files_of(Folder(tmp_path / "archive"))
    with sqlite3.connect(tmp_path / "memory.db") as db:
        for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            db.execute(f'DROP TRIGGER "{name}"')
        body = db.execute("SELECT body FROM ledger WHERE seq = 2").fetchone()[0]
        changed = body.replace("remember", "forget".ljust(8)) if isinstance(body, str) else body[:-1] + b" "
        db.execute("UPDATE ledger SET body = ? WHERE seq = 2", (changed,))

    async def second(memory: Memory, journal: Journal, place: Folder) -> None:
        await memory.remember("A new fact")
        with pytest.raises(Conflict):
            await archive_ledger(journal, place)
        assert files_of(place) == before
        assert verified(journal, place).ok

    archived(tmp_path, second)


@pytest.mark.parametrize("damage", ["changed", "removed", "checkpoint"])
def test_an_archive_that_was_tampered_with_is_found_out(tmp_path: Path, damage: str):
    async def story(memory: Memory, journal: Journal, place: Folder) -> None:
        for number in range(3):
            await memory.remember(f"Fact number {number}")
        await archive_ledger(journal, place)
        [segment] = place.path.rglob("*.jsonl")
        [checkpoint] = place.path.rglob("*.checkpoint")
        if damage == "removed":
            segment.unlink()
        elif damage == "changed":
            segment.chmod(0o600)
            segment.write_text(segment.read_text().replace("committed", "refusedxx"))
        else:
            checkpoint.chmod(0o600)
            checkpoint.write_text(checkpoint.read_text().replace("\n3\n", "\n4\n"))
        try:
            assert not verified(journal, place).ok
        except Conflict:
            assert damage == "checkpoint"

    archived(tmp_path, story)


def test_a_round_that_died_before_its_checkpoint_disturbs_none(tmp_path: Path):
    class Dying(Folder, frozen=True):
        def create(self, name: str, data: bytes) -> bool:
            if name.endswith(".checkpoint"):
                raise KeyboardInterrupt
            return super().create(name, data)

    async def story(memory: Memory, journal: Journal, place: Folder) -> None:
        await memory.remember("A fact")
        with pytest.raises(KeyboardInterrupt):
            archives._write(Dying(place.path), *await journal.audit(_news(journal)))
        assert [name for name in files_of(place) if name.endswith(".checkpoint")] == []
        await memory.remember("Another fact")
        await archive_ledger(journal, place)
        assert verified(journal, place).ok

    def _news(journal: Journal) -> Any:
        signer = journal.signer
        assert signer is not None
        return lambda db: archives._read_news(db, signer=signer, last=None)

    async def signed(memory: Memory, journal: Journal, place: Folder) -> None:
        await memory.remember("The first fact")
        await journal.sign()
        await story(memory, journal, place)

    archived(tmp_path, signed)


def test_an_archive_goes_on_under_a_new_key(tmp_path: Path):
    async def story(memory: Memory, journal: Journal, place: Folder) -> None:
        await memory.remember("A fact")
        await archive_ledger(journal, place)
        await journal.sign(rotate=True)
        await memory.remember("Another fact")
        await archive_ledger(journal, place)
        assert verified(journal, place).ok

    archived(tmp_path, story)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "folder",
        "file://host/folder",
        "https://host/bucket",
        "s3+https://host",
        "s3+https:///bucket",
        "s3+https://key:secret@host/bucket",
        "file://[/folder",
    ],
)
def test_a_wrong_url_is_refused_by_its_field(url: str):
    with pytest.raises(InvalidRequest) as refusal:
        open_place(url, KEYS)
    assert refusal.value.field == "archive"


def test_an_object_store_takes_its_key_from_the_environment():
    with pytest.raises(InvalidRequest) as refusal:
        open_place("s3+https://host/bucket", {})
    assert "AWS_ACCESS_KEY_ID" in refusal.value.detail
    bucket = open_place("s3+https://host/bucket/a/b?region=eu-central-1", KEYS)
    assert isinstance(bucket, Bucket)
    assert (bucket.url, bucket.prefix, bucket.region) == ("https://host/bucket", "a/b/", "eu-central-1")


def test_a_request_to_s3_is_signed_as_its_documentation_shows():
    bucket = Bucket(
        url="https://examplebucket.s3.amazonaws.com",
        prefix="",
        region="us-east-1",
        id="AKIAIOSFODNN7EXAMPLE",
        secret="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    )
    headers = {"x-amz-date": "20130524T000000Z"}
    signed = sign_request("GET", f"{bucket.url}/?max-keys=2&prefix=J", b"", headers, bucket)
    assert signed["Authorization"].endswith(
        "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
    )


def test_the_command_archives_and_verifies(tmp_path: Path):
    shell = Shell(tmp_path)
    shell.remember("Ana lives in Graz")
    url = f"file://{tmp_path}/archive"
    assert shell("archive").code == 2
    done = shell("archive", url, "--json").json
    assert done["written"] == done["entries"] >= 1
    assert shell("archive", url, "--json").json["written"] == 0
    assert "sound" in shell("archive", url, "--verify").out
    (tmp_path / "memorywire.toml").write_text(f'archive = "{url}"\n', encoding="utf-8")
    assert shell("archive", "--verify", "--json").json["ok"] is True
    [segment] = (tmp_path / "archive").rglob("*.jsonl")
    segment.chmod(0o600)
    segment.write_text("{}\n")
    assert shell("archive", "--verify").code != 0


def test_a_server_archives_by_itself_and_on_request(tmp_path: Path):
    url, place = f"sqlite://{tmp_path}/memory.db", Folder(tmp_path / "archive")
    with serving(url) as server:
        nowhere = server.client.post("/v0/audit/archive", {}).json
        assert nowhere.get("field") == "archive", nowhere

    def opened(container: Container) -> LedgerArchive:
        assert container.journal is not None
        return LedgerArchive(container.journal, place, HandClock())

    with serving(url, archive=opened) as server:
        admin = server.client
        admin.remember("Ana lives in Graz")
        done = admin.post("/v0/audit/archive", {}).json
        assert done["entries"] == done["written"] >= 1
        assert admin.post("/v0/audit/archive", {}).json["written"] == 0
        assert server.operator("w", role="writer").post("/v0/audit/archive", {}).status == 403


def test_a_background_archive_goes_on_after_a_problem(tmp_path: Path):
    async def story(memory: Memory, journal: Journal, place: Folder) -> None:
        place.path.write_text("a file where the folder should be")
        work = LedgerArchive(journal, place, HandClock(), every=0.01)
        await memory.remember("A fact")
        async with work.run_in_background():
            await until(lambda: work.problem is not None)
            place.path.unlink()
            await until(lambda: work.ended_at is not None)
        assert (work.problem, verified(journal, place).ok) == (None, True)

    archived(tmp_path, story)


def test_an_empty_archive_is_not_found(tmp_path: Path):
    async def story(memory: Memory, journal: Journal, place: Folder) -> None:
        await memory.remember("A fact")
        await journal.sign()
        with pytest.raises(NotFound):
            verified(journal, place)
        assert json.dumps(files_of(place)) == "{}"

    archived(tmp_path, story)
