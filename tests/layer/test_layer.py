"""Messages go in; what they give away can be asked for; whoever waits can ask how far it is."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from memorywire import Memory
from memorywire.app import Reading
from memorywire.client.layer import conversation
from memorywire.model.answers import Verdict
from memorywire.model.errors import (
    CapabilityUnsupported,
    InvalidRequest,
    NotFound,
)
from memorywire.model.layer import EventState, Kind
from memorywire.model.record import MemoryType, Scope
from memorywire.stores.memory import MemoryStore
from tests.engine.quick import Quick
from tests.engine.stage import HandClock, one_rule
from tests.kv.stage import play
from tests.layer.endpoint import Model, serving
from tests.layer.talk import HELLO, at, contents, over, until


def test_without_a_model_common_facts_are_found_at_once() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        event = await memory.layer.add(HELLO, session_id="s1", metadata={"app": "x"})
        assert event.state is EventState.DONE
        assert (await memory.layer.event(event.id)).memories == event.memories
        found = await memory.layer.recall("where does the user live?")
        assert (found.verdict, found.facts[0].memory) == (Verdict.MATCH, "The user lives in Lisbon.")
        record = await memory.get(event.memories[0])
        assert (record.source, record.session_id, record.metadata["app"]) == ("extractor:builtin", "s1", "x")

    play(story, embedder="minilm")


def test_without_infer_every_turn_is_kept_as_it_was_said() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        said = [
            {"role": "user", "name": "Ana", "content": "The deploy is on Friday", "at": 1_700_000_000_000},
            {"role": "assistant", "content": "Noted"},
        ]
        event = await memory.layer.add(said, infer=False, session_id="s1")
        first, second = [await memory.get(id) for id in event.memories]
        assert (first.content, first.speaker, first.occurred_at, first.session_id, first.type) == (
            "The deploy is on Friday",
            "Ana",
            1_700_000_000_000,
            "s1",
            MemoryType.EPISODIC,
        )
        assert (second.content, second.speaker, second.occurred_at) == ("Noted", "assistant", None)

    play(story)


def test_the_same_words_of_two_people_or_said_twice_are_kept_each_time() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        said = [
            {"role": "user", "content": "ok"},
            {"role": "assistant", "content": "ok"},
            {"role": "user", "content": "ok"},
        ]
        event = await memory.layer.add(said, infer=False)
        kept = [await memory.get(id) for id in event.memories]
        assert [(record.content, record.speaker) for record in kept] == [
            ("ok", "user"),
            ("ok", "assistant"),
            ("ok", "user"),
        ]
        assert list(event.memories) == sorted(event.memories)
        await memory.forget(event.memories[0])
        assert len((await memory.layer.add(said[:1], infer=False)).memories) == 1
        assert len((await memory.list()).items) == 3

    play(story)


def test_a_turn_whose_moment_is_known_is_kept_once_however_often_it_is_handed_over() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        said = [{"role": "user", "name": "Ana", "content": "ok", "at": 1_700_000_000_000}]
        first = await memory.layer.add(said, infer=False, session_id="s1")
        again = await memory.layer.add(said, infer=False, session_id="s1")
        other = await memory.layer.add([{**said[0], "name": "Ben"}], infer=False, session_id="s1")
        elsewhere = await memory.layer.add(said, infer=False, session_id="s2")
        assert again.memories == first.memories
        assert len({*first.memories, *other.memories, *elsewhere.memories}) == 3

    play(story)


def test_with_the_extractor_switched_off_inferring_fails_closed() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(CapabilityUnsupported) as caught:
            await memory.layer.add(HELLO)
        assert caught.value.code == "capability_unsupported"
        assert await contents(memory) == []
        assert (await memory.layer.add(HELLO, infer=False)).state is EventState.DONE

    play(story, reading=Reading(extractor="off"))


def test_facts_walk_the_corridor_and_wait_for_a_person_where_the_policy_says_so(tmp_path: Path) -> None:
    policy = one_rule(tmp_path, "hold", source=["extractor:*"])

    async def story(memory: Memory, clock: HandClock) -> None:
        event = await memory.layer.add(HELLO)
        assert (event.memories, len(event.held)) == ((), 2)
        assert await contents(memory) == [HELLO[0]["content"]]
        await memory.decide(event.held, "approve")
        assert len(await contents(memory)) == 3

    play(story, policy=policy)


class Reads(MemoryStore):
    """A store over a product that reads conversations itself."""

    async def ingest(self, scope: Scope, messages: Sequence[Mapping[str, str]]) -> list[str]:
        return [f"{scope.agent} heard: {message['content']}" for message in messages]


def test_a_store_that_reads_conversations_is_asked_to() -> None:
    async def story() -> None:
        async with Memory("a", [Reads(Quick.space)], embedder=Quick()) as memory:
            event = await memory.layer.add([{"role": "user", "content": "hello"}])
            await until(memory, event, over)
            assert await contents(memory) == ["hello", "a heard: hello"]

    asyncio.run(story())


def test_sources_narrow_who_may_answer_and_entries_never_do() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.layer.add([{"role": "user", "content": "I love green tea."}])
        await memory.layer.add([{"role": "user", "content": "We had green tea at noon"}], infer=False)
        await memory.remember("Green tea is in the cupboard")
        await memory.kv.set("tea", "green tea", embed=True)
        kinds = {
            tuple(asked): {fact.kind for fact in await memory.layer.recall("green tea", sources=asked)}
            for asked in (["fact"], ["turn"], ["note"], ["fact", "note"])
        }
        assert kinds == {
            ("fact",): {Kind.FACT},
            ("turn",): {Kind.TURN},
            ("note",): {Kind.NOTE},
            ("fact", "note"): {Kind.FACT, Kind.NOTE},
        }
        assert len((await memory.layer.recall("green tea")).facts) == 3

    play(story, embedder="minilm")


def test_users_and_agents_do_not_hear_each_other() -> None:
    async def both() -> list[str]:
        async with Memory("a", ["sqlite://"], user_id="ana") as ana:
            event = await ana.layer.add(HELLO)
            ana.user_id = "ben"
            ben = await ana.layer.recall("where does the user live?")
            ana.tenant = "elsewhere"
            with pytest.raises(NotFound):
                await ana.layer.event(event.id)
            return [fact.memory for fact in ben]

    assert asyncio.run(both()) == []


def test_a_conversation_can_be_said_to_be_a_users_as_a_memory_can() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.layer.add(HELLO, user_id="ana")
        [home] = (await memory.layer.recall("where does the user live?", user_id="ana", top_k=1)).facts
        assert (await memory.get(home.id)).scope.user == "ana"
        assert (await memory.layer.recall("where does the user live?", user_id="ben")).facts == ()

    play(story)


@pytest.mark.parametrize("option", [{"usr_id": "ana"}, {"user_id": 5}], ids=["unknown", "number"])
def test_an_option_that_is_none_is_a_problem_with_its_name(option: dict[str, Any]) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        for asked in (memory.layer.add(HELLO, **option), memory.layer.recall("tea", **option)):
            with pytest.raises(InvalidRequest) as caught:
                await asked
            assert caught.value.field == next(iter(option))

    play(story)


@pytest.mark.parametrize(
    "messages",
    [
        [],
        "hello",
        [{"role": "user"}],
        [{"role": "user", "content": " "}],
        [{"role": "user", "content": "\u200b\ufeff"}],
        [{"role": "user", "content": "x", "tool": 1}],
        [{"role": "user", "content": "x"}] * 1_001,
        None,
        ["hello"],
        [{"role": "r" * 65, "content": "x"}],
        [{"role": "user", "content": "x", "name": 5}],
        [{"role": "user", "content": "x", "at": "yesterday"}],
        [{"role": "user", "content": "x", "at": 1.5}],
        [{"role": "user", "content": "x", "at": -1}],
    ],
    ids=[
        *("none", "text", "no content", "blank", "unseen", "unknown", "many"),
        *("nothing", "texts", "role", "name", "word", "fraction", "before"),
    ],
)
def test_messages_that_are_none_are_refused(messages: Any) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(InvalidRequest) as caught:
            await memory.layer.add(messages)
        assert (caught.value.field or "").startswith("messages")

    play(story)


@pytest.mark.parametrize(
    ("message", "fix"),
    [
        ({"content": [{"type": "text", "text": "I live in Rome"}]}, "of content in parts hand over the text"),
        ({"content": None}, "leave a message without words out"),
        ({"content": "", "tool_calls": []}, "leave it out: a message has role, content, name and at"),
    ],
    ids=["parts", "wordless", "calls"],
)
def test_messages_as_models_have_them_are_refused_with_what_to_hand_over(message: Any, fix: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        conversation([{"role": "assistant", **message}])
    assert fix in str(caught.value.fix)


@pytest.mark.parametrize(
    "option",
    [
        {"metadata": [1]},
        {"metadata": None},
        {"session_id": 5},
        {"session_id": "s" * 257},
        {"session_id": " "},
    ],
    ids=["list", "null", "number", "long", "blank"],
)
def test_what_is_said_about_a_conversation_is_checked_like_the_messages(option: dict[str, Any]) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(InvalidRequest) as caught:
            await memory.layer.add(HELLO, **option)
        assert caught.value.field == next(iter(option))

    play(story)


@pytest.mark.parametrize("infer", [True, False], ids=["facts", "turns"])
def test_no_conversation_passes_for_the_value_of_a_key(infer: bool) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("k", "mine")
        mark = (await memory.list(include=["archived"])).items[0].metadata["kv"]
        with pytest.raises(InvalidRequest) as caught:
            await memory.layer.add(HELLO, infer=infer, metadata={"kv": {**mark, "key": "another"}})
        assert caught.value.field == "metadata.kv"
        assert [entry.key for entry in await memory.kv.list()] == ["k"]
        assert (await memory.layer.add(HELLO, infer=infer, metadata={"kv": "no mark"})).memories

    play(story)


def test_a_floor_that_is_no_number_is_refused() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(InvalidRequest):
            await memory.layer.recall("who is there?", min_relevance=math.nan)
        assert (await memory.layer.add(HELLO)).state is EventState.DONE

    play(story)


def test_without_a_journal_only_what_is_read_at_once_is_taken() -> None:
    with serving(Model()) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            with pytest.raises(CapabilityUnsupported):
                await memory.layer.add(HELLO)
            assert model.asked == []
            assert (await memory.layer.add(HELLO, infer=False)).state is EventState.DONE

        play(story, policy=None, reading=at(model))
