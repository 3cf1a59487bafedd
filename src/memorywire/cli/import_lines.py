"""`memorywire import-lines`: many memories at once, one a line."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

import click

from memorywire.cli.desk import Answer, Desk, listing, shared
from memorywire.cli.inputs import TYPES, decoded
from memorywire.cli.problems import REFUSED, problem_lines
from memorywire.cli.screen import Progress
from memorywire.model.answers import Remembered, Status
from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire.model.record import Json

if TYPE_CHECKING:
    from memorywire.sync import Memory

_BATCH = 512

Line = tuple[int, bytes]


@dataclass(slots=True)
class Tally:
    """What became of the lines so far."""

    committed: int = 0
    duplicate: int = 0
    failed: list[tuple[int, MemorywireError]] = field(default_factory=list)

    def count(self, line: int, result: Remembered | MemorywireError) -> None:
        if isinstance(result, MemorywireError):
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
            "failed": [{"line": line, "problem": error.problem()} for line, error in failed],
        }


@click.command("import-lines")
@click.argument("file", type=click.File("rb"))
@click.option("--type", "type_", type=TYPES, default="semantic", show_default=True, help="Kind of memory.")
@click.option("--source", metavar="TEXT", help="Who or what said so.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A label for every line; repeatable.")
@click.option("--session", "session_id", metavar="ID", help="The session they come from.")
@shared
def command(
    desk: Desk, file: BinaryIO, type_: str, source: str | None, tags: tuple[str, ...], session_id: str | None
) -> None:
    """Remember every line of FILE, or of standard input for `-`.

    A line that starts with `{` is a JSON object with the fields of a remember request; what it leaves
    out is taken from the options. Empty lines are passed over.
    """
    defaults = desk.payload(type=type_, source=source, tags=listing(tags), session_id=session_id)
    tally, position = Tally(), 0
    with desk.memory() as memory, Progress("importing", _size(file)) as progress:
        lines = enumerate(file, start=1)
        while batch := list(islice(lines, _BATCH)):
            _remember(memory, batch, defaults, tally)
            position += sum(len(line) for _, line in batch)
            progress.reached(position, f"{tally.done} lines")
    desk.show(tally.answer(), sentences)
    if tally.failed:
        raise click.exceptions.Exit(REFUSED)


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
    results = memory.remember_many([request for _, request in requests])
    for (number, _), result in zip(requests, results, strict=True):
        tally.count(number, result)


def _requests(line: bytes, defaults: Answer) -> Iterator[Answer]:
    """The request a line stands for; none for an empty one."""
    text = decoded(line, field="content").strip()
    if text.startswith("{"):
        yield {**defaults, **_object(text)}
    elif text:
        yield {**defaults, "content": text}


def _object(text: str) -> dict[str, Json]:
    from memorywire.wire.strict import parse

    value = parse(text)
    if not isinstance(value, dict):
        raise InvalidRequest("a line that starts with { must be one JSON object")
    return value


def sentences(answer: Answer) -> Iterator[str]:
    failed = answer["failed"]
    yield f"remembered {answer['committed']}, already known {answer['duplicate']}, failed {len(failed)}"
    for fault in failed:
        first, *rest = problem_lines(fault["problem"], as_json=False)
        yield f"line {fault['line']}: {first}"
        yield from rest
