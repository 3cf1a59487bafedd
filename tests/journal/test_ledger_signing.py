"""Checkpoints are signed notes that others can check, and keys hand over to keys."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from memorywire.journal import sealing
from memorywire.journal.entries import draft
from memorywire.journal.ledger import append, links, rows
from memorywire.journal.merkle import Tree, leaf_hash
from memorywire.journal.sealing import advanced, due, exposure, keep, sealed_size
from memorywire.journal.signed_notes import (
    Signer,
    parse_checkpoint,
    parse_checkpoints,
    parse_note,
    parse_signer,
    parse_verifier,
    signed,
)
from memorywire.journal.signer import Notary
from memorywire.journal.verify import verify
from memorywire.model.errors import InvalidRequest, StoreCorrupt, StoreUnavailable
from tests.journal.books import a_ledger, a_notary, an_entry, audit, rotated, seal, write_entries

# The key and the note of the signed-note package that defined the format.
PUBLIC = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
SIGNATURE = "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
NOTE = f"{TEXT}\n— PeterNeumann {SIGNATURE}\n"


def test_notes_are_those_of_the_format():
    verifier, signer = parse_verifier(PUBLIC), parse_signer(PRIVATE)
    assert str(verifier) == PUBLIC
    assert signer.verifier == verifier
    assert signer.secret == PRIVATE
    assert signed(TEXT, [signer]) == NOTE
    assert verifier.accepts(parse_note(NOTE))
    assert not verifier.accepts(parse_note(NOTE.replace("answer", "anwser")))
    assert not Signer("PeterNeumann", bytes(32)).verifier.accepts(parse_note(NOTE))


def test_a_key_is_not_shown_by_accident():
    signer = parse_signer(PRIVATE)
    assert signer.seed.hex() not in repr(signer)
    assert "810a1402" not in repr(signer)


@pytest.mark.parametrize(
    "text", ["", "a+b", "name+00000000+AAAA", PUBLIC.replace("c74f20a3", "c74f20a4"), PRIVATE, PUBLIC + "AA"]
)
def test_what_is_not_a_public_key_is_refused(text: str):
    with pytest.raises(InvalidRequest):
        parse_verifier(text)


def test_a_checkpoint_says_origin_size_and_root(tmp_path: Path):
    db, notary = a_ledger(), a_notary(tmp_path)
    write_entries(db, 21)
    note = seal(db, notary)
    checkpoint = parse_checkpoint(note)
    tree = Tree(leaf_hash(row.body.encode()) for row in rows(db))
    assert (checkpoint.size, checkpoint.root) == (21, tree.root(21))
    assert note.startswith(f"{checkpoint.origin}\n21\n")
    assert checkpoint.note.whole == note
    key = notary.verifier()
    assert key is not None
    assert key.accepts(checkpoint.note)


@pytest.mark.parametrize("size", ["-1", "01", "+5", "x", ""])
def test_a_note_with_a_strange_size_is_not_a_checkpoint(size: str, tmp_path: Path):
    db = a_ledger()
    write_entries(db, 5)
    note = seal(db, a_notary(tmp_path))
    assert parse_checkpoint(note).size == 5
    with pytest.raises(InvalidRequest):
        parse_checkpoint(note.replace("\n5\n", f"\n{size}\n", 1))


def test_the_frontier_grows_by_new_entries_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    db, notary = a_ledger(), a_notary(tmp_path)
    asked: list[int] = []

    def counted(db: apsw.Connection, after: int = 0):
        asked.append(after)
        return links(db, after)

    monkeypatch.setattr(sealing, "links", counted)
    for first, count in ((1, 5), (6, 8), (14, 3)):
        write_entries(db, count, first)
        seal(db, notary)
    assert asked == [0, 5, 13]
    assert audit(db, notary).ok


def test_signing_the_same_log_twice_keeps_one_checkpoint(tmp_path: Path):
    db, notary = a_ledger(), a_notary(tmp_path)
    write_entries(db, 3)
    assert seal(db, notary) == seal(db, notary)
    assert len(notary.saved()[0]) == 1


def test_a_signature_is_due_after_a_thousand_entries_or_a_minute(tmp_path: Path):
    db, notary = a_ledger(), a_notary(tmp_path)
    assert not due(db, 10**12)
    append(db, [draft(an_entry(1))])
    assert exposure(db) == (1, 1_001)
    assert not due(db, 1_001 + 59_999)
    assert due(db, 1_001 + 60_000)
    seal(db, notary)
    assert exposure(db) == (0, None)
    assert not due(db, 10**12)
    write_entries(db, 999, 2)
    assert not due(db, 1_003)
    write_entries(db, 1, 1001)
    assert due(db, 1_003)


def test_what_does_not_follow_is_never_signed(tmp_path: Path):
    db, notary = a_ledger(), a_notary(tmp_path)
    write_entries(db, 5)
    seal(db, notary)
    write_entries(db, 5, 6)
    db.execute("DROP TRIGGER ledger_stays")
    db.execute("UPDATE ledger SET body = replace(body, 'cli', 'eve') WHERE seq = 8")
    with pytest.raises(StoreCorrupt, match="entry 8"):
        advanced(db)


def test_a_remembered_frontier_never_goes_back():
    db = a_ledger()
    write_entries(db, 2)
    older = advanced(db)
    write_entries(db, 2, 3)
    newer = advanced(db)
    assert older is not None
    assert newer is not None
    keep(db, newer)
    keep(db, older)
    assert sealed_size(db) == 4


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path):
    db, notary = a_ledger(), replace(a_notary(tmp_path / "new" / "folder"))
    assert notary.verifier() is None
    write_entries(db, 1)
    seal(db, notary)
    kept = notary.key.read_bytes()
    assert notary.key.stat().st_mode & 0o777 == 0o600
    assert notary.checkpoints.stat().st_mode & 0o777 == 0o600
    write_entries(db, 1, 2)
    seal(db, replace(notary, entropy=lambda n: b"x" * n))
    assert notary.key.read_bytes() == kept


def test_a_key_signs_for_one_log_alone(tmp_path: Path):
    notary = a_notary(tmp_path)
    db, other = a_ledger(), a_ledger()
    write_entries(db, 1)
    write_entries(other, 1, 2)
    seal(db, notary)
    with pytest.raises(StoreUnavailable, match="signs for"):
        seal(other, notary)


def test_half_a_checkpoint_at_the_end_of_the_file_is_passed_over(tmp_path: Path):
    db, notary = a_ledger(), a_notary(tmp_path)
    write_entries(db, 2)
    whole = seal(db, notary) + "\n"
    for length in range(1, len(whole) - 2):
        for behind in ("", "\n\n" + whole):
            found, unreadable = parse_checkpoints(whole + whole[:length] + behind)
            assert ([one.size for one in found], unreadable) == ([2] * (2 if behind else 1), 1), length
    notary.checkpoints.write_text(whole + whole[: len(whole) // 2], encoding="utf-8")
    write_entries(db, 2, 3)
    seal(db, notary)
    found, begun = notary.saved()
    assert ([checkpoint.size for checkpoint in found], begun) == ([2, 4], 1)
    assert audit(db, notary).ok


def test_a_rotated_key_is_trusted_from_either_end(tmp_path: Path):
    db, notary = a_ledger(), a_notary(tmp_path, b"a")
    write_entries(db, 3)
    seal(db, notary)
    first = notary.verifier()
    for number, fill in ((4, b"b"), (5, b"c")):
        write_entries(db, 1, number)
        rotated(db, a_notary(tmp_path, fill))
    write_entries(db, 1, 6)
    seal(db, notary)
    last = notary.verifier()
    assert first is not None
    assert last is not None
    assert first != last
    checkpoints = notary.saved()[0]
    assert [checkpoint.size for checkpoint in checkpoints] == [3, 4, 5, 6]
    assert verify(rows(db), checkpoints, [first]).ok
    assert verify(rows(db), checkpoints, [last]).ok
    stranger = Signer(first.name, b"s" * 32).verifier
    assert not verify(rows(db), checkpoints, [stranger]).ok
    handover = checkpoints[1]
    without = [checkpoint for checkpoint in checkpoints if checkpoint != handover]
    assert not verify(rows(db), without, [first]).ok


def test_a_retired_key_signs_nothing_new(tmp_path: Path):
    db, notary = a_ledger(), a_notary(tmp_path, b"a")
    write_entries(db, 3)
    seal(db, notary)
    stolen = notary.key.read_bytes()
    rotated(db, a_notary(tmp_path, b"b"))
    write_entries(db, 2, 4)
    seal(db, notary)
    assert audit(db, notary).ok
    thief = Notary(key=tmp_path / "stolen", checkpoints=tmp_path / "forged")
    thief.key.write_bytes(stolen)
    frontier = advanced(db)
    assert frontier is not None
    thief.sign(frontier.checkpoint)
    forged = thief.saved()[0]
    key = notary.verifier()
    assert key is not None
    report = verify(rows(db), [*notary.saved()[0], *forged], [key])
    assert report.fault is not None
    assert "trusted key" in report.fault.reason


def test_many_who_sign_and_rotate_at_once_leave_one_key_and_whole_checkpoints(tmp_path: Path):
    db, notary = a_ledger(), replace(a_notary(tmp_path), entropy=os.urandom)
    write_entries(db, 5)
    frontier = advanced(db)
    assert frontier is not None
    work = [notary.sign, notary.rotate] * 12
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda sign: sign(frontier.checkpoint), work))
    found, unreadable = notary.saved()
    assert (sum(one.handover is not None for one in found), unreadable) == (12, 0)
    assert audit(db, notary).ok
    assert notary.verifier() == [one.handover for one in found if one.handover][-1].new


def test_who_only_looks_writes_nothing(tmp_path: Path):
    db, notary = a_ledger(), a_notary(tmp_path)
    write_entries(db, 2)
    seal(db, notary)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(before) == 2
    notary.checkpoints.chmod(0o400)
    notary.key.chmod(0o400)
    assert audit(db, notary).ok
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("signed_first", [False, True])
def test_a_rotation_that_was_interrupted_is_finished_or_forgotten(tmp_path: Path, signed_first: bool):
    db, notary = a_ledger(), a_notary(tmp_path, b"a")
    write_entries(db, 3)
    seal(db, notary)
    old = notary.key.read_bytes()
    rotated(db, a_notary(tmp_path, b"b"))
    new = notary.key.read_bytes()
    notary.key.with_name("ledger.key.next").write_bytes(new)
    notary.key.write_bytes(old)
    if not signed_first:
        text = notary.checkpoints.read_text(encoding="utf-8")
        notary.checkpoints.write_text(text[: text.index("\n\n", text.index("—")) + 2], encoding="utf-8")
    write_entries(db, 1, 4)
    seal(db, notary)
    assert notary.key.read_bytes() == (new if signed_first else old)
    assert not notary.key.with_name("ledger.key.next").exists()
    assert audit(db, notary).ok


def test_sealing_signs_keeps_and_remembers(tmp_path: Path):
    db, notary = a_ledger(), a_notary(tmp_path)

    class File:
        async def read(self, work: Callable[[apsw.Connection], object]) -> object:
            return work(db)

        write = read

    assert asyncio.run(sealing.seal(File(), notary)) is None
    write_entries(db, 4)
    note = asyncio.run(sealing.seal(File(), notary))
    assert note is not None
    assert parse_checkpoint(note) == notary.saved()[0][0]
    assert sealed_size(db) == 4
