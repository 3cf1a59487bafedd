"""A process that asks one thing loads what it needs for that, and nothing that takes long beside it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.shell import Shell

_RUN = """
import atexit, dataclasses, json, sys
from pathlib import Path

def tell(file=sys.argv.pop(1)):
    ours = [module for name, module in sys.modules.items() if name.startswith("memorywire.")]
    eager = [one.__name__ for one in ours if getattr(one, "dataclass", None) is dataclasses.dataclass]
    Path(file).write_text(json.dumps({"modules": list(sys.modules), "eager": eager}))

atexit.register(tell)
from memorywire.cli import main
main()
"""

ENGINE = {
    "asyncio",
    "apsw",
    "memorywire.app",
    "memorywire.pipeline",
    "memorywire.client.sync",
}
ARRAYS = {"numpy"}
MODEL = {"memorywire_minilm.model"}
DOORS = {
    *("httpx", "starlette", "uvicorn", "mcp", "psycopg", "pydantic", "opentelemetry"),
    *("memorywire_server", "memorywire_consolidate", "memorywire.migrate", "memorywire_evals"),
    *("memorywire_testing", "memorywire_postgres.store", "memorywire.stores.remote"),
}
SLOW = {"importlib.resources", "importlib.metadata", "unittest", "jsonschema", "jsonschema_rs"}
GRAMMAR = {"memorywire.facts.reader", "memorywire.facts.retractions"}
SCHEMAS = {"memorywire.wire.spec.keywords"}
START = {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"}
PROMPT = {"hook_event_name": "UserPromptSubmit", "session_id": "t", "prompt": "what does Ana drink?"}


class Started:
    """What a process had loaded when it ended."""

    def __init__(self, home: Path, verb: str, *args: str, told: dict[str, str] | None = None) -> None:
        found = home / "loaded.json"
        done = subprocess.run(
            [sys.executable, "-c", _RUN, str(found), verb, *args],
            input=json.dumps(told or {}).encode(),
            capture_output=True,
            env=Shell(home).environment(),
        )
        assert done.returncode == 0, done.stderr.decode()
        said = json.loads(found.read_text())
        self.modules: set[str] = set(said["modules"])
        self.eager: list[str] = said["eager"]
        self.answer = done.stdout.decode()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a pinned memory, so that no opening is kept from before."""
    found = tmp_path_factory.mktemp("home")
    Started(found, "remember", "Ana drinks green tea", "--tag", "pinned")
    return found


def test_a_hook_that_copies_a_log_does_not_load_the_engine(home: Path) -> None:
    log = home / "log.jsonl"
    log.write_text('{"type": "user", "message": {"role": "user", "content": "I like tea"}}\n')
    told = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(log)}
    started = Started(home, "hook", told=told)
    assert list((home / "sessions").glob("*.spool"))
    assert not (ENGINE | ARRAYS | MODEL | DOORS | SLOW) & started.modules
    assert started.eager == []


def test_a_hook_that_opens_a_session_loads_neither_arrays_nor_other_doors(home: Path) -> None:
    started = Started(home, "hook", told=START)
    assert "Ana drinks green tea" in started.answer
    assert started.modules >= ENGINE
    assert not (ARRAYS | DOORS | SLOW) & started.modules
    assert started.eager == []


def test_keeping_a_memory_loads_the_model_and_no_arrays(home: Path) -> None:
    started = Started(home, "remember", "Ben takes the tram")
    assert started.modules >= ENGINE | MODEL
    assert not (ARRAYS | DOORS | SLOW | SCHEMAS | GRAMMAR) & started.modules
    assert started.eager == []


@pytest.mark.parametrize(
    ("words", "told"),
    [(("recall", "what does Ana drink?"), None), (("hook",), PROMPT)],
    ids=["recall", "prompt"],
)
def test_a_search_loads_arrays_and_no_other_doors(
    home: Path, words: tuple[str, ...], told: dict[str, str] | None
) -> None:
    started = Started(home, *words, told=told)
    assert "Ana drinks green tea" in started.answer
    assert started.modules >= ENGINE | MODEL | ARRAYS
    assert not (DOORS | GRAMMAR) & started.modules
    assert started.eager == []


def test_the_list_of_commands_loads_no_engine(home: Path) -> None:
    """It names the commands of every package, so each of their modules is loaded."""
    started = Started(home, "--help")
    assert "drift" not in started.answer  # a command of a group, whose module is loaded all the same
    assert "memorywire_evals.commands.drift" in started.modules
    assert not (ENGINE | ARRAYS | MODEL | GRAMMAR) & started.modules
