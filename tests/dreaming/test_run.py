"""A night puts memory in order, once, and can be taken back."""

import pytest

from memorywire.journal.acts import Wanted
from memorywire.model.change import EndReason
from memorywire.model.consolidation import Limits, Pass, Probe, Result
from memorywire.model.errors import NotFound
from memorywire.model.proposal import State, Verb
from memorywire.model.record import MemoryType, Standing, Trust
from memorywire.pipeline.context import Context
from memorywire_consolidate.run import ConsolidationRun, dream
from memorywire_consolidate.runs import list_runs, load_run, undo_run
from tests.dreaming.scope import SCOPE, answers, contents, decided, memories, remember_next, run_story
from tests.engine.stage import HandClock

NIGHT = ConsolidationRun()
STORES = ("memory://", "sqlite://")


@pytest.mark.parametrize("url", STORES)
def test_duplicates_become_the_last_said_and_what_was_contradicted_ends(url: str) -> None:
    async def story(context: Context, clock: HandClock) -> None:
        await remember_next(context, clock, "Priya lives in Toronto", id="a")
        await remember_next(context, clock, "Priya really lives in Toronto", id="b")
        await remember_next(context, clock, "Carmen is employed by Siemens", id="c")
        await remember_next(context, clock, "Carmen works at Siemens", id="d")
        await remember_next(context, clock, "Priya moved to Montreal", id="e")
        done = await dream(SCOPE, context, NIGHT)
        assert [(step.name, step.ids, step.kept) for step in done.steps] == [
            (Pass.NEAR, ("a",), "b"),
            (Pass.SEMANTIC, ("c",), "d"),
            (Pass.CONFLICT, ("b",), "e"),
        ]
        assert await contents(context, clock) == ["Carmen works at Siemens", "Priya moved to Montreal"]
        assert await answers(context, "Where does Priya live?") == ["Priya moved to Montreal"]
        [kept] = [record for record in await memories(context, clock) if record.id == "d"]
        assert kept.merged_from == ("c",)
        last = (await context.historian("x").history(SCOPE, "b"))[-1]
        assert (last.reason, last.into) == (EndReason.SUPERSEDED, "e")

    run_story(story, url)


def test_a_second_night_over_unchanged_memory_changes_nothing() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        for text in ("Ben lives in Rome", "Ben lives in Rome now", "Ben moved to Oslo", "Ana is on the left"):
            await remember_next(context, clock, text)
        first = await dream(SCOPE, context, NIGHT)
        assert first.result is Result.COMMITTED
        before = await memories(context, clock)
        second = await dream(SCOPE, context, NIGHT)
        assert (second.result, second.steps, second.proposed) == (Result.CALM, (), ())
        assert await memories(context, clock) == before

    run_story(story)


def test_a_rehearsal_says_the_same_and_changes_nothing() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        await remember_next(context, clock, "Ben lives in Rome")
        await remember_next(context, clock, "Ben moved to Oslo")
        before = await memories(context, clock)
        rehearsed = await dream(SCOPE, context, ConsolidationRun(dry_run=True))
        assert rehearsed.result is Result.REHEARSED
        assert await memories(context, clock) == before
        assert await list_runs(SCOPE, context) == []
        assert (await dream(SCOPE, context, NIGHT)).steps == rehearsed.steps

    run_story(story)


def test_a_run_is_listed_with_all_it_did_and_one_undo_takes_it_back() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        await remember_next(context, clock, "Ben lives in Rome", id="a")
        await remember_next(context, clock, "Ben lives in Rome now", id="b")
        await remember_next(context, clock, "Ben moved to Oslo", id="c")
        before = await contents(context, clock)
        done = await dream(SCOPE, context, NIGHT)
        assert done.run is not None
        [run] = await list_runs(SCOPE, context)
        assert (run.change.id, run.undone_by) == (done.run, None)
        whole = await load_run(SCOPE, done.run, context)
        assert whole["steps"] == [step.document() for step in done.steps]
        assert {one["content"] for one in whole["ended"]} == {"Ben lives in Rome", "Ben lives in Rome now"}
        await undo_run(SCOPE, done.run, context)
        assert await contents(context, clock) == before
        [run] = await list_runs(SCOPE, context)
        assert run.undone_by is not None
        assert (await dream(SCOPE, context, NIGHT)).result is Result.CALM  # what was undone is not done again
        with pytest.raises(NotFound):
            await undo_run(SCOPE, "no-such-run", context)

    run_story(story)


@pytest.mark.parametrize(
    ("older", "later"),
    [
        ({"trust": Trust.TRUSTED}, {}),
        ({"confidence": 1.0}, {"confidence": 0.5}),
        ({"tags": ("pinned",)}, {}),
    ],
    ids=["trusted", "surer", "pinned"],
)
def test_recency_alone_does_not_beat_a_better_memory_so_a_person_decides(older: dict, later: dict) -> None:
    async def story(context: Context, clock: HandClock) -> None:
        await remember_next(context, clock, "Ben lives in Rome", id="a", source="user", **older)
        await remember_next(context, clock, "Ben moved to Oslo", id="b", source="web", **later)
        done = await dream(SCOPE, context, NIGHT)
        assert done.steps == ()
        [(proposal, step)] = done.proposed
        assert step.ids == ("a",)
        assert len(await contents(context, clock)) == 2
        again = await dream(SCOPE, context, NIGHT)
        assert again.proposed == ()
        await decided(context, proposal, Verb.APPROVE)
        assert await contents(context, clock) == ["Ben moved to Oslo"]

    run_story(story)


def test_what_a_person_rejected_is_not_proposed_again() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        await remember_next(context, clock, "The bread is in the oven")
        await remember_next(context, clock, "The bread is in the fridge")
        [(proposal, _)] = (await dream(SCOPE, context, NIGHT)).proposed
        await decided(context, proposal, Verb.REJECT)
        assert (await dream(SCOPE, context, NIGHT)).proposed == ()

    run_story(story)


def test_a_strict_policy_turns_every_step_into_a_proposal() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        journal = context.require_governance().journal
        for text in ("Ben lives in Rome", "Ben lives in Rome now"):
            receipt = await remember_next(context, clock, text)
            if receipt.proposal_id:
                await decided(context, receipt.proposal_id, Verb.APPROVE)
        done = await dream(SCOPE, context, NIGHT)
        assert (done.steps, len(done.proposed)) == ((), 1)
        assert len(await contents(context, clock)) == 2
        waiting = Wanted(tenant=SCOPE.tenant, agent=SCOPE.agent, states=frozenset({State.PENDING}))
        [proposal] = await journal.list_proposals(waiting)
        await decided(context, proposal.id, Verb.APPROVE)
        assert await contents(context, clock) == ["Ben lives in Rome now"]

    run_story(story, policy="strict")


def test_a_run_that_would_make_recall_worse_is_discarded() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        await remember_next(context, clock, "The standup is at noon", id="old", type=MemoryType.EPISODIC)
        clock.pass_days(400)
        probes = (Probe("When is the standup?", frozenset({"old"})),)
        done = await dream(SCOPE, context, ConsolidationRun(probes=probes))
        assert done.result is Result.DISCARDED
        assert done.probes == {"questions": 1, "recall_before": 1.0, "recall_after": 0.0}
        [kept] = await memories(context, clock)
        assert kept.standing is Standing.ACTIVE
        assert (await dream(SCOPE, context, NIGHT)).result is Result.COMMITTED  # nobody asked for it

    run_story(story)


def test_unused_events_are_archived_but_pinned_and_recalled_ones_stay() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        await remember_next(context, clock, "We met the auditors", id="old", type=MemoryType.EPISODIC)
        await remember_next(
            context, clock, "We signed the lease", id="pin", type=MemoryType.EPISODIC, tags=("pinned",)
        )
        await remember_next(context, clock, "We moved the servers", id="used", type=MemoryType.EPISODIC)
        await remember_next(context, clock, "Rome is warm", id="fact")
        clock.pass_days(200)
        await answers(context, "who moved the servers?")
        done = await dream(SCOPE, context, NIGHT)
        assert [(step.name, step.ids) for step in done.steps] == [(Pass.RETENTION, ("old",))]
        assert {record.id for record in await memories(context, clock)} == {"pin", "used", "fact"}

    run_story(story)


def test_a_run_touches_no_more_than_it_may_and_says_what_is_left() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        for city in ("Rome", "Oslo", "Bern"):
            await remember_next(context, clock, f"The office in {city} closes at 6")
            await remember_next(context, clock, f"The office in {city} closes at 7")
        done = await dream(SCOPE, context, ConsolidationRun(limits=Limits(changes=2)))
        assert (len(done.steps), done.left) == (2, 1)
        assert len((await dream(SCOPE, context, NIGHT)).steps) == 1

    run_story(story)
