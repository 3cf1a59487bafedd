"""Whatever somebody does to the rows of a ledger is found, and the first bad entry is named."""

import random
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from memorywire.journal.ledger import read_entries
from memorywire.journal.merkle import EMPTY
from memorywire.journal.signer import Signer
from memorywire.journal.sqlite import SqliteSession
from memorywire.journal.verify import Report, verify
from tests.journal.books import a_ledger, a_signer, audit, seal, write_entries
from tests.journal.tampering import ATTACKS, NEED_CHECKPOINTS, try_attack

ENTRIES = 120
STEP = 40


@dataclass(frozen=True)
class Book:
    image: bytes
    signer: Signer


def a_book(folder: Path, entries: int = ENTRIES, step: int = STEP) -> Book:
    """A ledger with a checkpoint every few entries, and one behind the last."""
    db, signer = a_ledger(), a_signer(folder)
    for first in range(1, entries + 1, step):
        write_entries(db, step, first)
        seal(db, signer)
    return Book(db.serialize("main"), signer)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return a_book(tmp_path_factory.mktemp("book"))


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_is_found_wherever_it_is_done(attack: str, book: Book):
    dice = random.Random(attack)
    trials = [
        try_attack(attack, book.image, entry, dice, lambda db: audit(db, book.signer))
        for entry in range(1, ENTRIES + 1, 4)
    ]
    assert [trial for trial in trials if not trial.found or not trial.named] == []


@pytest.mark.parametrize("attack", ATTACKS)
def test_without_checkpoints_only_what_breaks_the_chain_is_found(attack: str, book: Book):
    trial = try_attack(
        attack, book.image, 50, random.Random(1), lambda db: verify(read_entries(SqliteSession(db)), [], [])
    )
    assert trial.found == (attack not in NEED_CHECKPOINTS)


def test_a_ledger_that_nobody_touched_is_sound_and_an_examination_that_looks_at_nothing_finds_nothing(
    book: Book,
):
    db = apsw.Connection(":memory:")
    db.deserialize("main", book.image)
    report = audit(db, book.signer)
    assert (report.fault, report.entries, report.sealed, report.checkpoints) == (None, 120, 120, 3)
    blind = Report(entries=0, root=EMPTY)
    dice = random.Random(2)
    assert not any(try_attack(name, book.image, 7, dice, lambda _: blind).found for name in ATTACKS)


def test_entries_after_the_last_checkpoint_are_counted_as_exposed(tmp_path: Path):
    db, signer = a_ledger(), a_signer(tmp_path)
    write_entries(db, 10)
    seal(db, signer)
    write_entries(db, 3, 11)
    report = audit(db, signer)
    assert (report.ok, report.sealed, report.exposed) == (True, 10, 3)


def test_a_checkpoint_file_that_lost_its_end_is_noticed(tmp_path: Path):
    book = a_book(tmp_path)
    db = apsw.Connection(":memory:")
    db.deserialize("main", book.image)
    text = book.signer.checkpoints.read_text(encoding="utf-8")
    book.signer.checkpoints.write_text(
        text[: text.rindex("memorywire/", 0, text.rindex("\n—"))], encoding="utf-8"
    )
    fault = audit(db, book.signer).fault
    assert fault is not None
    assert (fault.entry, fault.until) == (81, 120)


def test_a_rollback_of_everything_is_noticed_by_whoever_kept_a_newer_checkpoint(tmp_path: Path):
    db, signer = a_ledger(), a_signer(tmp_path)
    write_entries(db, 10)
    seal(db, signer)
    image, file = db.serialize("main"), signer.checkpoints.read_bytes()
    write_entries(db, 10, 11)
    seal(db, signer)
    kept = signer.load_checkpoints()[0][-1]

    signer.checkpoints.write_bytes(file)
    restored = apsw.Connection(":memory:")
    restored.deserialize("main", image)
    key = signer.verifier()
    assert key is not None
    assert audit(restored, signer).ok
    fault = verify(read_entries(SqliteSession(restored)), [*signer.load_checkpoints()[0], kept], [key]).fault
    assert fault is not None
    assert (fault.entry, fault.reason) == (11, "is missing: a signed checkpoint has 20 entries, not 10")


def test_two_logs_that_were_shown_to_different_people_are_noticed(tmp_path: Path):
    book = a_book(tmp_path)
    db, other = apsw.Connection(":memory:"), apsw.Connection(":memory:")
    db.deserialize("main", book.image)
    other.deserialize("main", book.image)
    write_entries(db, 2, 121)
    write_entries(other, 2, 321)
    seal(db, book.signer)
    assert audit(db, book.signer).ok
    seal(other, book.signer)
    fault = audit(db, book.signer).fault
    assert fault is not None
    assert (fault.entry, fault.until) == (121, 122)
    assert "readers saw different logs" in fault.reason


def test_another_beginning_is_another_log(tmp_path: Path):
    book = a_book(tmp_path / "one")
    other = a_ledger()
    write_entries(other, ENTRIES, 500)
    fault = audit(other, book.signer).fault
    assert fault is not None
    assert fault.entry == 1
