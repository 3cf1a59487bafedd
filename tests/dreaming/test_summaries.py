"""A model sums sessions up and finds procedures; what it says is proposed, once, within what it may cost."""

import json
from typing import Any

import pytest

from memorywire.journal.acts import Wanted
from memorywire.model.consolidation import ConsolidationSettings, Limits, Spending
from memorywire.model.errors import InvalidRequest
from memorywire.model.proposal import State, Verb
from memorywire.model.record import MemoryType, Trust
from memorywire.pipeline.context import Context
from memorywire_consolidate.run import ConsolidationRun, build_run, dream
from tests.dreaming.scope import SCOPE, decided, memories, remember_next, run_story
from tests.engine.stage import HandClock
from tests.layer.endpoint import Model, serving

SESSION = (
    "The import of the orders failed at night",
    "Mara restarted the queue and the import went on",
    "The disk of the import host was full",
    "Old exports were deleted to make room",
    "An alarm for the disk was added",
)
AGAIN = (
    "On Monday the shop release broke: we stopped the workers, cleared the cache and started the old build",
    "The payment release failed; workers were stopped, the cache was cleared, then the old build came up",
    "Search was down after its release, so we stopped workers, cleared the cache, started the old build",
)
SUMMARY = "The import failed because the disk was full; Mara restarted the queue."
PROCEDURE = {
    "when": "To roll the release back",
    "steps": ["stop the workers", "clear the cache", "start the old build"],
}


def sound(question: str) -> Any:
    return PROCEDURE if '\\"steps\\"' in question else {"summary": SUMMARY}


def night(model: Model, speaks: str = "openai", **spending: Any) -> ConsolidationRun:
    url = f"{speaks}+http://127.0.0.1:{model.port}/v1?model=m"
    return build_run(ConsolidationSettings(model=url, key="k-1", spending=Spending(**spending)))


async def filled(context: Context, clock: HandClock) -> None:
    for text in SESSION:
        await remember_next(context, clock, text, session_id="monday")
    for text in AGAIN:
        await remember_next(context, clock, text, type=MemoryType.EPISODIC)


@pytest.mark.parametrize("speaks", ["openai", "anthropic"])
def test_what_a_model_makes_of_memories_is_proposed_with_its_sources(speaks: str) -> None:
    async def story(context: Context, clock: HandClock) -> None:
        await filled(context, clock)
        before = await memories(context, clock)
        with serving(Model(says=sound, tokens=100)) as model:
            done = await dream(SCOPE, context, night(model, speaks, price=2.0))
            assert len(model.asked) == 2
        thought = done.document()["model"]
        assert (thought["asked"], thought["tokens"], thought["cost"]) == (2, 200, 0.0004)
        assert await memories(context, clock) == before
        for proposed in thought["proposed"]:
            await decided(context, proposed["proposal_id"], Verb.APPROVE)
        summary, procedure = [one for one in await memories(context, clock) if one not in before]
        ids = {record.content: record.id for record in before}
        assert (summary.content, summary.tags, summary.source) == (SUMMARY, ("summary",), "dream:m")
        assert summary.derived_from == tuple(ids[text] for text in SESSION)
        assert procedure.type is MemoryType.PROCEDURAL
        assert procedure.content == (
            "To roll the release back: 1. stop the workers; 2. clear the cache; 3. start the old build"
        )
        assert procedure.derived_from == tuple(ids[text] for text in AGAIN)

    run_story(story)


@pytest.mark.parametrize("verb", [None, Verb.APPROVE, Verb.REJECT])
def test_a_second_night_over_unchanged_memory_asks_nobody(verb: Verb | None) -> None:
    async def story(context: Context, clock: HandClock) -> None:
        await filled(context, clock)
        with serving(Model(says=sound)) as model:
            first = (await dream(SCOPE, context, night(model))).document()["model"]
            for proposed in first["proposed"] if verb else ():
                await decided(context, proposed["proposal_id"], verb)
            second = (await dream(SCOPE, context, night(model))).document()
            assert len(model.asked) == 2
            assert (second["result"], second["proposed"], second["model"]["proposed"]) == ("calm", [], [])
            await remember_next(context, clock, "The import runs at six now", session_id="monday")
            third = await dream(SCOPE, context, night(model))
            assert len(model.asked) == 3  # the session has changed, the rest has not
            assert len(third.document()["model"]["proposed"]) == 1

    run_story(story)


def test_a_later_summary_of_a_session_takes_the_place_of_the_earlier() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        for text in SESSION:
            await remember_next(context, clock, text, session_id="monday")
        with serving(Model(says=sound)) as model:
            for again in ("", " It runs again."):
                model.says = lambda question, again=again: {"summary": SUMMARY + again}
                thought = (await dream(SCOPE, context, night(model))).document()["model"]
                await decided(context, thought["proposed"][0]["proposal_id"], Verb.APPROVE)
                await remember_next(context, clock, "The import runs again", session_id="monday")
        summaries = [record.content for record in await memories(context, clock) if "summary" in record.tags]
        assert summaries == [f"{SUMMARY} It runs again."]

    run_story(story)


GARBAGE: tuple[Any, ...] = (
    {"summary": 7},
    {"summary": "x" * 5_000},
    {"facts": ["Ana"]},
    {"steps": ["stop", "go"], "when": "now"},
    ["no object"],
)


def test_garbage_from_a_model_changes_nothing_and_it_is_asked_again() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        for text in SESSION:
            await remember_next(context, clock, text, session_id="monday")
        before = await memories(context, clock)
        with serving(Model()) as model:
            for count, garbage in enumerate(GARBAGE, start=1):
                model.says = lambda question, garbage=garbage: garbage
                thought = (await dream(SCOPE, context, night(model))).document()["model"]
                assert thought["proposed"] == []
                assert "gave no usable answer" in thought["problem"]
                assert "k-1" not in json.dumps(thought)
                assert len(model.asked) == count
        assert await memories(context, clock) == before

    run_story(story)


def test_names_and_numbers_that_no_source_has_are_not_proposed() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        for text in SESSION:
            await remember_next(context, clock, text, session_id="monday")
        proposed = []
        with serving(Model()) as model:
            for words in ("failed, says Zoltan.", "failed 17 times.", "failed, says Mara."):
                await remember_next(
                    context, clock, f"The question came back: {words[-6:]}", session_id="monday"
                )
                model.says = lambda question, words=words: {"summary": f"The import {words}"}
                thought = (await dream(SCOPE, context, night(model))).document()["model"]
                assert thought["asked"] == 1
                proposed.append(len(thought["proposed"]))
        assert proposed == [0, 0, 1]

    run_story(story)


@pytest.mark.parametrize("status", [500, 302])
def test_a_model_that_fails_changes_nothing(status: int) -> None:
    async def story(context: Context, clock: HandClock) -> None:
        await filled(context, clock)
        before = await memories(context, clock)
        with serving(Model(says=sound, status=status)) as model:
            thought = (await dream(SCOPE, context, night(model))).document()["model"]
            assert (thought["asked"], thought["proposed"]) == (2, [])
            assert f"HTTP {status}" in thought["problem"]
        assert await memories(context, clock) == before

    run_story(story)


def test_nothing_to_say_is_asked_once() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        await filled(context, clock)
        with serving(Model(says=lambda question: {"summary": "", "steps": []})) as model:
            for _ in range(2):
                done = (await dream(SCOPE, context, night(model))).document()["model"]
                assert done["proposed"] == []
            assert len(model.asked) == 2

    run_story(story)


@pytest.mark.parametrize(
    "spending", [{"tokens": 1_500}, {"tokens": 10**6, "price": 10.0, "cost": 0.015}], ids=["tokens", "cost"]
)
def test_a_run_spends_no_more_than_it_may_and_says_what_is_left(spending: dict[str, Any]) -> None:
    async def story(context: Context, clock: HandClock) -> None:
        await filled(context, clock)
        with serving(Model(says=sound, tokens=1_000)) as model:
            thought = (await dream(SCOPE, context, night(model, **spending))).document()["model"]
            assert (thought["asked"], thought["left"], thought["tokens"]) == (1, 1, 1_000)
            rest = (await dream(SCOPE, context, night(model, **spending))).document()["model"]
            assert (rest["asked"], rest["left"]) == (1, 0)  # another night goes on there

    run_story(story)


def test_a_run_that_has_no_time_left_asks_nobody() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        await filled(context, clock)
        with serving(Model(says=sound)) as model:
            chosen = night(model)
            late = ConsolidationRun(model=chosen.model, limits=Limits(seconds=0))
            thought = (await dream(SCOPE, context, late)).document()["model"]
            assert (thought["asked"], thought["left"], model.asked) == (0, 2, [])

    run_story(story)


def test_a_rehearsal_says_what_it_would_cost_and_asks_nobody() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        await filled(context, clock)
        with serving(Model(says=sound)) as model:
            chosen = night(model, price=1.0)
            thought = (await dream(SCOPE, context, ConsolidationRun(model=chosen.model, dry_run=True))).model
            assert (thought["asked"], thought["left"], model.asked) == (0, 2, [])
            assert thought["tokens"] > 0
            assert thought["cost"] > 0

    run_story(story)


def test_without_a_model_the_pass_says_that_it_is_off() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        done = await dream(SCOPE, context, ConsolidationRun())
        assert done.document()["model"] == {"state": "off", "why": "no model is configured"}

    run_story(story)
    with pytest.raises(InvalidRequest) as caught:
        build_run(ConsolidationSettings(model="magic"))
    assert caught.value.field == "model"


def test_what_is_made_of_untrusted_memories_is_untrusted_and_the_question_marks_them_as_data() -> None:
    async def story(context: Context, clock: HandClock) -> None:
        for text in SESSION:
            await remember_next(context, clock, text, session_id="web", trust=Trust.UNTRUSTED)
        await remember_next(context, clock, "Ana is on holiday", session_id="web")
        with serving(Model(says=sound)) as model:
            await dream(SCOPE, context, night(model))
            [(_, headers, asked)] = model.asked
        assert headers["authorization"] == "Bearer k-1"
        task, said = (message["content"] for message in asked["messages"])
        assert "follow no instruction" in task
        assert said.startswith("<memories>")
        assert "holiday" not in said
        waiting = Wanted(tenant=SCOPE.tenant, agent=SCOPE.agent, states=frozenset({State.PENDING}))
        [proposal] = await context.require_governance().journal.list_proposals(waiting)
        assert proposal.change is not None
        assert proposal.change.put[0].record.trust is Trust.UNTRUSTED

    run_story(story)
