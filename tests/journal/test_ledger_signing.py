"""Checkpoints are signed notes that others can check, and keys hand over to keys."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorywire.journal import ledger
from memorywire.journal.entries import build_draft
from memorywire.journal.ledger import (
    append,
    count_unsigned,
    is_signing_due,
    leaf_hash,
    read_entries,
    read_signed_size,
    read_tree_head,
    save_tree_head,
)
from memorywire.journal.merkle import Tree
from memorywire.journal.signed_notes import (
    PrivateKey,
    parse_checkpoint,
    parse_checkpoints,
    parse_note,
    parse_private_key,
    parse_verifier,
    sign_note,
)
from memorywire.journal.signer import Signer
from memorywire.journal.sqlite import SqliteSession
from memorywire.journal.verify import verify
from memorywire.model.errors import InvalidRequest, StoreCorrupt, StoreUnavailable
from tests.journal.books import a_ledger, a_signer, an_entry, audit, rotated, seal, write_entries

# The key and the note of the signed-note package that defined the format.
PUBLIC = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
SIGNATURE = "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
NOTE = f"{TEXT}\n— PeterNeumann {SIGNATURE}\n"


def test_notes_are_those_of_the_format():
    verifier, signer = parse_verifier(PUBLIC), parse_private_key(PRIVATE)
    assert str(verifier) == PUBLIC
    assert signer.verifier == verifier
    assert signer.secret == PRIVATE
    assert sign_note(TEXT, [signer]) == NOTE
    assert verifier.accepts(parse_note(NOTE))
    assert not verifier.accepts(parse_note(NOTE.replace("answer", "anwser")))
    assert not PrivateKey("PeterNeumann", bytes(32)).verifier.accepts(parse_note(NOTE))


def test_a_key_is_not_shown_by_accident():
    signer = parse_private_key(PRIVATE)
    assert signer.seed.hex() not in repr(signer)
    assert "810a1402" not in repr(signer)


@pytest.mark.parametrize(
    "text", ["", "a+b", "name+00000000+AAAA", PUBLIC.replace("c74f20a3", "c74f20a4"), PRIVATE, PUBLIC + "AA"]
)
def test_what_is_not_a_public_key_is_refused(text: str):
    with pytest.raises(InvalidRequest):
        parse_verifier(text)


def test_a_checkpoint_says_origin_size_and_root(tmp_path: Path):
    db, signer = a_ledger(), a_signer(tmp_path)
    write_entries(db, 21)
    note = seal(db, signer)
    checkpoint = parse_checkpoint(note)
    tree = Tree(leaf_hash(row.body.encode()) for row in read_entries(SqliteSession(db)))
    assert (checkpoint.size, checkpoint.root) == (21, tree.root(21))
    assert note.startswith(f"{checkpoint.origin}\n21\n")
    assert checkpoint.note.whole == note
    key = signer.verifier()
    assert key is not None
    assert key.accepts(checkpoint.note)


@pytest.mark.parametrize("size", ["-1", "01", "+5", "x", ""])
def test_a_note_with_a_strange_size_is_not_a_checkpoint(size: str, tmp_path: Path):
    db = a_ledger()
    write_entries(db, 5)
    note = seal(db, a_signer(tmp_path))
    assert parse_checkpoint(note).size == 5
    with pytest.raises(InvalidRequest):
        parse_checkpoint(note.replace("\n5\n", f"\n{size}\n", 1))


def test_the_tree_head_grows_by_new_entries_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    db, signer = a_ledger(), a_signer(tmp_path)
    asked: list[int] = []

    def counted(db: SqliteSession, after: int):
        asked.append(after)
        return read_pages(db, after)

    read_pages = ledger._read_pages

    monkeypatch.setattr(ledger, "_read_pages", counted)
    for first, count in ((1, 5), (6, 8), (14, 3)):
        write_entries(db, count, first)
        seal(db, signer)
    assert asked == [0, 5, 13]
    assert audit(db, signer).ok


def test_signing_the_same_log_twice_keeps_one_checkpoint(tmp_path: Path):
    db, signer = a_ledger(), a_signer(tmp_path)
    write_entries(db, 3)
    assert seal(db, signer) == seal(db, signer)
    assert len(signer.load_checkpoints()[0]) == 1


def test_a_signature_is_due_after_a_thousand_entries_or_a_minute(tmp_path: Path):
    db, signer = a_ledger(), a_signer(tmp_path)
    assert not is_signing_due(SqliteSession(db), 10**12)
    append(SqliteSession(db), [build_draft(an_entry(1))])
    assert count_unsigned(SqliteSession(db)) == (1, 1_001)
    assert not is_signing_due(SqliteSession(db), 1_001 + 59_999)
    assert is_signing_due(SqliteSession(db), 1_001 + 60_000)
    seal(db, signer)
    assert count_unsigned(SqliteSession(db)) == (0, None)
    assert not is_signing_due(SqliteSession(db), 10**12)
    write_entries(db, 999, 2)
    assert not is_signing_due(SqliteSession(db), 1_003)
    write_entries(db, 1, 1001)
    assert is_signing_due(SqliteSession(db), 1_003)


def test_what_does_not_follow_is_never_signed(tmp_path: Path):
    db, signer = a_ledger(), a_signer(tmp_path)
    write_entries(db, 5)
    seal(db, signer)
    write_entries(db, 5, 6)
    db.execute("DROP TRIGGER ledger_stays")
    db.execute("UPDATE ledger SET body = replace(body, 'cli', 'eve') WHERE seq = 8")
    with pytest.raises(StoreCorrupt, match="entry 8"):
        read_tree_head(SqliteSession(db))


def test_a_saved_tree_head_never_goes_back():
    db = a_ledger()
    write_entries(db, 2)
    older = read_tree_head(SqliteSession(db))
    write_entries(db, 2, 3)
    newer = read_tree_head(SqliteSession(db))
    assert older is not None
    assert newer is not None
    save_tree_head(SqliteSession(db), newer)
    save_tree_head(SqliteSession(db), older)
    assert read_signed_size(SqliteSession(db)) == 4


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path):
    db, signer = a_ledger(), replace(a_signer(tmp_path / "new" / "folder"))
    assert signer.verifier() is None
    write_entries(db, 1)
    seal(db, signer)
    kept = signer.key.read_bytes()
    assert signer.key.stat().st_mode & 0o777 == 0o600
    assert signer.checkpoints.stat().st_mode & 0o777 == 0o600
    write_entries(db, 1, 2)
    seal(db, replace(signer, entropy=lambda n: b"x" * n))
    assert signer.key.read_bytes() == kept


def test_a_key_signs_for_one_log_alone(tmp_path: Path):
    signer = a_signer(tmp_path)
    db, other = a_ledger(), a_ledger()
    write_entries(db, 1)
    write_entries(other, 1, 2)
    seal(db, signer)
    with pytest.raises(StoreUnavailable, match="signs for"):
        seal(other, signer)


def test_half_a_checkpoint_at_the_end_of_the_file_is_passed_over(tmp_path: Path):
    db, signer = a_ledger(), a_signer(tmp_path)
    write_entries(db, 2)
    whole = seal(db, signer) + "\n"
    for length in range(1, len(whole) - 2):
        for behind in ("", "\n\n" + whole):
            found, unreadable = parse_checkpoints(whole + whole[:length] + behind)
            assert ([one.size for one in found], unreadable) == ([2] * (2 if behind else 1), 1), length
    signer.checkpoints.write_text(whole + whole[: len(whole) // 2], encoding="utf-8")
    write_entries(db, 2, 3)
    seal(db, signer)
    found, begun = signer.load_checkpoints()
    assert ([checkpoint.size for checkpoint in found], begun) == ([2, 4], 1)
    assert audit(db, signer).ok


def test_a_rotated_key_is_trusted_from_either_end(tmp_path: Path):
    db, signer = a_ledger(), a_signer(tmp_path, b"a")
    write_entries(db, 3)
    seal(db, signer)
    first = signer.verifier()
    for number, fill in ((4, b"b"), (5, b"c")):
        write_entries(db, 1, number)
        rotated(db, a_signer(tmp_path, fill))
    write_entries(db, 1, 6)
    seal(db, signer)
    last = signer.verifier()
    assert first is not None
    assert last is not None
    assert first != last
    checkpoints = signer.load_checkpoints()[0]
    assert [checkpoint.size for checkpoint in checkpoints] == [3, 4, 5, 6]
    assert verify(read_entries(SqliteSession(db)), checkpoints, [first]).ok
    assert verify(read_entries(SqliteSession(db)), checkpoints, [last]).ok
    stranger = PrivateKey(first.name, b"s" * 32).verifier
    assert not verify(read_entries(SqliteSession(db)), checkpoints, [stranger]).ok
    handover = checkpoints[1]
    without = [checkpoint for checkpoint in checkpoints if checkpoint != handover]
    assert not verify(read_entries(SqliteSession(db)), without, [first]).ok


def test_a_retired_key_signs_nothing_new(tmp_path: Path):
    db, signer = a_ledger(), a_signer(tmp_path, b"a")
    write_entries(db, 3)
    seal(db, signer)
    stolen = signer.key.read_bytes()
    rotated(db, a_signer(tmp_path, b"b"))
    write_entries(db, 2, 4)
    seal(db, signer)
    assert audit(db, signer).ok
    thief = Signer(key=tmp_path / "stolen", checkpoints=tmp_path / "forged")
    thief.key.write_bytes(stolen)
    head = read_tree_head(SqliteSession(db))
    assert head is not None
    thief.sign(head.checkpoint)
    forged = thief.load_checkpoints()[0]
    key = signer.verifier()
    assert key is not None
    report = verify(read_entries(SqliteSession(db)), [*signer.load_checkpoints()[0], *forged], [key])
    assert report.fault is not None
    assert "trusted key" in report.fault.reason


def test_many_who_sign_and_rotate_at_once_leave_one_key_and_whole_checkpoints(tmp_path: Path):
    db, signer = a_ledger(), replace(a_signer(tmp_path), entropy=os.urandom)
    write_entries(db, 5)
    head = read_tree_head(SqliteSession(db))
    assert head is not None
    work = [signer.sign, signer.rotate] * 12
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda sign: sign(head.checkpoint), work))
    found, unreadable = signer.load_checkpoints()
    assert (sum(one.handover is not None for one in found), unreadable) == (12, 0)
    assert audit(db, signer).ok
    assert signer.verifier() == [one.handover for one in found if one.handover][-1].new


def test_who_only_looks_writes_nothing(tmp_path: Path):
    db, signer = a_ledger(), a_signer(tmp_path)
    write_entries(db, 2)
    seal(db, signer)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(before) == 2
    signer.checkpoints.chmod(0o400)
    signer.key.chmod(0o400)
    assert audit(db, signer).ok
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("signed_first", [False, True])
def test_a_rotation_that_was_interrupted_is_finished_or_forgotten(tmp_path: Path, signed_first: bool):
    db, signer = a_ledger(), a_signer(tmp_path, b"a")
    write_entries(db, 3)
    seal(db, signer)
    old = signer.key.read_bytes()
    rotated(db, a_signer(tmp_path, b"b"))
    new = signer.key.read_bytes()
    signer.key.with_name("ledger.key.next").write_bytes(new)
    signer.key.write_bytes(old)
    if not signed_first:
        text = signer.checkpoints.read_text(encoding="utf-8")
        signer.checkpoints.write_text(text[: text.index("\n\n", text.index("—")) + 2], encoding="utf-8")
    write_entries(db, 1, 4)
    seal(db, signer)
    assert signer.key.read_bytes() == (new if signed_first else old)
    assert not signer.key.with_name("ledger.key.next").exists()
    assert audit(db, signer).ok


def test_signing_appends_the_note_and_saves_the_tree_head(tmp_path: Path):
    db, signer = a_ledger(), a_signer(tmp_path)

    class File:
        async def read(self, work: Callable[[SqliteSession], object]) -> object:
            return work(SqliteSession(db))

        write = read

    assert asyncio.run(ledger.sign(File(), signer)) is None
    write_entries(db, 4)
    note = asyncio.run(ledger.sign(File(), signer))
    assert note is not None
    assert parse_checkpoint(note) == signer.load_checkpoints()[0][0]
    assert read_signed_size(SqliteSession(db)) == 4
