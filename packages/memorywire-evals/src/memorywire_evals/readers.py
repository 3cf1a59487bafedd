"""Models and commands that answer from recalled memories, the budget of their calls, and agents."""

import asyncio
import json
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, urlsplit

from msgspec import Struct

from memorywire.model.consolidation import Spending
from memorywire.model.errors import InvalidRequest, StoreUnavailable, TooManyAffected
from memorywire.model.record import Json
from memorywire.pipeline.extract import open_chat
from memorywire.pipeline.extract.chat import Answer, Chat, ModelBusy
from memorywire_evals.cases import Case
from memorywire_evals.metrics import tokens
from memorywire_evals.results import append, hash_text, whole_lines

COMMAND = "cmd:"
FIX = 'use "openai+https://HOST/v1?model=NAME", "anthropic+https://HOST/v1?model=NAME" or "cmd:COMMAND"'
MOST_TOKENS = 400
PATIENCE = 300.0

PAUSES = (1.0, 5.0, 15.0, 60.0)
"""Seconds before a busy server is called again, if it does not name a delay."""

LONGEST_PAUSE = 120.0

KEYS = {
    "reader": "MEMORYWIRE_READER_KEY",
    "judge": "MEMORYWIRE_JUDGE_KEY",
    "reference": "MEMORYWIRE_REFERENCE_KEY",
    "target": "MEMORYWIRE_TARGET_KEY",
}
"""The environment variable with the key of each role."""

FOLDER = "MEMORYWIRE_AGENT_FOLDER"
MEMORY = "MEMORYWIRE_AGENT_MEMORY"


class ReaderFailed(StoreUnavailable):
    """The model or the command did not answer; earlier answers are kept."""

    def __init__(self, detail: str, fix: str | None = None) -> None:
        again = "run it again: answers so far are kept"
        super().__init__(detail, field="reader", fix=f"{fix}, then {again}" if fix else again)


class Reply(Struct, frozen=True, kw_only=True):
    """A reply and its cost in tokens, estimated if the reader does not report it.

    `model` is the id that the endpoint reports; the requested name may be an alias.
    """

    text: str
    tokens: int
    model: str | None = None


class Reader(Protocol):
    """Answers a prompt."""

    @property
    def name(self) -> str:
        """The model's id, or the program, for the results."""
        ...

    @property
    def mark(self) -> str:
        """A hash that identifies the reader: two servers may use the same model name."""
        ...

    async def ask(self, prompt: str, *, folder: Path | None = None) -> Reply:
        """Answer a prompt. A program may store its memory in the folder; a model ignores it."""
        ...


def open_reader(spec: str, *, key: str | None, role: str = "reader") -> Reader:
    """Open the reader for a URL or command, without calling it. Errors name the `role` as field."""
    if spec.startswith(COMMAND):
        return Command(spec.removeprefix(COMMAND), role)
    return Endpoint(open_chat(spec, api_key=key, field=role, fix=FIX))


def keys(specs: Mapping[str, str | None], environment: Mapping[str, str]) -> dict[str, str | None]:
    """Return the key of each role: its own, or the reader's if its host is that of the first endpoint.

    So no server gets the key of another.
    """
    hosts = {role: _host(spec) for role, spec in specs.items()}
    home = next(filter(None, hosts.values()), None)
    shared = environment.get(KEYS["reader"])
    return {
        role: environment.get(KEYS[role]) or (shared if host == home else None)
        for role, host in hosts.items()
    }


def _host(spec: str | None) -> str:
    """Return host and port of an endpoint; "" for a program."""
    if spec is None or spec.startswith(COMMAND):
        return ""
    try:
        return urlsplit(spec).netloc.rpartition("@")[2]
    except ValueError:  # `open_reader` reports the error
        return ""


class Command:
    """A program that reads the prompt on standard input and prints its answer.

    MEMORYWIRE_AGENT_FOLDER names a folder: a lasting one if MEMORYWIRE_AGENT_MEMORY is `on` and the agent
    uses its own memory, else (`off`) an empty one that is removed afterwards. The program does not get the
    keys of the readers.
    """

    def __init__(self, line: str, role: str) -> None:
        try:
            self._words = shlex.split(line)
        except ValueError as error:
            raise InvalidRequest(f"the command cannot be read: {error}", field=role, fix=FIX) from error
        if not self._words:
            raise InvalidRequest("the command is empty", field=role, fix=FIX)
        self.name = self._words[0]
        self.mark = hash_text(*self._words)

    async def ask(self, prompt: str, *, folder: Path | None = None) -> Reply:
        with _room(folder) as room:
            memory = "off" if folder is None else "on"
            theirs = {name: value for name, value in os.environ.items() if name not in KEYS.values()}
            text = await self._run(prompt, {**theirs, FOLDER: str(room.absolute()), MEMORY: memory})
        return Reply(text=text, tokens=tokens(prompt) + tokens(text))

    async def _run(self, prompt: str, env: Mapping[str, str]) -> str:
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *self._words, stdin=pipe, stdout=pipe, stderr=pipe, env=env
            )
        except OSError as error:
            raise ReaderFailed(f"{self.name} cannot be started: {error.strerror}") from error
        try:
            async with asyncio.timeout(PATIENCE):
                said, complaint = await process.communicate(prompt.encode())
        except TimeoutError as error:
            raise ReaderFailed(f"{self.name} gave no answer in {PATIENCE:g} s") from error
        finally:
            if process.returncode is None:  # the caller was cancelled or timed out
                process.kill()
        if process.returncode:
            told = complaint.decode(errors="replace")[:200]
            raise ReaderFailed(f"{self.name} ended with {process.returncode}: {told}")
        return said.decode(errors="replace").strip()


@contextmanager
def _room(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="memorywire-agent-") as empty:
        yield Path(empty)


class Endpoint:
    """A model behind OpenAI's `/chat/completions` or Anthropic's `/messages`, or a compatible endpoint."""

    def __init__(self, chat: Chat) -> None:
        self.name = chat.name
        self.mark = hash_text(chat.url, chat.name)
        self._chat = chat

    async def ask(self, prompt: str, *, folder: Path | None = None) -> Reply:
        try:
            answer = await self._patiently(prompt)
        except StoreUnavailable as error:
            raise ReaderFailed(error.detail, error.fix) from error
        text = answer.words.strip()
        counted = answer.tokens or tokens(prompt) + tokens(text)  # many servers report none
        return Reply(text=text, tokens=counted, model=answer.model)

    async def _patiently(self, prompt: str) -> Answer:
        for pause in PAUSES:
            try:
                return await self._answer(prompt)
            except ModelBusy as busy:
                wanted = pause if busy.seconds is None else busy.seconds
                await asyncio.sleep(min(wanted, LONGEST_PAUSE))
        return await self._answer(prompt)

    async def _answer(self, prompt: str) -> Answer:
        return await self._chat.answer("", prompt, most_tokens=MOST_TOKENS, seconds=PATIENCE)


class Purse(Struct):
    """Counts the tokens of readers; without `spending` there is no limit."""

    spending: Spending | None = None
    calls: int = 0
    tokens: int = 0

    async def ask(self, reader: Reader, prompt: str, *, folder: Path | None = None) -> Reply:
        """Ask the reader. Raises TooManyAffected if a long answer could exceed the limit."""
        most = self.tokens + tokens(prompt) + MOST_TOKENS
        if self.spending is not None and not self.spending.allows(most):
            raise TooManyAffected(
                f"{self.calls} calls took {self.spent()}; the next one may be too much",
                field="max-tokens" if most > self.spending.tokens else "max-cost",
                fix="allow more and run it again: answers so far are kept and not paid for again",
            )
        reply = await reader.ask(prompt, folder=folder)
        self.calls += 1
        self.tokens += reply.tokens
        return reply

    def spent(self) -> str:
        """Return the spent tokens and cost as text."""
        cost = self.cost(self.tokens)
        return f"{self.tokens} tokens" + ("" if cost is None else f", which cost {cost:.4g}")

    def cost(self, tokens: int) -> float | None:
        """Return the cost of this many tokens, if a price is known."""
        return None if self.spending is None else self.spending.costs(tokens)

    def to_json(self) -> dict[str, Json]:
        return {"calls": self.calls, "tokens": self.tokens, "cost": self.cost(self.tokens)}


TELL = """Remember what follows: you will be asked about it later. Reply with "noted" only.

{texts}"""

_MOST = 50
"""The maximum number of turns in one prompt."""


def tellings(case: Case) -> list[str]:
    """Return the prompts that tell an agent a case: each session, a long one in parts."""
    results = []
    for _, items in groupby(case.items, key=lambda item: item.session):
        texts = [item.text for item in items]
        parts = (texts[start : start + _MOST] for start in range(0, len(texts), _MOST))
        results += [TELL.format(texts="\n".join(part)) for part in parts]
    return results


async def told(case: Case, agent: Reader, place: Path, purse: Purse) -> tuple[Path, int]:
    """Tell an agent the case; return its folder and the tokens it took.

    Prompts that it got before are skipped. Another agent or other prompts get another folder.
    """
    prompts = tellings(case)
    folder = place / f"{quote(case.id, safe='')}-{hash_text(agent.mark, *prompts)}"
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    log = place / f"{folder.name}.told"
    await asyncio.to_thread(log.touch)
    lines = map(json.loads, await asyncio.to_thread(whole_lines, log))
    done = {line["told"]: line.get("tokens", 0) for line in lines}
    for number, prompt in enumerate(prompts):
        if number not in done:
            reply = await purse.ask(agent, prompt, folder=folder)
            done[number] = reply.tokens
            await asyncio.to_thread(append, log, {"told": number, "tokens": reply.tokens})
    return folder, sum(done.values())
