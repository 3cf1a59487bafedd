"""`memorywire demo`: a short story on a store of its own, told with real calls."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.terminal import moment, safe
from memorywire.model.record import Json

if TYPE_CHECKING:
    from memorywire.client.sync import Memory

_TOLD: tuple[dict[str, Json], ...] = (
    {"type": "semantic", "content": "Ana prefers green tea to coffee", "source": "chat"},
    {
        "type": "semantic",
        "content": "Deployments happen on Tuesdays after the stand-up",
        "source": "notes",
    },
    {"type": "semantic", "content": "Ben is allergic to peanuts", "source": "chat"},
    {
        "type": "episodic",
        "content": "The May release was rolled back because the cache filled the disk",
        "occurred_at": 1_778_544_000_000,
        "tags": ["incident"],
    },
    {
        "type": "procedural",
        "content": "To restart the site: stop the workers, clear the queue, start the web process",
    },
    {"type": "semantic", "content": "Ana  prefers green tea\nto coffee", "source": "user"},
)
_TEA = "which beverage should I offer Ana?"
_ASKED = (
    _TEA,
    "on which day do we deploy new code?",
    "why was a release reverted?",
    "how can the website be rebooted?",
    "which food is dangerous for Ben?",
)
_UNKNOWN = "which telescope discovered the ninth planet?"


@click.command("demo")
@shared
def command(cli: CliContext) -> None:
    """Tell a short story on a fresh store.

    Remember, recall, forget, undo, receipts: real calls, nothing prepared. Your own data is not
    touched: the story's file is in a temporary folder and is deleted at the end.
    """
    if cli.typed:
        raise click.UsageError(f"the story has a file and an agent of its own: leave out {cli.typed[0]}")
    with _fresh(cli) as (place, memory):
        story = Story(memory, quiet=cli.as_json)
        story.say(f"An agent's memory in one file: {place}")
        first = story.remember()
        story.recall()
        story.correct(first)
        story.forget(first)
        story.receipts(first)
    if cli.as_json:
        cli.print_json(story.calls)
    else:
        click.echo(_ending())


@contextmanager
def _fresh(cli: CliContext) -> Iterator[tuple[Path, "Memory"]]:
    with tempfile.TemporaryDirectory(prefix="memorywire-demo-") as folder:
        place = Path(folder, "memory.db")
        settings = replace(
            cli.settings,
            stores=(f"sqlite://{quote(str(place))}",),
            agent="demo",
            user=None,
            embedder="minilm",
        )
        with cli.under(settings).memory() as memory:
            yield place, memory


class Story:
    """Calls the memory, tells what came back, and keeps the calls."""

    def __init__(self, memory: "Memory", *, quiet: bool) -> None:
        self._memory = memory
        self._quiet = quiet
        self.calls: list[dict[str, Json]] = []

    def say(self, line: str) -> None:
        if not self._quiet:
            click.echo(line)

    def call(self, operation: str, **fields: Json) -> Answer:
        payload = {"agent_id": "demo", **fields}
        response = self._memory.call(operation, payload)
        self.calls.append({"operation": operation, "payload": payload, "response": response})
        return response

    def remember(self) -> str:
        self.say("\n1. Remember: facts, an episode, a procedure, and one thing said twice")
        receipts = [self.call("remember", **told) for told in _TOLD]
        for told, receipt in zip(_TOLD, receipts, strict=True):
            self.say(f"   {receipt['status']:9}  {told['type']:10}  {safe(told['content'])}")
        return str(receipts[0]["id"])

    def recall(self) -> None:
        self.say("\n2. Recall, in other words than those that were remembered")
        for question in _ASKED:
            self.ask(question)
        self.say("\n3. A question that nothing in memory answers")
        self.ask(_UNKNOWN)

    def ask(self, question: str) -> None:
        answer = self.call("recall", query=question, k=1)
        self.say(f"   ? {question}")
        for hit in answer["results"]:
            self.say(f"     {hit['score']:.2f}  {hit['content']}")
        if not answer["results"]:
            self.say(f"     ({answer['verdict']}: nothing)")

    def correct(self, id: str) -> None:
        self.say("\n4. Correct a memory: a new version, if nobody was faster")
        receipt = self.call(
            "remember", type="semantic", content="Ana prefers black tea to coffee", id=id, if_version=1
        )
        self.say(f"   {receipt['status']}  version {receipt['version']} of {id}")
        self.ask(_TEA)

    def forget(self, id: str) -> None:
        self.say("\n5. Forget it, and change your mind")
        receipt = self.call("forget", ids=[id], reason="the demo asks for it")
        self.say(f"   {receipt['status']}  forgot {receipt['forgotten_ids'][0]}")
        self.ask(_TEA)
        undone = self.call("undo", change_id=receipt["change_id"])
        self.say(f"   {undone['status']}  restored {undone['restored_ids'][0]}")
        self.ask(_TEA)

    def receipts(self, id: str) -> None:
        self.say("\n6. The receipts: every change, newest first, and the past of that one memory")
        for change in self.call("changes", limit=4)["changes"]:
            why = f"undoes {change['undoes']}" if "undoes" in change else change.get("reason", "")
            self.say(f"   {change['id']}  {change['operation']:9} {why}".rstrip())
        for version in self.call("history", id=id)["versions"]:
            ended = (
                f"{version['reason']} {moment(version['ended_at'])}" if "ended_at" in version else "current"
            )
            self.say(f"   version {version['number']}  {version['record']['content']}  ({ended})")


def _ending() -> str:
    command = "memorywire" if shutil.which("memorywire") else _own_path()
    return f"""
The file is gone again. Your own memory is one command away:
   {command} remember "the first thing to know about me"
   {command} recall "what do you know about me?"
   {command} --help"""


def _own_path() -> str:
    """The command as it can be typed from here, when it is not on the path."""
    path = Path(sys.argv[0]).absolute()
    if path.name == "__main__.py":
        return "python -m memorywire"
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
