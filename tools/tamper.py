"""Tampers with ledgers many times, and says what an examination found: more of what the tests do a little of.

    python tools/tamper.py --trials 1000
    python tools/tamper.py --state

With `--state` it leaves the ledger alone and edits the rows that the ledger speaks of, in every way it knows:
what `audit verify --state` finds, by table.

The controls show that the sweep can fail: without checkpoints what is rebuilt or truncated goes unseen, and
an examination that is switched off sees nothing at all.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import apsw

sys.path.insert(0, str(Path(__file__).parents[1]))

from memorywire.journal.entries import build_draft
from memorywire.journal.ledger import append, read_entries
from memorywire.journal.merkle import EMPTY
from memorywire.journal.sqlite import SqliteSession
from memorywire.journal.state import compare
from memorywire.journal.verify import Report, verify
from tests.journal.books import a_ledger, a_signer, an_entry, audit, seal
from tests.journal.forging import EDITS, UNSEEN, a_state, forged
from tests.journal.tampering import ATTACKS, Trial, try_attack
from tests.journal.test_tamper import Book, a_book

ENTRIES, STEP = 200, 40


def sweep(
    book: Book, trials: int, dice: random.Random, examine: Callable[[apsw.Connection], Report]
) -> list[Trial]:
    """Every attack equally often, on random entries."""
    names = list(ATTACKS)
    return [
        try_attack(names[trial % len(names)], book.image, dice.randint(1, ENTRIES), dice, examine)
        for trial in range(trials)
    ]


def show(label: str, trials: list[Trial]) -> None:
    print(
        f"tamper {label}: trials={len(trials)} found={sum(t.found for t in trials)} "
        f"first bad entry named={sum(t.named for t in trials)} exactly={sum(t.exact for t in trials)}"
    )


def show_attacks(trials: list[Trial]) -> None:
    for attack in ATTACKS:
        own = [trial for trial in trials if trial.attack == attack]
        found, exact = sum(trial.found for trial in own), sum(trial.exact for trial in own)
        print(f"    {attack:24} found {found:3} of {len(own):3}, entry named exactly {exact:3}")


def campaign(folder: Path) -> bool:
    """Every edit of the state, on a fresh copy each; whether all of them were found."""
    image = a_state(folder)
    total: Counter[str] = Counter()
    found: Counter[str] = Counter()
    missed = []
    for name, sql in EDITS.items():
        table = name.partition(":")[0]
        total[table] += 1
        if forged(image, sql).ok:
            missed.append(name)
        else:
            found[table] += 1
    for table, count in total.items():
        print(f"    {table:12} found {found[table]:3} of {count:3}")
    print(f"state: edits={len(EDITS)} found={len(EDITS) - len(missed)} missed={missed}")
    unseen = [name for name, sql in UNSEEN.items() if forged(image, sql).ok]
    print(f"outside of the ledger, and not found: {', '.join(unseen)}")
    db = apsw.Connection(":memory:")
    db.deserialize("main", image)
    print(f"control, nothing edited: differences={len(compare(SqliteSession(db)).differences)}")
    return not missed and compare(SqliteSession(db)).ok


def speed(folder: Path, entries: int) -> None:
    """What an entry costs to prepare, to append in a transaction, to sign and to verify: processor time."""
    db = a_ledger(folder / "speed.db")
    db.execute("PRAGMA journal_mode = WAL")
    started = time.process_time()
    drafts = [build_draft(an_entry(number)) for number in range(1, entries + 1)]
    prepared = time.process_time()
    with db:
        for one in drafts:
            append(SqliteSession(db), [one])
    appended = time.process_time()
    signer = a_signer(folder / "speed")
    seal(db, signer)
    signed = time.process_time()
    report = audit(db, signer)
    verified = time.process_time()
    assert report.ok
    print(
        f"ledger entries={entries} prepare={(prepared - started) / entries * 1e6:.1f}us "
        f"append={(appended - prepared) / entries * 1e6:.1f}us sign_all={signed - appended:.2f}s "
        f"verify_all={verified - signed:.2f}s"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000, help="how many attacks to try")
    parser.add_argument("--entries", type=int, default=100_000, help="how many entries to time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", action="store_true", help="edit the state instead of the ledger")
    asked = parser.parse_args()
    if asked.state:
        with tempfile.TemporaryDirectory() as folder:
            return int(not campaign(Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        book = a_book(Path(folder) / "book", ENTRIES, STEP)
        trials = sweep(book, asked.trials, random.Random(asked.seed), lambda db: audit(db, book.signer))
        show("examined", trials)
        show_attacks(trials)
        chain = sweep(
            book,
            len(ATTACKS) * 10,
            random.Random(asked.seed),
            lambda db: verify(read_entries(SqliteSession(db)), [], []),
        )
        show("control, no checkpoints", chain)
        blind = Report(entries=0, root=EMPTY)
        show("control, switched off", sweep(book, len(ATTACKS), random.Random(asked.seed), lambda _: blind))
        speed(Path(folder), asked.entries)
    return int(not all(trial.found and trial.named for trial in trials))


if __name__ == "__main__":
    sys.exit(main())
