"""`memorywire import-lines`: many memories at once, one a line."""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, BinaryIO

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.inputs import TYPES, decoded
from memorywire.cli.problems import INTERRUPTED, REFUSED, STORE_FAILURE, problem_lines
from memorywire.cli.terminal import Progress
from memorywire.model.answers import Remembered, Status
from memorywire.model.counting import counted
from memorywire.model.errors import EmbedderFailed, MemorywireError, StoreError

if TYPE_CHECKING:
    from memorywire.client.sync import Memory

_BATCH = 128
"""As many as the client embeds at once, so that a failure loses count of none that were kept."""

Line = tuple[int, bytes]


@dataclass(slots=True)
class Tally:
    """What became of the lines so far."""

    committed: int = 0
    duplicate: int = 0
    failed: list[tuple[int, MemorywireError]] = field(default_factory=list)
    stopped: tuple[int, MemorywireError] | None = None
    """The first line that could not be kept through no fault of its own."""
    interrupted: bool = False

    def count(self, line: int, result: Remembered | MemorywireError) -> None:
        if isinstance(result, StoreError | EmbedderFailed):
            self.stopped = self.stopped or (line, result)
        elif isinstance(result, MemorywireError):
            self.failed.append((line, result))
        elif result.status is Status.DUPLICATE:
            self.duplicate += 1
        else:
            self.committed += 1

    @property
    def done(self) -> int:
        return self.committed + self.duplicate + len(self.failed)

    def answer(self) -> Answer:
        failed = sorted(self.failed, key=lambda fault: fault[0])
        return {
            "committed": self.committed,
            "duplicate": self.duplicate,
            "failed": [_fault(line, error) for line, error in failed],
            **({"stopped": _fault(*self.stopped)} if self.stopped else {}),
            **({"interrupted": True} if self.interrupted else {}),
        }

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return INTERRUPTED
        if self.stopped:
            return STORE_FAILURE
        return REFUSED if self.failed else 0


def _fault(line: int, error: MemorywireError) -> Answer:
    return {"line": line, "problem": error.problem()}


@click.command("import-lines")
@click.argument("file", type=click.File("rb"))
@click.option("--type", "type_", type=TYPES, default="semantic", show_default=True, help="Kind of memory.")
@click.option("--source", metavar="TEXT", help="Who or what said so.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A label for every line; repeatable.")
@click.option("--session", "session_id", metavar="ID", help="The session they come from.")
@shared
def command(
    cli: CliContext,
    file: BinaryIO,
    type_: str,
    source: str | None,
    tags: tuple[str, ...],
    session_id: str | None,
) -> None:
    """Remember every line of FILE, or of standard input for `-`.

    A line that starts with `{` is a JSON object with the fields of a remember request; what it leaves
    out is taken from the options. Empty lines are passed over. A line that is wrong does not stop the
    others; a store that fails does. Importing the same file again goes on where it stopped.
    """
    defaults = cli.payload(type=type_, source=source, tags=list(tags), session_id=session_id)
    tally = Tally()
    with cli.memory() as memory, Progress("importing", _size(file)) as progress:
        try:
            _import(memory, file, defaults, tally, progress)
        except KeyboardInterrupt:
            tally.interrupted = True
    cli.show(tally.answer(), sentences)
    raise click.exceptions.Exit(tally.exit_code)


def _import(memory: "Memory", file: BinaryIO, defaults: Answer, tally: Tally, progress: Progress) -> None:
    position, lines = 0, enumerate(file, start=1)
    while not tally.stopped and (batch := list(islice(lines, _BATCH))):
        with _unbroken():
            _remember(memory, batch, defaults, tally)
        position += sum(len(line) for _, line in batch)
        progress.reached(position, counted(tally.done, "line"))


@contextmanager
def _unbroken() -> Iterator[None]:
    """Delay a Ctrl-C until the batch in hand is kept, so that the count is right; a second acts at once."""
    heard = False

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        if heard:
            raise KeyboardInterrupt
        heard = True

    before = signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        raise KeyboardInterrupt


def _size(file: BinaryIO) -> int | None:
    """How long the import is, when it is a file and not a pipe."""
    return os.fstat(file.fileno()).st_size or None


def _remember(memory: "Memory", batch: Iterable[Line], defaults: Answer, tally: Tally) -> None:
    requests: list[tuple[int, Answer]] = []
    for number, line in batch:
        try:
            requests.extend((number, request) for request in _requests(line, defaults))
        except MemorywireError as error:
            tally.count(number, error)
    try:
        results = memory.remember_many([request for _, request in requests])
    except (StoreError, EmbedderFailed) as error:
        tally.stopped = (requests[0][0], error)
        return
    for (number, _), result in zip(requests, results, strict=True):
        tally.count(number, result)


def _requests(line: bytes, defaults: Answer) -> Iterator[Answer]:
    """The request a line stands for; none for an empty one."""
    from memorywire.wire.strict import parse

    text = decoded(line, field="content").strip()
    if text.startswith("{"):
        yield {**defaults, **parse(text)}
    elif text:
        yield {**defaults, "content": text}


def sentences(answer: Answer) -> Iterator[str]:
    failed = answer["failed"]
    yield f"remembered {answer['committed']}, already known {answer['duplicate']}, failed {len(failed)}"
    for fault in failed:
        first, *rest = problem_lines(fault["problem"], as_json=False)
        yield f"line {fault['line']}: {first}"
        yield from rest
    if "stopped" in answer:
        first, *rest = problem_lines(answer["stopped"]["problem"], as_json=False)
        yield f"stopped at line {answer['stopped']['line']}: {first}"
        yield from rest
    if "interrupted" in answer:
        yield "stopped by Ctrl-C; importing the same file again goes on from here"
