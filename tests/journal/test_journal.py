"""What is written down together is written whole or not at all, beside the memories or in its own file."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace

from memorywire.journal import ledger
from memorywire.journal.acts import Act, Edition, Wanted
from memorywire.journal.audit import find_contradicted
from memorywire.journal.entries import Entry, contents_of
from memorywire.journal.journal import Journal
from memorywire.journal.ledger import LONGEST_UNSIGNED_MS
from memorywire.journal.opening import open_journal
from memorywire.model.errors import Conflict
from memorywire.model.proposal import Decision, OutboxEntry, Proposal, State
from memorywire.model.record import DEFAULT_TENANT, Scope
from memorywire.model.requests import Forget
from memorywire.stores.contract import Store
from memorywire.stores.memory import MemoryStore
from memorywire_testing.samples import SPACE, a_change, a_record, beginning, records
from tests.engine.stage import NOON, HandClock
from tests.journal.stores import run
from tests.postgres.desk import opened as opened_in_postgres
from tests.sqlite.desk import opened

SCOPE = Scope(agent="agent")
Beside: TypeAlias = Callable[[], AbstractAsyncContextManager[tuple[Journal, Store]]]


@asynccontextmanager
async def _beside(store: Store, url: str | None = None) -> AsyncIterator[tuple[Journal, Store]]:
    journal = await open_journal(store, url, clock=HandClock())
    yield journal, store
    await journal.close()


@asynccontextmanager
async def _in_a_file(path: Path) -> AsyncIterator[tuple[Journal, Store]]:
    async with opened(path / "m.db") as store, _beside(store) as both:
        yield both


@asynccontextmanager
async def _in_a_database(url: str, path: Path) -> AsyncIterator[tuple[Journal, Store]]:
    async with opened_in_postgres(url) as store, _beside(store, f"sqlite://{path}/m.db") as both:
        yield both


@pytest.fixture(params=["sqlite", "postgres"])
def beside(request: pytest.FixtureRequest, tmp_path: Path) -> Beside:
    """A journal in the file, or the database, of a store."""
    if request.param == "sqlite":
        return lambda: _in_a_file(tmp_path)
    url = request.getfixturevalue("schema")
    return lambda: _in_a_database(url, tmp_path)


def test_a_journal_that_is_closed_while_it_is_written_has_no_work_left_over(tmp_path: Path):
    troubles: list[dict[str, Any]] = []

    async def story() -> int:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: troubles.append(context))
        clock = HandClock()
        clock.now += LONGEST_UNSIGNED_MS  # since its first entry: a signature is due
        journal = await open_journal(MemoryStore(SPACE), f"sqlite://{tmp_path}/m.db", clock=clock)
        writes = [journal.write(Act(entries=(an_entry(),))) for _ in range(64)]
        await asyncio.gather(*writes, journal.close())
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if left:
            await asyncio.wait(left)
        return journal._writes

    assert run(story()) == 64  # so many that it was time to look
    gc.collect()
    assert troubles == []


def an_entry(kind: str = "committed") -> Entry:
    return Entry(at=NOON, operation="remember", scope=SCOPE, actor="ana", kind=kind, subject="c1")


def a_proposal(id: str = "p1") -> Proposal:
    record = a_record(SCOPE)
    return Proposal(
        id=id,
        scope=SCOPE,
        operation="remember",
        at=NOON,
        caller="ana",
        rule="rule",
        why="why",
        request=Forget(scope=SCOPE, ids=("x",)),
        change=a_change(SCOPE, beginning(record)),
    )


def decided(proposal: Proposal) -> Proposal:
    done = Decision(by="ben", at=NOON)
    return replace(proposal, state=State.APPROVED, decision=done, revision=proposal.revision + 1)


async def kinds(journal: Journal) -> list[str]:
    return await journal.backend.read(lambda db: [row.said["kind"] for row in ledger.read_entries(db)])


def test_a_change_and_its_entry_are_written_together(beside: Beside):
    async def story() -> None:
        async with beside() as (journal, store):
            record = a_record(SCOPE)
            await journal.write(Act(entries=(an_entry(),)), a_change(SCOPE, beginning(record)))
            assert await store.get(SCOPE, [record.id])
            assert await kinds(journal) == ["committed"]

    run(story())


def test_of_many_changes_each_is_written_with_its_entry_or_not_at_all(beside: Beside):
    async def story() -> None:
        async with beside() as (journal, store):
            kept = records(SCOPE, 5)
            taken = replace(kept[0], content="other words")
            changes = [a_change(SCOPE, beginning(one)) for one in (*kept[:3], taken, *kept[3:])]
            entries = [
                replace(an_entry(), subject=change.id, contents=contents_of(change)) for change in changes
            ]
            # In a database they are written side by side, so the first is there before its rival comes.
            acts = [Act(entries=(entry,)) for entry in entries]
            first = await journal.commit(acts[:1], changes[:1])
            done = [*first, *await journal.commit(acts[1:], changes[1:])]
            assert [type(one) for one in done] == [int, int, int, Conflict, int, int]
            assert await store.get(SCOPE, [one.id for one in kept]) == kept
            written = await journal.backend.read(lambda db: [row.said for row in ledger.read_entries(db)])
            assert sorted(one["subject"] for one in written) == sorted(
                change.id for change in changes if change is not changes[3]
            )
            assert {one["commitments"][0]["id"] for one in written} == {one.id for one in kept}
            assert await journal.backend.read(lambda db: find_contradicted(db, kept)) == []
            assert await journal.backend.read(lambda db: find_contradicted(db, [taken])) == [taken.id]

    run(story())


def test_a_proposal_that_moved_takes_the_change_and_the_entries_with_it(beside: Beside):
    """Two decide at once: the second one's change must not be seen."""

    async def story() -> None:
        async with beside() as (journal, store):
            proposal, record = a_proposal(), a_record(SCOPE)
            await journal.write(Act(proposals=(proposal,)))
            await journal.write(Act(proposals=(decided(proposal),), entries=(an_entry("approved"),)))
            with pytest.raises(Conflict):
                await journal.write(
                    Act(proposals=(decided(proposal),), entries=(an_entry(),)),
                    a_change(SCOPE, beginning(record)),
                )
            assert await store.get(SCOPE, [record.id]) == []
            assert await kinds(journal) == ["approved"]

    run(story())


def test_a_change_that_conflicts_takes_the_decision_with_it(beside: Beside):
    async def story() -> None:
        async with beside() as (journal, store):
            proposal, record = a_proposal(), a_record(SCOPE)
            await store.write(a_change(SCOPE, beginning(record)))
            await journal.write(Act(proposals=(proposal,)))
            with pytest.raises(Conflict):
                await journal.write(Act(proposals=(decided(proposal),)), a_change(SCOPE, beginning(record)))
            kept = await journal.find_proposal(SCOPE.tenant, proposal.id)
            assert kept is not None
            assert kept.state is State.PENDING

    run(story())


def test_a_proposal_cannot_be_made_twice(beside: Beside):
    async def story() -> None:
        async with beside() as (journal, _):
            await journal.write(Act(proposals=(a_proposal(),)))
            with pytest.raises(Conflict):
                await journal.write(Act(proposals=(a_proposal(),)))
            assert await journal.count_proposals(Wanted(tenant=SCOPE.tenant)) == 1

    run(story())


def test_of_two_editions_with_one_number_the_second_is_refused_whole(beside: Beside):
    async def story() -> None:
        async with beside() as (journal, _):
            first = Edition(number=1, at=NOON, by="ana", rules=({"name": "a"},))
            await journal.write(Act(edition=first))
            rival = replace(first, by="ben", rules=({"name": "b"},))
            with pytest.raises(Conflict):
                await journal.write(Act(edition=rival, entries=(an_entry("ruled"),)))
            assert await journal.find_edition(DEFAULT_TENANT) == first
            assert await kinds(journal) == []
            second = replace(rival, number=2)
            await journal.write(Act(edition=second))
            assert await journal.list_editions(DEFAULT_TENANT) == [second, first]

    run(story())


def test_editions_and_what_rules_let_pass_belong_to_a_tenant(beside: Beside):
    async def story() -> None:
        async with beside() as (journal, _):
            ours = Edition(number=1, at=NOON, by="ana", rules=({"name": "a"},))
            theirs = replace(ours, tenant="theirs", by="ben", rules=({"name": "a", "verdict": "hold"},))
            await journal.write(Act(edition=ours))
            await journal.write(Act(edition=theirs))
            assert await journal.list_editions(DEFAULT_TENANT) == [ours]
            assert await journal.list_editions("theirs") == [theirs]
            assert await journal.find_edition("nobody") is None
            other = replace(SCOPE, tenant="theirs")
            await journal.write(Act(ruled=((SCOPE, "a", "c"), (other, "a", "c"))))
            assert await journal.list_ruled("theirs", "a") == [(other, "c")]
            assert await journal.list_ruled(SCOPE.tenant, "a") == [(SCOPE, "c")]

    run(story())


def test_debts_are_told_in_order_page_by_page_and_by_store(beside: Beside):
    async def story() -> None:
        async with beside() as (journal, _):
            owed = [OutboxEntry(store="a", change=a_change(SCOPE, id=f"c{n}"), at=NOON) for n in range(5)]
            await journal.write(Act(outbox=(*owed, OutboxEntry(store="b", change=owed[0].change, at=NOON))))
            await journal.write(Act(outbox=(replace(owed[0], tries=1, error="away"),)))
            first = await journal.list_outbox("a", limit=2)
            assert [(debt.change.id, debt.tries, debt.error) for debt in first] == [
                ("c0", 1, "away"),
                ("c1", 0, None),
            ]
            rest = await journal.list_outbox("a", after=first[-1].position)
            assert [debt.change.id for debt in rest] == ["c2", "c3", "c4"]
            assert len(await journal.list_outbox()) == 6

    run(story())


def test_a_debt_is_settled_once(beside: Beside):
    async def story() -> None:
        async with beside() as (journal, _):
            await journal.write(
                Act(outbox=(OutboxEntry(store="a", change=a_change(SCOPE, id="c"), at=NOON),))
            )
            pay = Act(acknowledged=(("a", "c"),), entries=(an_entry("paid"),), if_pending=True)
            await journal.write(pay)
            with pytest.raises(Conflict):
                await journal.write(pay)
            assert await kinds(journal) == ["paid"]
            await journal.write(replace(pay, if_pending=False, entries=()))

    run(story())


def test_which_changes_a_rule_let_pass_is_told_newest_first(beside: Beside):
    async def story() -> None:
        async with beside() as (journal, _):
            for change in ("c1", "c2"):
                await journal.write(Act(ruled=((SCOPE, "rule", change), (SCOPE, "other", change))))
            assert await journal.list_ruled(SCOPE.tenant, "rule") == [(SCOPE, "c2"), (SCOPE, "c1")]

    run(story())


def test_a_store_elsewhere_shares_nothing_and_its_journal_has_a_file_of_its_own(tmp_path: Path):
    async def story() -> None:
        store, url = MemoryStore(SPACE), f"sqlite://{tmp_path}/journal.db"
        journal = await open_journal(store, url, clock=HandClock())
        assert not journal.backend.shares(store)
        await journal.write(Act(proposals=(a_proposal(),)))
        await journal.close()
        again = await open_journal(store, url, clock=HandClock())
        kept = await again.find_proposal(SCOPE.tenant, "p1")
        assert kept is not None
        assert (kept.state, kept.request) == (State.PENDING, a_proposal().request)
        await again.close()

    run(story())
    assert (tmp_path / "journal.db").exists()


def test_what_is_closed_is_signed(beside: Beside, tmp_path: Path):
    async def story() -> None:
        async with beside() as (journal, _):
            await journal.write(Act(entries=(an_entry(),)))

    run(story())
    [checkpoints] = tmp_path.glob("*-checkpoints")
    assert "memorywire/" in checkpoints.read_text()
