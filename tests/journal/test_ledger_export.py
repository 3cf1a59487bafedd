"""An export proves itself: whoever has the file needs nothing else."""

import json
import random
from pathlib import Path

import apsw
import pytest

from memorywire.journal.audit import export_entries, prove_entry, verify_export
from memorywire.journal.ledger import Filters
from memorywire.journal.signed_notes import PrivateKey
from memorywire.journal.signer import Signer
from memorywire.journal.sqlite import SqliteSession
from memorywire.model.errors import NotFound
from tests.journal.books import a_ledger, a_signer, rotated, seal, write_entries
from tests.journal.test_tamper import a_book

ENTRIES = 60


@pytest.fixture
def desk(tmp_path: Path) -> tuple[apsw.Connection, Signer]:
    book = a_book(tmp_path, ENTRIES, 20)
    db = apsw.Connection(":memory:")
    db.deserialize("main", book.image)
    return db, book.signer


def test_a_whole_export_is_proven_by_itself_by_its_key_and_by_a_kept_checkpoint(desk):
    db, signer = desk
    write_entries(db, 5, ENTRIES + 1)
    lines = list(export_entries(SqliteSession(db), signer))
    report = verify_export(lines)
    assert (report.fault, report.entries, report.sealed, report.exposed, report.checkpoints) == (
        None,
        65,
        60,
        5,
        3,
    )
    key = signer.verifier()
    assert verify_export(lines, keys=[key]).ok
    assert verify_export(lines, checkpoints=signer.load_checkpoints()[0]).ok
    assert not verify_export(lines, keys=[PrivateKey(key.name, bytes(32)).verifier]).ok


def test_every_line_that_is_changed_left_out_or_moved_is_noticed(desk):
    db, signer = desk
    lines, dice = list(export_entries(SqliteSession(db), signer)), random.Random(3)
    assert verify_export(lines).ok
    for place, line in enumerate(lines):
        character = dice.randrange(len(line))
        edited = line[:character] + ("0" if line[character] != "0" else "1") + line[character + 1 :]
        if json.loads(line).get("complete") is None or '"entries"' not in edited:
            assert not verify_export([*lines[:place], edited, *lines[place + 1 :]]).ok, edited
        if "checkpoint" not in json.loads(line) or place == 3:
            assert not verify_export([*lines[:place], *lines[place + 1 :]]).ok, line
        if 0 < place < len(lines) - 1:
            assert not verify_export([*lines[:place], lines[place + 1], line, *lines[place + 2 :]]).ok or (
                "checkpoint" in line and "checkpoint" in lines[place + 1]
            )


def test_the_first_bad_entry_of_an_export_is_named(desk):
    db, signer = desk
    lines = list(export_entries(SqliteSession(db), signer))
    first = next(place for place, line in enumerate(lines) if line.startswith('{"seq":1,'))
    wrong = lines[first + 36].replace("cli", "eve")
    assert verify_export([*lines[: first + 36], wrong, *lines[first + 37 :]]).fault.entry == 37
    assert verify_export([*lines[: first + 36], *lines[first + 37 :]]).fault.entry == 37
    assert verify_export(lines[:-1]).fault.until == ENTRIES


def test_an_export_of_a_rebuilt_ledger_contradicts_the_checkpoint_that_somebody_kept(desk, tmp_path: Path):
    kept = desk[1].load_checkpoints()[0]
    other = a_ledger()
    write_entries(other, 30)
    write_entries(other, 30, 531)
    forger = a_signer(tmp_path / "forger")
    seal(other, forger)
    lines = list(export_entries(SqliteSession(other), forger))
    assert verify_export(lines).ok
    fault = verify_export(lines, checkpoints=kept).fault
    assert (fault.entry, fault.until) == (21, 40)


def test_chosen_entries_are_proven_without_the_others(desk):
    db, signer = desk
    lines = list(export_entries(SqliteSession(db), signer, Filters(since=1_010, until=1_020)))
    report = verify_export(lines)
    assert (report.fault, report.entries) == (None, 10)
    assert [json.loads(json.loads(line)["body"])["subject"] for line in lines[2:]] == [
        f"c{number}" for number in range(10, 20)
    ]
    for place in range(2, len(lines)):
        edited = lines[place].replace("committed", "refused")
        broken = verify_export([*lines[:place], edited, *lines[place + 1 :]])
        assert broken.fault.entry == json.loads(edited)["seq"]
        assert not verify_export([*lines[:place], *lines[place + 1 :]]).ok


def test_one_entry_is_proven_and_belongs_at_its_place(desk):
    db, signer = desk
    header, checkpoint, line = prove_entry(SqliteSession(db), signer, 17)
    assert verify_export([header, checkpoint, line]).ok
    moved = json.dumps(json.loads(line) | {"seq": 18})
    assert not verify_export([header, checkpoint, moved]).ok
    with pytest.raises(NotFound):
        prove_entry(SqliteSession(db), signer, ENTRIES + 1)


def test_a_proof_can_be_checked_with_any_of_the_keys_a_ledger_had(tmp_path: Path):
    db, keys = a_ledger(), []
    for number, fill in enumerate((b"a", b"b", b"c"), 1):
        signer = a_signer(tmp_path, fill)
        write_entries(db, 1, number)
        (seal if number == 1 else rotated)(db, signer)
        keys.append(signer.verifier())
    write_entries(db, 1, 4)
    seal(db, signer)
    lines = list(prove_entry(SqliteSession(db), signer, 2))
    assert len(set(keys)) == 3
    assert all(verify_export(lines, keys=[key]).ok for key in keys)
    assert not verify_export(lines, keys=[PrivateKey(keys[0].name, bytes(32)).verifier]).ok


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{}", '{"export": "another 1"}', "null"])
def test_a_file_that_is_no_export_is_refused(text: str):
    report = verify_export(text.splitlines())
    assert not report.ok
    assert report.entries == 0


def test_what_was_never_signed_is_not_exported(tmp_path: Path):
    db, signer = a_ledger(), a_signer(tmp_path)
    write_entries(db, 2)
    with pytest.raises(NotFound, match="signed"):
        export_entries(SqliteSession(db), signer)
    seal(db, signer)
    assert len(list(export_entries(SqliteSession(db), signer))) == 4
