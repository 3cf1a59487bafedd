"""A recall is written down before it is answered: it survives its process; what cannot be kept is refused."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memorywire.journal.ledger import read_entries
from memorywire.journal.recall_log import RecallBuffer, find_orphans
from memorywire.model.errors import InvalidRequest
from memorywire.model.proposal import RecallNote
from memorywire.model.record import DEFAULT_TENANT, Scope
from tests.gates.source import ROOT
from tests.journal.stores import run
from tests.sqlite.governed import a_house

RECALL_AND = """
import asyncio, os, resource, signal, sys
from pathlib import Path
from memorywire.app.dispatch import dispatch
from memorywire.model.errors import StoreUnavailable
from tests.sqlite.governed import a_house

async def ask(house, operation, **fields):
    return await dispatch(operation, {"agent_id": "agent", **fields}, house, tenant="default")

async def recall(house):
    found = await ask(house, "recall", query="what colour is the kettle? " + "\\u00e9" * 100)
    print(found.recall_id, flush=True)

def let_files_grow_to(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

async def main():
    path = Path(sys.argv[1])
    async with a_house(path) as house:
        await ask(house, "remember", type="semantic", content="the kettle is blue")
        {body}

asyncio.run(main())
"""
DIE = "os.kill(os.getpid(), signal.SIGKILL)"


def process(path: Path, *body: str) -> subprocess.CompletedProcess[str]:
    """A process of its own that remembers something and then does this."""
    code = RECALL_AND.replace("{body}", "\n        ".join(body))
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'packages/memorywire/src'}:{ROOT}"}
    return subprocess.run(
        [sys.executable, "-c", code, str(path)], env=environment, cwd=ROOT, capture_output=True, text=True
    )


def recalled(path: Path, *ids: str) -> list[bool]:
    """Whether the journal, opened anew, knows each of these recalls, and the ledger with it."""

    async def story() -> list[bool]:
        async with a_house(path) as container:
            assert container.journal is not None
            notes = [await container.journal.find_recall(DEFAULT_TENANT, id) for id in ids]
            told = await container.journal.backend.read(
                lambda db: [row.said.get("subject") for row in read_entries(db)]
            )
            return [note is not None and told.count(id) == 1 for note, id in zip(notes, ids, strict=True)]

    return run(story())


def test_a_recall_survives_its_process(tmp_path: Path):
    path = tmp_path / "m.db"
    done = process(path, "await recall(house)", "await recall(house)", DIE)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert recalled(path, *done.stdout.split()) == [True, True]
    assert recalled(path, "nobody asked this") == [False]
    assert list(tmp_path.glob("*-recalls-*")) == []


def test_what_a_living_process_noted_is_left_to_it(tmp_path: Path):
    journal = tmp_path / "m.db"
    spool = RecallBuffer(tmp_path / "m.db-recalls-1")
    spool.add(a_note("r1"))
    assert list(find_orphans(journal)) == []
    spool.close()
    (orphan,) = find_orphans(journal)
    assert [note.id for note in orphan.notes] == ["r1"]
    orphan.leave()
    (again,) = find_orphans(journal)
    again.bury()
    assert list(find_orphans(journal)) == []


def test_a_line_that_was_only_begun_was_never_answered(tmp_path: Path):
    path = tmp_path / "m.db"
    done = process(path, "await recall(house)", DIE)
    (left,) = tmp_path.glob("*-recalls-*")
    with left.open("ab") as file:
        file.write('{"id":"half","query":"é'.encode()[:-1])
    assert recalled(path, *done.stdout.split(), "half") == [True, False]


def test_a_recall_that_cannot_be_written_down_is_not_answered(tmp_path: Path):
    path = tmp_path / "m.db"
    refused = (
        "try: await recall(house)",
        "except StoreUnavailable as problem: print('refused:', problem)",
        "let_files_grow_to(resource.RLIM_INFINITY)",
        "await recall(house)",
    )
    for size in ("0", "60"):  # nothing fits, or half a line does
        done = process(path, f"let_files_grow_to({size})", *refused, DIE)
        first, second = done.stdout.splitlines()
        assert first.startswith("refused: the recall cannot be recorded")
        assert recalled(path, second) == [True]


def test_an_heir_brings_each_recall_once(tmp_path: Path):
    """A process may die after its recalls were written and before its file was emptied."""
    path = tmp_path / "m.db"
    done = process(path, "await recall(house)", DIE)
    (left,) = tmp_path.glob("*-recalls-*")
    copy = left.read_bytes()
    assert recalled(path, *done.stdout.split()) == [True]
    left.write_bytes(copy)
    assert recalled(path, *done.stdout.split()) == [True]


@pytest.mark.parametrize(
    "unspeakable",
    [{"hits": (("m1", 1, float("nan")),)}, {"query": "\ud800"}, {"caller": "\ud800"}],
    ids=["a score", "a query", "a caller"],
)
def test_a_note_that_has_no_spelling_is_refused_and_blocks_nothing_behind_it(
    tmp_path: Path, unspeakable: dict[str, Any]
):
    path = tmp_path / "m.db"

    async def story() -> None:
        async with a_house(path) as container:
            assert container.journal is not None
            with pytest.raises(InvalidRequest):
                container.journal.note_recall(replace(a_note("r1"), **unspeakable))
            container.journal.note_recall(a_note("r2"))
            await container.journal.settle()

    run(story())
    assert recalled(path, "r1", "r2") == [False, True]


def test_a_score_that_is_no_number_keeps_no_heir_from_opening(tmp_path: Path):
    path = tmp_path / "m.db"
    spool = RecallBuffer(tmp_path / "m.db-recalls-1")
    spool.add(replace(a_note("r1"), hits=(("m1", 1, 0.5), ("m2", 1, 0.25))))
    spool.close()
    (left,) = tmp_path.glob("*-recalls-*")
    left.write_bytes(left.read_bytes().replace(b"0.25", b"NaN"))
    (orphan,) = find_orphans(path)
    orphan.leave()
    assert [note.hits for note in orphan.notes] == [(("m1", 1, 0.5), ("m2", 1, 0.0))]
    assert recalled(path, "r1") == [True]


def a_note(id: str) -> RecallNote:
    return RecallNote(
        id=id, at=1, scope=Scope(agent="agent"), caller="ana", query="what?", verdict="no_match", hits=()
    )
