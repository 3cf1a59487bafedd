"""The checks of the journal contract hold in both backends, and fail where a backend breaks a promise."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memorywire.journal.backend import Bindings, Session
from memorywire.journal.journal import Journal
from memorywire.journal.opening import open_journal
from memorywire.journal.sqlite import SqliteBackend, SqliteSession
from memorywire.model.change import Change
from memorywire.stores.memory import MemoryStore
from memorywire_testing.expect import Broken
from memorywire_testing.journals import JOURNAL_CHECKS, JournalCheck
from memorywire_testing.samples import SPACE
from tests.engine.stage import HandClock
from tests.journal.stores import run
from tests.journal.test_journal import Beside, beside
from tests.sqlite.desk import opened

__all__ = ["beside"]


@pytest.mark.parametrize("check", JOURNAL_CHECKS, ids=lambda check: check.__name__)
def test_a_backend_keeps_its_promises(check: JournalCheck, beside: Beside):
    async def story() -> None:
        async with beside() as (journal, store):
            await check(journal, store)

    run(story())


class _Torn(SqliteBackend):
    """Applies changes first and writes their acts in transactions of their own."""

    async def commit(
        self, changes: Sequence[Change], write: Callable[[Session, Sequence[int]], None]
    ) -> list[int | Exception]:
        results = await super().commit(changes, lambda db, indexes: None)
        for index in range(len(changes)):
            await self.write(lambda db, index=index: write(db, (index,)))
        return results


class _Careless(SqliteBackend):
    """Counts every statement as a change of one row."""

    async def write(self, work: Callable[[Session], object]) -> object:
        return await self._file.write(lambda connection: work(_Counting(connection)))


class _Counting(SqliteSession):
    def execute(self, statement: str, bindings: Bindings = ()) -> int:
        super().execute(statement, bindings)
        return 1


@pytest.mark.parametrize(
    ("backend", "promise"),
    [
        (_Torn, "a_change_and_its_act_are_one_transaction"),
        (_Torn, "an_error_concerns_its_change_alone"),
        (_Careless, "an_edition_of_the_rules_is_taken_once"),
        (_Careless, "a_webhook_is_leased_by_one_process"),
        (_Careless, "the_outbox_keeps_its_order_until_it_is_acknowledged"),
    ],
)
def test_a_backend_that_breaks_a_promise_fails_its_check(
    backend: type[SqliteBackend], promise: str, tmp_path: Path
):
    check = next(check for check in JOURNAL_CHECKS if check.__name__ == promise)

    async def story() -> None:
        async with opened(tmp_path / "m.db") as store:
            await (await open_journal(store, None, clock=HandClock())).close()
            broken = Journal(backend(store.file, store), signer=None, clock=HandClock())
            await check(broken, store)
            await broken.close()

    with pytest.raises(Broken):
        run(story())


def test_a_journal_of_its_own_keeps_what_needs_no_store(tmp_path: Path):
    needs_store = {
        "a_change_and_its_act_are_one_transaction",
        "an_error_concerns_its_change_alone",
        "an_erase_takes_proposals_and_the_id_of_the_user",
    }

    async def story() -> None:
        store = MemoryStore(SPACE)
        journal = await open_journal(store, f"sqlite://{tmp_path}/m.db", clock=HandClock())
        for check in JOURNAL_CHECKS:
            if check.__name__ not in needs_store:
                await check(journal, store)
        await journal.close()

    run(story())
