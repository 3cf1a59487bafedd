"""`memorywire demo`: a tour with real calls on a temporary store."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.terminal import clean, format_time
from memorywire.model.record import Json
from memorywire.model.secrets import url_path

if TYPE_CHECKING:
    from memorywire.app import Settings
    from memorywire.client.sync import Memory


_MEMORIES: tuple[dict[str, Json], ...] = (
    {"type": "semantic", "content": "Ana prefers green tea to coffee", "source": "chat"},
    {"type": "semantic", "content": "Deployments happen on Tuesdays after the stand-up", "source": "notes"},
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
_QUESTIONS = (
    _TEA,
    "on which day do we deploy new code?",
    "why was a release reverted?",
    "how can the website be rebooted?",
    "which food is dangerous for Ben?",
)
_UNKNOWN = "which telescope discovered the ninth planet?"


@click.command("demo")
@shared
def demo_command(cli: CliContext) -> None:
    """Show remember, recall, forget and undo on a new store.

    The calls are real. Your own data is not touched: the store is in a temporary folder and is deleted at the
    end.
    """
    with open_temporary(cli, agent="demo") as (place, settings), cli.with_settings(settings) as demo:
        story = Story(demo.memory(), quiet=cli.as_json)
        story.say(f"An agent's memory in one file: {place}")
        first = story.remember()
        story.recall()
        story.correct(first)
        story.forget(first)
        story.receipts(first)
    if cli.as_json:
        cli.print_json(story.calls)
        return
    path = Path(sys.argv[0]).absolute()
    command = str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
    if shutil.which("memorywire"):
        command = "memorywire"
    elif path.name == "__main__.py":
        command = "python -m memorywire"
    click.echo(_CLOSING.format(command=command))


_CLOSING = """
The file is gone again. Your own memory is one command away:
   {command} remember "the first thing to know about me"
   {command} recall "what do you know about me?"
   {command} --help"""


@contextmanager
def open_temporary(cli: CliContext, **settings: Any) -> Iterator[tuple[Path, "Settings"]]:
    """Yield a file in a temporary folder, and settings with a store in it; the user's own is not touched."""
    if cli.options:
        raise click.UsageError(f"the demo has its own store and agents: leave out {cli.options[0]}")
    with tempfile.TemporaryDirectory(prefix="memorywire-demo-") as folder:
        place = Path(folder, "memory.db")
        store = f"sqlite://{url_path(place)}"
        yield place, replace(cli.settings, stores=(store,), user=None, embedder="minilm", **settings)


class Story:
    """Calls the memory, prints the answers, and records the calls."""

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
        self.say("\n1. Remember: facts, an episode, a procedure, and a duplicate")
        receipts = [self.call("remember", **memory) for memory in _MEMORIES]
        for memory, receipt in zip(_MEMORIES, receipts, strict=True):
            self.say(f"   {receipt['status']:9}  {memory['type']:10}  {clean(memory['content'])}")
        return str(receipts[0]["id"])

    def recall(self) -> None:
        self.say("\n2. Recall, in other words")
        for question in _QUESTIONS:
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
        self.say("\n4. Correct a memory: a new version, if it is still at version 1")
        receipt = self.call(
            "remember", type="semantic", content="Ana prefers black tea to coffee", id=id, if_version=1
        )
        self.say(f"   {receipt['status']}  version {receipt['version']} of {id}")
        self.ask(_TEA)

    def forget(self, id: str) -> None:
        self.say("\n5. Forget it, and undo that")
        receipt = self.call("forget", ids=[id], reason="part of the demo")
        self.say(f"   {receipt['status']}  forgot {receipt['forgotten_ids'][0]}")
        self.ask(_TEA)
        undo = self.call("undo", change_id=receipt["change_id"])
        self.say(f"   {undo['status']}  restored {undo['restored_ids'][0]}")
        self.ask(_TEA)

    def receipts(self, id: str) -> None:
        self.say("\n6. Receipts: the newest changes, and every version of that memory")
        for change in self.call("changes", limit=4)["changes"]:
            why = f"undoes {change['undoes']}" if "undoes" in change else change.get("reason", "")
            self.say(f"   {change['id']}  {change['operation']:9} {why}".rstrip())
        for version in self.call("history", id=id)["versions"]:
            end = "current"
            if "ended_at" in version:
                end = f"{version['reason']} {format_time(version['ended_at'])}"
            self.say(f"   version {version['number']}  {version['record']['content']}  ({end})")
