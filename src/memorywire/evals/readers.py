"""Whoever reads what was recalled and answers: a model behind an endpoint, or any command."""

import asyncio
import json
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Protocol
from urllib.parse import SplitResult, parse_qs, urlsplit

from memorywire.engine.extract.chat import dialect
from memorywire.evals.metrics import tokens
from memorywire.evals.results import hashed
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.retrieval.embed.openai import retry_after

COMMAND = "cmd:"
FIX = 'use "openai+https://HOST/v1?model=NAME", "anthropic+https://HOST/v1?model=NAME" or "cmd:COMMAND"'
MOST_TOKENS = 400
PATIENCE = 300.0

BUSY = frozenset((429, 502, 503, 504, 529))
"""What a server that is asked too much says: the same question may be answered later."""

PAUSES = (1.0, 5.0, 15.0, 60.0)
"""Seconds before a busy server is asked again, where it does not say itself how long it wants."""

LONGEST_PAUSE = 120.0

KEYS = {
    "reader": "MEMORYWIRE_READER_KEY",
    "judge": "MEMORYWIRE_JUDGE_KEY",
    "reference": "MEMORYWIRE_REFERENCE_KEY",
    "target": "MEMORYWIRE_TARGET_KEY",
}
"""Where the key of each role is taken from."""

FOLDER = "MEMORYWIRE_AGENT_FOLDER"
MEMORY = "MEMORYWIRE_AGENT_MEMORY"


class ReaderFailed(Exception):
    """The model or the command did not answer; what was answered before is kept."""


class _Busy(ReaderFailed):
    """It may answer after so many seconds, if it said how many."""

    def __init__(self, detail: str, seconds: float | None) -> None:
        super().__init__(detail)
        self.seconds = seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What was said, and what it cost in tokens, estimated where the reader does not say."""

    text: str
    tokens: int


class Reader(Protocol):
    """Answers a prompt."""

    @property
    def name(self) -> str:
        """The model's id, or the program: what results record."""
        ...

    @property
    def mark(self) -> str:
        """A hash that tells it from every other: two servers may call their models the same."""
        ...

    async def ask(self, prompt: str, *, folder: Path | None = None) -> Reply:
        """A program may keep what it wants to remember in the folder; a model has no use for it."""
        ...


def open_reader(spec: str, *, key: str | None) -> Reader:
    """The reader a URL or a command names; nothing is asked yet."""
    if spec.startswith(COMMAND):
        return Command(spec.removeprefix(COMMAND))
    parts = urlsplit(spec)
    speaks, _, scheme = parts.scheme.partition("+")
    models = parse_qs(parts.query).get("model", [])
    if speaks not in ("openai", "anthropic") or scheme not in ("http", "https") or len(models) != 1:
        raise InvalidRequest(f"no reader is called {spec.partition('?')[0]!r}", field="reader", fix=FIX)
    return Endpoint(parts._replace(scheme=scheme), speaks, models[0], key)


def keys(specs: Mapping[str, str | None], environment: Mapping[str, str]) -> dict[str, str | None]:
    """The key of each role: its own, or the reader's at one host, that of the first who has one.

    A key of one server is so never shown to another.
    """
    hosts = {role: _host(spec) for role, spec in specs.items()}
    home = next(filter(None, hosts.values()), None)
    shared = environment.get(KEYS["reader"])
    return {
        role: environment.get(KEYS[role]) or (shared if host == home else None)
        for role, host in hosts.items()
    }


def _host(spec: str | None) -> str:
    """Host and port of an endpoint; nothing of a program, or of nobody."""
    return "" if spec is None or spec.startswith(COMMAND) else urlsplit(spec).netloc.rpartition("@")[2]


class Command:
    """A program that reads the prompt on standard input and prints its answer.

    It finds a folder in MEMORYWIRE_AGENT_FOLDER: one that lasts where it is to use a memory of its own, as
    MEMORYWIRE_AGENT_MEMORY says (`on` or `off`), else an empty one that is removed afterwards. The keys of
    the other readers are kept from it.
    """

    def __init__(self, line: str) -> None:
        try:
            self._words = shlex.split(line)
        except ValueError as error:
            raise InvalidRequest(f"the command cannot be read: {error}", field="reader", fix=FIX) from error
        if not self._words:
            raise InvalidRequest("the command is empty", field="reader", fix=FIX)
        self.name = self._words[0]
        self.mark = hashed(*self._words)

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
            process.kill()
            raise ReaderFailed(f"{self.name} gave no answer in {PATIENCE:g} s") from error
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
    """A model behind OpenAI's `/chat/completions` or Anthropic's `/messages`, or what speaks like them."""

    def __init__(self, url: SplitResult, speaks: str, model: str, key: str | None) -> None:
        self.name = model
        self.mark = hashed(speaks, url.netloc.rpartition("@")[2], url.path.rstrip("/"), model)
        self._url = url
        self._dialect = dialect(speaks)
        self._headers = {"Content-Type": "application/json", **self._dialect.headers(key)}
        self._limits: dict[str, Json] = {"max_tokens": MOST_TOKENS, "temperature": 0}

    async def ask(self, prompt: str, *, folder: Path | None = None) -> Reply:
        body = {"model": self.name, "messages": [{"role": "user", "content": prompt}]}
        answer = await self._patiently(body)
        try:
            return self._read(answer, prompt)
        except (AttributeError, KeyError, IndexError, TypeError) as error:
            raise ReaderFailed(f"{self._url.hostname} gave an answer of another shape: {error!r}") from error

    async def _patiently(self, body: Mapping[str, Json]) -> Json:
        for pause in PAUSES:
            try:
                return await asyncio.to_thread(self._answer, body)
            except _Busy as busy:
                wanted = pause if busy.seconds is None else busy.seconds
                await asyncio.sleep(min(wanted, LONGEST_PAUSE))
        return await asyncio.to_thread(self._answer, body)

    def _answer(self, body: Mapping[str, Json]) -> Json:
        status, said, wait = self._post(json.dumps({**body, **self._limits}).encode())
        while status == 400 and self._given_up(said):
            status, said, wait = self._post(json.dumps({**body, **self._limits}).encode())
        if status in BUSY:
            raise _Busy(f"{self._url.hostname} stayed busy, it answered {status}", retry_after(wait))
        if status != 200:  # the body may repeat the key
            raise ReaderFailed(f"{self._url.hostname} answered {status}: check its address, model and key")
        try:
            return json.loads(said)
        except ValueError as error:
            raise ReaderFailed(f"{self._url.hostname} did not answer in JSON: {error}") from error

    def _given_up(self, complaint: bytes) -> bool:
        """Whether a limit the model complains of was taken back or put in its words, for good."""
        if "max_tokens" in self._limits and b"max_completion_tokens" in complaint:
            self._limits["max_completion_tokens"] = self._limits.pop("max_tokens")
            return True
        return b"temperature" in complaint and self._limits.pop("temperature", None) is not None

    def _post(self, body: bytes) -> tuple[int, bytes, str | None]:
        """Status, body, and how long it wants to be left alone."""
        kind = HTTPSConnection if self._url.scheme == "https" else HTTPConnection
        connection = kind(self._url.hostname or "", self._url.port, timeout=PATIENCE)
        path = self._url.path.rstrip("/") + self._dialect.path
        try:
            connection.request("POST", path, body, self._headers)
            response = connection.getresponse()
            return response.status, response.read(), response.getheader("Retry-After")
        except (OSError, HTTPException) as error:
            raise ReaderFailed(f"{self._url.hostname} did not answer: {error}") from error
        finally:
            connection.close()

    def _read(self, answer: Json, prompt: str) -> Reply:
        """A model that says nothing, or refuses, has given an empty answer; many servers count no tokens."""
        text = (self._dialect.words(answer) or "").strip()
        return Reply(text=text, tokens=self._dialect.counted(answer) or tokens(prompt) + tokens(text))
