"""A conversation is kept whole, and its facts are compared with what is known."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from memorywire import Memory
from memorywire.app import Reading
from memorywire.model.layer import EventState, Kind
from tests.engine.quick import Quick
from tests.engine.stage import HandClock, one_rule
from tests.kv.stage import play
from tests.layer.endpoint import Model, serving
from tests.layer.talk import at, over, until

_THEN = 1_500_000_000_000


def _said(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text} for text in texts]


async def _facts(memory: Memory) -> list[str]:
    return [str(one.content) for one in await memory.list(filter={"metadata.layer.kind": "fact"})]


async def _turns(memory: Memory) -> list[str]:
    return [str(one.content) for one in await memory.list(filter={"metadata.layer.kind": "turn"})]


def test_every_turn_is_kept_with_its_speaker_and_facts_are_derived_from_it() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        said = [
            {
                "role": "user",
                "name": "Ana",
                "content": "Good morning! I live in Graz.",
                "at": _THEN,
            },
            {"role": "assistant", "content": "How can I help?"},
            {"role": "user", "content": "What is 17 times 23?"},
        ]
        event = await memory.layer.add(said, session_id="s1")
        assert event.state is EventState.DONE
        turns = [await memory.get(id) for id in event.turns]
        assert [turn.content for turn in turns] == [message["content"] for message in said]
        assert [turn.speaker for turn in turns] == ["Ana", "assistant", "user"]
        assert (turns[0].occurred_at, turns[0].session_id) == (_THEN, "s1")
        assert all("fact" not in turn.metadata for turn in turns)
        (fact,) = [await memory.get(id) for id in event.memories]
        assert (fact.content, fact.derived_from) == ("Ana lives in Graz.", (turns[0].id,))
        assert fact.metadata["fact"]["slot"] == "home"
        assert await memory.layer.event(event.id) == event

    play(story)


def test_a_newer_value_of_a_slot_supersedes_the_older_one() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.layer.add(_said("I live in Leeds.", "I'm allergic to nuts."))
        first = (await memory.list(filter={"metadata.fact.slot": "home"})).items[0]
        clock.pass_days(1)
        await memory.layer.add(_said("We moved to York.", "I'm allergic to kiwis."))
        facts = await _facts(memory)
        assert "The user moved to York and lives there." in facts
        assert "The user lives in Leeds." not in facts
        assert {"The user is allergic to nuts.", "The user is allergic to kiwis."} < set(facts)
        assert (await memory.history(first.id))[-1].reason == "superseded"

    play(story)


def test_an_old_conversation_that_comes_late_does_not_supersede_what_is_newer() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.layer.add(_said("I live in York."))
        await memory.layer.add([{"role": "user", "content": "I live in Leeds.", "at": _THEN}])
        assert "The user lives in York." in await _facts(memory)

    play(story)


def test_what_is_known_is_not_kept_again() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        first = await memory.layer.add([{"role": "user", "content": "I live in York.", "at": _THEN}])
        clock.pass_days(1)
        again = await memory.layer.add(_said("I'm based in York."))
        assert (again.memories, await _facts(memory)) == (first.memories, ["The user lives in York."])
        assert await _turns(memory) == ["I live in York.", "I'm based in York."]

    play(story)


@pytest.mark.parametrize(
    "words",
    ["Forget that I like green tea.", "I don't like green tea any more.", "I no longer like green tea."],
)
def test_what_is_taken_back_is_forgotten_and_no_opposite_is_kept(words: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        known = await memory.layer.add(_said("I like green tea.", "I play chess."))
        event = await memory.layer.add(_said(words))
        assert (event.forgotten, event.memories) == (known.memories[:1], ())
        assert await _facts(memory) == ["The user plays chess."]
        assert words in await _turns(memory)

    play(story)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("I drive an old Saab estate.", "sold the Saab last weekend btw"),
        ("We're getting married in Rome in May.", "We've called off the wedding."),
        ("I have a lodger called Sofia.", "My lodger's moved out."),
    ],
)
def test_the_one_fact_that_a_change_ends_is_forgotten(before: str, words: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        known = await memory.layer.add(_said(before, "I play chess."))
        event = await memory.layer.add(_said(words))
        assert (event.forgotten, event.memories) == (known.memories[:1], ())

    play(story)


def test_a_person_decides_which_of_several_facts_was_taken_back() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        known = await memory.layer.add(
            _said("I have a red bicycle from Trek.", "I have a blue bicycle from Giant.")
        )
        event = await memory.layer.add(_said("I sold the old bicycle in Ghent."))
        assert (event.forgotten, event.memories, len(event.held)) == ((), (), 1)
        assert len(await _facts(memory)) == len(known.memories) == 2

    play(story)


def test_a_memory_that_was_remembered_can_be_taken_back_too() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        note = await memory.remember("The user is allergic to peanuts.")
        event = await memory.layer.add(_said("It turns out I'm not allergic to peanuts after all."))
        assert event.forgotten == (note.id,)

    play(story)


def test_nobody_takes_back_what_another_user_said() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.layer.add(_said("I like green tea."), user_id="ana")
        await memory.layer.add(_said("I live in York."), user_id="ana")
        event = await memory.layer.add(_said("Forget that I like green tea. I live in Leeds."), user_id="ben")
        agent = await memory.layer.add(_said("Forget that I like green tea. I live in Leeds."))
        assert (event.forgotten, agent.forgotten) == ((), ())
        assert {"The user likes green tea.", "The user lives in York."} < set(await _facts(memory))

    play(story)


def test_taking_back_waits_for_a_person_where_the_policy_says_so(tmp_path: Path) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.layer.add(_said("I like green tea."))
        event = await memory.layer.add(_said("Forget that I like green tea."))
        assert (event.forgotten, len(event.held)) == ((), 1)
        assert await _facts(memory) == ["The user likes green tea."]
        await memory.decide(event.held, "approve")
        assert await _facts(memory) == []

    play(story, policy=one_rule(tmp_path, "hold", operation=["forget"]))


def test_within_one_conversation_the_order_counts() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.layer.add(_said("I like tea.", "Forget that I like tea.", "I like tea."))
        assert await _facts(memory) == ["The user likes tea."]
        await memory.layer.add(_said("I like tea.", "Forget that I like tea."))
        assert await _facts(memory) == []

    play(story)


def test_a_model_proposes_and_the_same_comparison_decides() -> None:
    with serving(Model(facts=["The user lives in York."])) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            old = await memory.remember("The user lives in Leeds.")
            event = await until(memory, await memory.layer.add(_said("York it is, since May.")), over)
            (fact,) = [await memory.get(id) for id in event.memories]
            assert (fact.content, fact.supersedes, fact.derived_from) == (
                "The user lives in York.",
                (old.id,),
                event.turns,
            )

        play(story, reading=at(model))


def test_turns_stay_when_the_model_is_given_up() -> None:
    with serving(Model(status=500)) as model:

        async def story() -> None:
            clock = HandClock()
            async with Memory("a", ["memory://"], embedder=Quick(), clock=clock, reading=at(model)) as memory:
                event = await memory.layer.add(_said("Hello there."))
                for _ in range(40):
                    clock.pass_days(0.1)
                    await memory.layer.work()
                event = await memory.layer.event(event.id)
                assert (event.state, len(event.turns)) == (EventState.FAILED, 1)
                assert await _turns(memory) == ["Hello there."]

        asyncio.run(story())


def test_a_fact_speaks_for_its_turn() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.layer.add(_said("I drink green tea every morning.", "My green tea pot broke yesterday."))
        hits = (await memory.layer.recall("green tea", min_relevance="off")).facts
        assert [hit.kind for hit in hits].count(Kind.FACT) == 1
        assert "I drink green tea every morning." not in [hit.memory for hit in hits]
        assert "My green tea pot broke yesterday." in [hit.memory for hit in hits]
        only = await memory.layer.recall("green tea", min_relevance="off", sources=["turn"])
        assert len(only.facts) == 2

    play(story, embedder="minilm", reading=Reading())


@pytest.mark.parametrize(
    "words",
    [
        "I no longer like green tea.",
        "Do I like green tea?",
        'Ben said "I like green tea".',
        "I don't like green tea.",
    ],
)
def test_a_model_cannot_make_a_fact_of_what_nobody_states(words: str) -> None:
    async def story(url: str, model: Model) -> None:
        async with Memory("a", [url], embedder=Quick(), reading=at(model)) as memory:
            model.facts = ["The user likes green tea."]
            event = await until(memory, await memory.layer.add(_said(words)), over)
            assert (event.state, event.memories, len(event.turns)) == (EventState.DONE, (), 1)
            assert await _turns(memory) == [words]
            said = _said("I like green tea.")  # the control: what is stated is kept
            event = await until(memory, await memory.layer.add(said), over)
            assert await _facts(memory) == ["The user likes green tea."]

    with serving(Model()) as model:
        asyncio.run(story("sqlite://", model))
