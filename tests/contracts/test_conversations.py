"""Conversations are the same on every store: kept or read, asked for by kind, apart by user."""

import asyncio

import pytest

from memorywire import Memory
from memorywire.app import Reading
from memorywire.model.answers import Verdict
from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.layer import EventState, Kind
from tests.contracts.conftest import Place
from tests.engine.stage import HandClock
from tests.layer.endpoint import Model, serving

_HELLO = [{"role": "user", "content": "My name is Ana. I live in Lisbon."}]


def test_facts_are_read_out_and_answer_questions(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        event = await memory.layer.add(_HELLO, session_id="s1", metadata={"app": "x"})
        again = await memory.layer.add(_HELLO, session_id="s1")
        assert (event.state, len(event.memories)) == (EventState.DONE, 2)
        assert set(again.memories) == set(event.memories)
        assert (await memory.layer.event(event.id)).memories == event.memories
        found = await memory.layer.recall("where does the user live?", top_k=1)
        assert (found.verdict, found.facts[0].memory) == (Verdict.MATCH, "The user lives in Lisbon.")
        record = await memory.get(found.facts[0].id)
        assert (record.source, record.session_id, record.metadata["app"]) == ("extractor:builtin", "s1", "x")
        await memory.forget(found.facts[0].id)
        facts = await memory.layer.recall("where does the user live?", sources=["fact"])
        assert not any("Lisbon" in fact.memory for fact in facts)

    place.play(story)


def test_turns_are_kept_as_they_were_said(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        said = [
            {"role": "user", "name": "Ana", "content": "The deploy is on Friday", "at": 1_700_000_000_000},
            {"role": "assistant", "content": "Noted"},
        ]
        event = await memory.layer.add(said, infer=False, session_id="s1")
        first, second = [await memory.get(id) for id in event.memories]
        assert (first.content, first.speaker, first.occurred_at) == (
            "The deploy is on Friday",
            "Ana",
            1_700_000_000_000,
        )
        assert (second.content, second.speaker, second.session_id) == ("Noted", "assistant", "s1")

    place.play(story)


def test_sources_narrow_who_may_answer_and_entries_never_do(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.layer.add([{"role": "user", "content": "I love green tea."}])
        await memory.layer.add([{"role": "user", "content": "We had green tea at noon"}], infer=False)
        await memory.remember("Green tea is in the cupboard")
        await memory.remember("Green tea is strange", metadata={"layer": {"kind": ["zebra"]}, "kv": 3})
        await memory.kv.set("tea", "green tea", embed=True)
        for asked in (["fact"], ["turn"], ["note"], ["fact", "turn"]):
            found = await memory.layer.recall("green tea", sources=asked, min_relevance="off")
            assert {fact.kind.value for fact in found} == set(asked)
        every = await memory.layer.recall("green tea", min_relevance="off")
        assert sorted(fact.kind for fact in every) == sorted([Kind.FACT, Kind.TURN, Kind.NOTE, Kind.NOTE])

    place.play(story)


def test_users_do_not_hear_each_other(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        memory.user_id = "ana"
        await memory.layer.add(_HELLO)
        assert (await memory.layer.recall("where does the user live?")).facts
        memory.user_id = "ben"
        assert (await memory.layer.recall("where does the user live?")).facts == ()

    place.play(story)


def test_a_model_is_asked_in_the_background_and_what_it_finds_is_kept(place: Place) -> None:
    with serving(Model(facts=["Ana drinks green tea."])) as model:
        reading = Reading(extractor=f"openai+http://127.0.0.1:{model.port}/v1?model=small", key="sk-test")

        async def story(memory: Memory, clock: HandClock) -> None:
            event = await memory.layer.add(_HELLO)
            assert event.state is EventState.PENDING
            while event.state is EventState.PENDING:
                await asyncio.sleep(0.01)
                event = await memory.layer.event(event.id)
            contents = [record.content for record in await memory.list()]
            assert contents == [_HELLO[0]["content"], "Ana drinks green tea."]

        place.play(story, reading=reading)


def test_without_an_extractor_inferring_fails_closed(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(CapabilityUnsupported):
            await memory.layer.add(_HELLO)
        assert (await memory.list()).items == ()
        assert (await memory.layer.add(_HELLO, infer=False)).state is EventState.DONE

    place.play(story, reading=Reading(extractor="off"))
