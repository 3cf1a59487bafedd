"""The queues of reviewers are filters of the journal, in Postgres as in SQLite."""

from msgspec.structs import replace

from memorywire.journal.acts import Act, Wanted
from memorywire.journal.opening import open_journal
from memorywire.model.proposal import Queue
from tests.engine.stage import NOON, HandClock
from tests.journal.test_journal import a_proposal
from tests.postgres.desk import opened, run


def test_a_queue_of_reviewers_is_a_filter_in_postgres_too(schema: str) -> None:
    mine = replace(a_proposal("p1"), assignee="operator:ana")
    late = replace(a_proposal("p2"), snoozed_until=NOON + 1)

    async def look() -> list[list[str]]:
        async with opened(schema) as store:
            journal = await open_journal(store, None, clock=HandClock())
            for proposal in (mine, late):
                await journal.write(Act(proposals=(proposal,)))
            queues = [
                Queue(at=NOON),
                Queue(at=NOON + 1),
                Queue(at=NOON, snoozed=True),
                Queue(at=NOON, assignee="operator:ana"),
                Queue(at=NOON + 1, assignee=""),
            ]
            filters = [Wanted(tenant=mine.scope.tenant, queue=queue) for queue in queues]
            for by_risk in (False, True):
                found = [await journal.list_proposals(replace(one, by_risk=by_risk)) for one in filters]
                ids = [sorted(proposal.id for proposal in proposals) for proposals in found]
            assert [await journal.count_proposals(one) for one in filters] == [len(one) for one in ids]
            await journal.close()
            return ids

    assert run(look()) == [["p1"], ["p1", "p2"], ["p2"], ["p1"], ["p2"]]
