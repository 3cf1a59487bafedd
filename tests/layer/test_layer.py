"""Messages go in; what they give away can be asked for; whoever waits can ask how far it is."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from memorywire import Memory
from memorywire.house import Reading
from memorywire.model.answers import Verdict
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest, NotFound
from memorywire.model.layer import Event, EventState, Kind
from memorywire.model.record import MemoryType, Scope
from memorywire.stores.memory import MemoryStore
from tests.engine.quick import Quick
from tests.engine.stage import HandClock
from tests.kv.stage import play
from tests.layer.endpoint import Model, serving

_HELLO = [{"role": "user", "content": "My name is Ana. I live in Lisbon."}]
_TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def _at(model: Model, dialect: str = "openai", **more: Any) -> Reading:
    return Reading(extractor=f"{dialect}+http://127.0.0.1:{model.port}/v1?model=small", key="sk-test", **more)


async def _contents(memory: Memory) -> list[object]:
    return [record.content for record in await memory.list()]


async def _until(memory: Memory, event: Event, ended: Callable[[Event], bool]) -> Event:
    while not ended(event):
        await asyncio.sleep(0.01)
        event = await memory.layer.event(event.id)
    return event


def _over(event: Event) -> bool:
    return event.state is not EventState.PENDING


def test_without_a_model_common_facts_are_found_at_once() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        event = await memory.layer.add(_HELLO, session_id="s1", metadata={"app": "x"})
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


def test_what_was_to_be_read_waits_while_the_extractor_is_switched_off(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/memory.db"

    async def opened(reading: Reading, event_id: str | None) -> Event:
        clock = HandClock()
        clock.pass_days(0 if event_id is None else 1)
        async with Memory("a", [url], embedder=Quick(), clock=clock, reading=reading) as memory:
            if event_id is None:
                return await memory.layer.add(_HELLO)
            await memory.layer.work()
            assert await _contents(memory) == []
            return await memory.layer.event(event_id)

    accepted = asyncio.run(opened(_at(Model(port=9)), None))
    waiting = asyncio.run(opened(Reading(extractor="off"), accepted.id))
    assert (waiting.state, waiting.error) == (EventState.PENDING, "the extractor is switched off")
    assert waiting.conversation is not None


def test_with_the_extractor_switched_off_inferring_fails_closed() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(CapabilityUnsupported) as caught:
            await memory.layer.add(_HELLO)
        assert caught.value.code == "capability_unsupported"
        assert await _contents(memory) == []
        assert (await memory.layer.add(_HELLO, infer=False)).state is EventState.DONE

    play(story, reading=Reading(extractor="off"))


@pytest.mark.parametrize(
    ("dialect", "path"), [("openai", "/v1/chat/completions"), ("anthropic", "/v1/messages")]
)
def test_a_model_behind_an_address_is_asked_in_the_background(dialect: str, path: str) -> None:
    with serving(Model(facts=["Ana drinks green tea.", "Ana lives in Lisbon."])) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            event = await memory.layer.add([{**_HELLO[0], "at": 1_700_000_000_000}])
            assert event.state is EventState.PENDING
            ended = await _until(memory, event, _over)
            assert ended.state is EventState.DONE
            assert await _contents(memory) == model.facts
            record = await memory.get(ended.memories[0])
            assert (record.source, record.occurred_at) == ("extractor:small", 1_700_000_000_000)

        play(story, reading=_at(model, dialect))
        ((asked, headers, said),) = model.asked
        assert asked == path
        assert "sk-test" in headers.get("authorization", "") + headers.get("x-api-key", "")
        assert "I live in Lisbon" in repr(said)


def test_what_was_accepted_is_read_after_the_process_came_back(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/memory.db"
    with serving(Model(facts=["Ana lives in Lisbon."])) as model:

        async def accepted() -> str:
            async with Memory("a", [url], embedder=Quick(), reading=_at(Model(port=9))) as memory:
                return (await memory.layer.add(_HELLO)).id

        async def read(event_id: str) -> Event:
            async with Memory("a", [url], embedder=Quick(), reading=_at(model)) as memory:
                await memory.layer.work()
                return await _until(memory, await memory.layer.event(event_id), _over)

        assert asyncio.run(read(asyncio.run(accepted()))).state is EventState.DONE


def test_a_model_that_fails_is_asked_again_later_and_given_up_in_the_end() -> None:
    with serving(Model(facts=["x"], status=503)) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            event = await memory.layer.add(_HELLO)
            seen = await _until(memory, event, lambda one: one.tries > 0)
            assert (seen.state, "503" in (seen.error or "")) == (EventState.PENDING, True)
            for _ in range(12):
                clock.pass_days(0.05)
                await memory.layer.work()
            waiting = await memory.layer.event(event.id)
            assert (waiting.state, waiting.conversation is None) == (EventState.PENDING, False)
            for _ in range(30):
                clock.pass_days(1)
                await memory.layer.work()
            ended = await memory.layer.event(event.id)
            assert (ended.state, ended.conversation) == (EventState.FAILED, None)

        play(story, reading=_at(model))


def test_a_model_that_keeps_failing_is_left_alone_for_a_while() -> None:
    with serving(Model(status=500)) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            for _ in range(8):
                await memory.layer.add(_HELLO)
            assert await memory.layer.work() == 8
            assert len(model.asked) == 3

        play(story, reading=_at(model))


def test_a_model_is_not_asked_more_often_than_its_budget_allows() -> None:
    with serving(Model(facts=["x"])) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            for _ in range(5):
                await memory.layer.add(_HELLO)
            assert await memory.layer.work() == 3
            assert len(model.asked) == 2
            clock.pass_days(1.1)
            assert await memory.layer.work() == 1

        play(story, reading=_at(model, calls_a_day=2))


@pytest.mark.parametrize(
    "fault",
    [{"raw": b"not JSON"}, {"raw": b'{"choices": []}'}, {"facts": [1, 2]}, {"status": 302, "location": "/x"}],
    ids=["text", "empty", "numbers", "redirect"],
)
def test_an_answer_that_is_no_list_of_facts_is_no_fact(fault: Mapping[str, Any]) -> None:
    with serving(Model(**fault)) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            event = await memory.layer.add(_HELLO)
            seen = await _until(memory, event, lambda one: one.tries > 0)
            assert seen.error is not None
            assert "sk-test" not in seen.error
            assert await _contents(memory) == []

        play(story, reading=_at(model))


def test_no_secret_waits_in_the_queue_nor_reaches_the_model(tmp_path: Path) -> None:
    with serving(Model(facts=["Ana has a token."])) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            said = f"My token is {_TOKEN} and my name is Ana"
            await _until(memory, await memory.layer.add([{"role": "user", "content": said}]), _over)

        play(story, f"sqlite://{tmp_path}/memory.db", reading=_at(model))
        assert "Ana" in repr(model.asked)
        assert _TOKEN not in repr(model.asked)
    said = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert _TOKEN.encode() not in said


def test_facts_walk_the_corridor_and_wait_for_a_person_where_the_policy_says_so(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'profile = "open"\n[[rule]]\nname = "look"\nverdict = "hold"\nsource = ["extractor:*"]\n',
        encoding="utf-8",
    )

    async def story(memory: Memory, clock: HandClock) -> None:
        event = await memory.layer.add(_HELLO)
        assert (event.memories, len(event.held)) == ((), 2)
        assert await _contents(memory) == []
        await memory.decide(event.held, "approve")
        assert len(await _contents(memory)) == 2

    play(story, policy=str(policy))


class Reads(MemoryStore):
    """A store over a product that reads conversations itself."""

    async def ingest(self, scope: Scope, messages: Sequence[Mapping[str, str]]) -> list[str]:
        return [f"{scope.agent} heard: {message['content']}" for message in messages]


def test_a_store_that_reads_conversations_is_asked_to() -> None:
    async def story() -> None:
        async with Memory("a", [Reads(Quick.space)], embedder=Quick()) as memory:
            event = await memory.layer.add([{"role": "user", "content": "hello"}])
            await _until(memory, event, _over)
            assert await _contents(memory) == ["a heard: hello"]

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
            event = await ana.layer.add(_HELLO)
            ana.user_id = "ben"
            ben = await ana.layer.recall("where does the user live?")
            ana.tenant = "elsewhere"
            with pytest.raises(NotFound):
                await ana.layer.event(event.id)
            return [fact.memory for fact in ben]

    assert asyncio.run(both()) == []


@pytest.mark.parametrize(
    "messages",
    [
        [],
        "hello",
        [{"role": "user"}],
        [{"role": "user", "content": " "}],
        [{"role": "user", "content": "x", "tool": 1}],
        [{"role": "user", "content": "x"}] * 1_001,
    ],
    ids=["none", "text", "no content", "blank", "unknown", "many"],
)
def test_messages_that_are_none_are_refused(messages: Any) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(InvalidRequest) as caught:
            await memory.layer.add(messages)
        assert (caught.value.field or "").startswith("messages")

    play(story)


def test_without_a_journal_only_what_is_read_at_once_is_taken() -> None:
    with serving(Model()) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            with pytest.raises(CapabilityUnsupported):
                await memory.layer.add(_HELLO)
            assert model.asked == []
            assert (await memory.layer.add(_HELLO, infer=False)).state is EventState.DONE

        play(story, policy=None, reading=_at(model))
