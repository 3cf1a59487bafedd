"""What waits to be read is read later and once, by this process or the next, and nothing of it is lost."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from memorywire import Memory
from memorywire.app import Reading
from memorywire.journal.ingest_queue import IngestQueue
from memorywire.model.errors import (
    DimensionMismatch,
    EmbedderFailed,
    EmbedderNotConfigured,
    MemorywireError,
)
from memorywire.model.layer import Event, EventState, Fact
from tests.engine.quick import Quick
from tests.engine.stage import HandClock
from tests.kv.stage import play
from tests.layer.endpoint import Model, serving
from tests.layer.talk import HELLO, TOKEN, at, contents, over, until


def test_what_was_to_be_read_waits_while_the_extractor_is_switched_off(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/memory.db"

    async def opened(reading: Reading, event_id: str | None) -> Event:
        clock = HandClock()
        clock.pass_days(0 if event_id is None else 1)
        async with Memory("a", [url], embedder=Quick(), clock=clock, reading=reading) as memory:
            if event_id is None:
                return await memory.layer.add(HELLO)
            await memory.layer.work()
            assert await contents(memory) == [HELLO[0]["content"]]
            return await memory.layer.event(event_id)

    accepted = asyncio.run(opened(at(Model(port=9)), None))
    waiting = asyncio.run(opened(Reading(extractor="off"), accepted.id))
    assert (waiting.state, waiting.error) == (EventState.PENDING, "the extractor is switched off")
    assert waiting.conversation is not None


def test_facts_that_were_found_wait_as_facts_while_the_extractor_is_switched_off(tmp_path: Path) -> None:
    """A process was killed between finding and remembering, and the next one has no extractor."""
    url = f"sqlite://{tmp_path}/memory.db"

    async def opened(reading: Reading, days: int, event_id: str = "") -> tuple[str, list[object]]:
        clock = HandClock()
        clock.pass_days(days)
        async with Memory("a", [url], embedder=Quick(), clock=clock, reading=reading) as memory:
            if event_id:
                await memory.layer.work()
                return event_id, await contents(memory)
            event = await memory.layer.add(HELLO)
            journal = (await memory._open()).journal
            assert journal is not None
            await IngestQueue(journal).set_facts(event.id, [Fact(text="Ana is here.")])
            return event.id, []

    id, _ = asyncio.run(opened(at(Model(port=9)), 0))
    assert asyncio.run(opened(Reading(extractor="off"), 1, id)) == (id, [HELLO[0]["content"]])
    assert asyncio.run(opened(at(Model(port=9)), 2, id)) == (id, [HELLO[0]["content"], "Ana is here."])


class Tired(Quick):
    """Fails until it is rested."""

    problem: MemorywireError | None = None

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        if self.problem is not None:
            raise self.problem
        return await super().embed(texts)


@pytest.mark.parametrize(
    "problem",
    [EmbedderFailed("too tired"), EmbedderNotConfigured("nobody"), DimensionMismatch("too many")],
    ids=["away", "none", "another"],
)
@pytest.mark.parametrize("infer", [True, False], ids=["facts", "turns"])
def test_nothing_that_was_said_is_lost_while_nobody_can_embed_it(problem: Any, infer: bool) -> None:
    embedder = Tired()
    embedder.problem = problem

    async def story(memory: Memory, clock: HandClock) -> None:
        event = await memory.layer.add(HELLO[:1], infer=infer)
        assert (event.state, event.error, event.memories) == (EventState.PENDING, problem.detail, ())
        embedder.problem = None
        clock.pass_days(0.01)
        assert await memory.layer.work() == 0
        assert (await memory.layer.event(event.id)).state is EventState.DONE
        assert len(await contents(memory)) == (3 if infer else 1)

    play(story, embedder=embedder)


@pytest.mark.parametrize(
    ("dialect", "path"), [("openai", "/v1/chat/completions"), ("anthropic", "/v1/messages")]
)
def test_a_model_behind_an_address_is_asked_in_the_background(dialect: str, path: str) -> None:
    with serving(Model(facts=["Ana drinks green tea.", "Ana lives in Lisbon."])) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            event = await memory.layer.add([{**HELLO[0], "at": 1_700_000_000_000}])
            assert event.state is EventState.PENDING
            ended = await until(memory, event, over)
            assert ended.state is EventState.DONE
            assert await contents(memory) == [HELLO[0]["content"], *model.facts]
            record = await memory.get(ended.memories[0])
            assert record.derived_from == ended.turns
            assert (record.source, record.occurred_at) == ("extractor:small", 1_700_000_000_000)

        play(story, reading=at(model, dialect))
        ((asked, headers, said),) = model.asked
        assert asked == path
        assert "sk-test" in headers.get("authorization", "") + headers.get("x-api-key", "")
        assert "I live in Lisbon" in repr(said)


def test_what_was_accepted_is_read_after_the_process_came_back(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/memory.db"
    with serving(Model(facts=["Ana lives in Lisbon."])) as model:

        async def accepted() -> str:
            async with Memory("a", [url], embedder=Quick(), reading=at(Model(port=9))) as memory:
                return (await memory.layer.add(HELLO)).id

        async def read(event_id: str) -> Event:
            async with Memory("a", [url], embedder=Quick(), reading=at(model)) as memory:
                await memory.layer.work()
                return await until(memory, await memory.layer.event(event_id), over)

        assert asyncio.run(read(asyncio.run(accepted()))).state is EventState.DONE


def test_a_model_that_fails_is_asked_again_later_and_given_up_in_the_end() -> None:
    with serving(Model(facts=["x"], status=503)) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            event = await memory.layer.add(HELLO)
            seen = await until(memory, event, lambda one: one.tries > 0)
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

        play(story, reading=at(model))


def test_a_host_that_cannot_be_fails_like_one_that_is_away() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        event = await memory.layer.add(HELLO)
        seen = await until(memory, event, lambda one: one.tries > 0)
        assert (seen.state, seen.error) == (
            EventState.PENDING,
            "the model small gave no usable answer: UnicodeError",
        )

    play(story, reading=Reading(extractor="openai+http://b\u00fccher..example/v1?model=small"))


def test_a_model_that_keeps_failing_is_left_alone_for_a_while() -> None:
    with serving(Model(status=500)) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            for _ in range(8):
                await memory.layer.add(HELLO)
            assert await memory.layer.work() == 8
            assert len(model.asked) == 3

        play(story, reading=at(model))


def test_a_model_is_not_asked_more_often_than_its_budget_allows() -> None:
    with serving(Model(facts=["x"])) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            for _ in range(5):
                await memory.layer.add(HELLO)
            assert await memory.layer.work() == 3
            assert len(model.asked) == 2
            clock.pass_days(1.1)
            assert await memory.layer.work() == 1

        play(story, reading=at(model, calls_a_day=2))


def test_a_model_that_is_left_alone_costs_nothing_of_its_budget() -> None:
    with serving(Model(status=500)) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            for _ in range(8):
                await memory.layer.add(HELLO)
            assert (await memory.layer.work(), len(model.asked)) == (8, 3)
            model.status, model.facts = 200, ["x"]
            clock.pass_days(0.001)
            assert (await memory.layer.work(), len(model.asked)) == (7, 4)

        play(story, reading=at(model, calls_a_day=4))


@pytest.mark.parametrize(
    "fault",
    [{"raw": b"not JSON"}, {"raw": b'{"choices": []}'}, {"facts": [1, 2]}, {"status": 302, "location": "/x"}],
    ids=["text", "empty", "numbers", "redirect"],
)
def test_an_answer_that_is_no_list_of_facts_is_no_fact(fault: Mapping[str, Any]) -> None:
    with serving(Model(**fault)) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            event = await memory.layer.add(HELLO)
            seen = await until(memory, event, lambda one: one.tries > 0)
            assert seen.error is not None
            assert "sk-test" not in seen.error
            assert await contents(memory) == [HELLO[0]["content"]]

        play(story, reading=at(model))


def test_no_secret_waits_in_the_queue_nor_reaches_the_model(tmp_path: Path) -> None:
    with serving(Model(facts=["Ana has a token."])) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            said = f"My token is {TOKEN} and my name is Ana"
            await until(memory, await memory.layer.add([{"role": "user", "content": said}]), over)

        play(story, f"sqlite://{tmp_path}/memory.db", reading=at(model))
        assert "Ana" in repr(model.asked)
        assert TOKEN not in repr(model.asked)
    said = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert TOKEN.encode() not in said


def test_no_secret_waits_wherever_in_a_conversation_it_stands(tmp_path: Path) -> None:
    with serving(Model(status=500)) as model:

        async def story(memory: Memory, clock: HandClock) -> None:
            said = [{"role": TOKEN, "content": TOKEN, "name": TOKEN}]
            event = await memory.layer.add(said, session_id=TOKEN, metadata={"a": [TOKEN]})
            await until(memory, event, lambda one: one.tries > 0)

        play(story, f"sqlite://{tmp_path}/memory.db", reading=at(model))
        assert "REDACTED" in repr(model.asked)
        assert TOKEN not in repr(model.asked)
    said = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"REDACTED" in said
    assert TOKEN.encode() not in said
