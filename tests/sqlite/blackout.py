"""Power cuts on a real file system: ext4 on a loop device, shut down in the middle of everything.

Everything that processes keep is on it: the database and its log, directory entries, the signing key, the
checkpoints, and the spools of recalls. `cut` is what `godown` of the file system tests does: the file system
stops at once, and what it had not written is gone. Needs root and loop devices.
"""

import asyncio
import dataclasses
import fcntl
import hashlib
import itertools
import json
import os
import random
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import apsw
from msgspec.structs import replace

from memorywire.app import Container
from memorywire.journal import ledger
from memorywire.journal.signer import Signer
from memorywire.journal.sqlite import SqliteSession
from memorywire.migrate.run_import import ImportRequest, import_memories
from memorywire.model.errors import MemorywireError
from memorywire.stores.sqlite.connection import Connect, connect
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.migrate import read_space
from memorywire.stores.sqlite.reembed import reembed
from memorywire_testing.samples import SPACE
from tests.sqlite import governed
from tests.sqlite.crowd import Damage, heard, killed_at_the_end, preload, start

_SHUT_DOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN
_NO_LOG_FLUSH = 2
_TRIES, _PAUSE = 100, 0.1
_SIZE = 96 * 1024 * 1024
_MODES = ("ordered", "writeback")  # in the second a file may have grown before its data is there
OTHER = replace(SPACE, revision=f"{SPACE.revision}-other")

preload(__name__)


@dataclass(frozen=True)
class Machine:
    """A disk and where it is mounted."""

    device: str
    folder: Path

    def on(self, mode: str = "ordered") -> None:
        """Mount the disk as it is after the cut.

        A process with mounts of its own (a browser) may keep the old file system alive for a moment.
        A mount then brings that one back, still shut down, and every file of it gives an I/O error.
        """
        for _ in range(_TRIES):
            _run("mount", "-o", f"commit=1,data={mode}", self.device, str(self.folder))
            if not self._is_shut_down():
                return
            self.off()
            time.sleep(_PAUSE)
        raise OSError(f"{self.device} stays shut down: another process holds its file system")

    def _is_shut_down(self) -> bool:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
        return any(words[1] == str(self.folder) and "shutdown" in words[3].split(",") for words in mounts)

    def cut(self) -> None:
        """Cut the power: nothing reaches the disk any more."""
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, _SHUT_DOWN, struct.pack("I", _NO_LOG_FLUSH))
        finally:
            os.close(handle)

    def off(self) -> None:
        _run("umount", str(self.folder))


@contextmanager
def a_machine(folder: Path) -> Iterator[Machine]:
    """A fresh disk, which keeps its device while it is off: another could be mounted before it is gone."""
    image = folder / "disk.img"
    with image.open("wb") as file:
        file.truncate(_SIZE)
    _run("mkfs.ext4", "-q", str(image))
    machine = Machine(_run("losetup", "--find", "--show", str(image)).strip(), folder / "disk")
    machine.folder.mkdir()
    try:
        machine.on()
        try:
            yield machine
        finally:
            machine.off()
    finally:
        _run("losetup", "--detach", machine.device)


def _run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def is_possible() -> bool:
    """Whether this machine lets us mount a file and shut it down."""
    try:
        with tempfile.TemporaryDirectory() as folder, a_machine(Path(folder)) as machine:
            machine.cut()
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def live_with_everything(path: Path, writer: str, how: Connect, pipe: Connection) -> None:
    """All verbs in turn, until the disk is gone; says what was acknowledged."""

    async def main() -> None:
        async with governed.a_house(path, how) as container:
            number = 0
            while True:
                name = f"{writer}n{number}"
                await governed.live(container, name, pipe.send)
                await _undo(container, name, pipe)
                await _import(container, name, pipe)
                await _sign(container, pipe, rotate=number % 3 == 2)
                number += 1

    with suppress(MemorywireError, OSError):  # the disk is gone
        asyncio.run(main())


async def _undo(container: Container, name: str, pipe: Connection) -> None:
    kept = await governed.ask(container, "remember", type="semantic", content=f"{name} regrets this")
    pipe.send(f"change {kept['change_id']}")
    done = await governed.ask(container, "undo", change_id=kept["change_id"])
    pipe.send(f"change {done['change_id']}")


async def _import(container: Container, name: str, pipe: Connection) -> None:
    with tempfile.TemporaryDirectory() as elsewhere:
        source = _a_source(Path(elsewhere, "memory.json"), name)
        answer = await import_memories(
            ImportRequest(path=source, agent=governed.AGENT), container.context, lambda *_: None
        )
    pipe.send(f"imported {answer['batch']} {answer['changes']}")


def _a_source(path: Path, name: str) -> Path:
    """A file of the MCP reference server with two memories."""
    said = [f"{name} brings {what}" for what in ("tea", "milk")]
    told = {"type": "entity", "name": name, "entityType": "person", "observations": said}
    path.write_text(json.dumps(told) + "\n")
    return path


async def _sign(container: Container, pipe: Connection, *, rotate: bool) -> None:
    journal = container.journal
    assert journal is not None
    assert journal.signer is not None
    note = await journal.sign(rotate=rotate)
    pipe.send(f"signed {_mark(note or '')}")


def _mark(note: str) -> str:
    return hashlib.sha256(note.strip().encode()).hexdigest()


def blackout(
    machine: Machine, path: Path, trial: int, writers: int, dice: random.Random, how: Connect = connect
) -> set[str]:
    """Let processes live, cut the power, start again; gives what they had acknowledged before the cut.

    What they say later does not count: a flush that is under way when the file system is shut down may report
    success for data that is gone, as a plain file shows that is written and flushed in a loop.
    """
    started = [start(live_with_everything, path, f"t{trial}w{writer}", how) for writer in range(writers)]
    processes, pipes = [process for process, _ in started], [pipe for _, pipe in started]
    with killed_at_the_end(processes):
        said = governed.listened(pipes, dice.randrange(1, 60))
        processes[0].join(dice.uniform(0, 0.02))
        said |= {deed for pipe in pipes for deed in _said_so_far(pipe)}
        machine.cut()
    for pipe in pipes:
        list(heard(pipe))
    machine.off()
    machine.on(dice.choice(_MODES))
    return said


def _said_so_far(pipe: Connection) -> Iterator[str]:
    with suppress(EOFError):
        while pipe.poll():
            yield pipe.recv()


def reembedding(path: Path, how: Connect, pipe: Connection) -> None:
    """Bring the file into the other space, and back, until the disk is gone."""

    steps = itertools.count()

    async def main() -> None:
        while True:
            for space in (OTHER, SPACE):
                await reembed(
                    f"sqlite://{path}",
                    space=space,
                    embed=_embedder(space.revision),
                    on_progress=pipe_progress,
                )
                pipe.send(f"step {next(steps)}: {space.revision}")

    def pipe_progress(done: int, total: int) -> None:
        pipe.send(f"step {next(steps)}: {done} of {total}")

    with suppress(MemorywireError, OSError, apsw.Error):
        asyncio.run(main())


def _embedder(revision: str) -> governed.Embed:
    async def embed(texts: governed.Texts) -> list[bytes]:
        return [governed.vector_of(text if revision == SPACE.revision else f"other {text}") for text in texts]

    return embed


def reembedded_blackout(machine: Machine, path: Path, dice: random.Random) -> list[str]:
    """Cut the power while vectors are made anew; gives what is wrong with the vectors afterwards."""
    process, pipe = start(reembedding, path, connect)
    with killed_at_the_end([process]):
        governed.listened([pipe], dice.randrange(1, 12))
        process.join(dice.uniform(0, 0.02))
        machine.cut()
    list(heard(pipe))
    machine.off()
    machine.on(dice.choice(_MODES))
    wrong = governed.wrong_vectors(path, other=_space_of(path) != SPACE.revision)
    back = reembed(
        f"sqlite://{path}", space=SPACE, embed=_embedder(SPACE.revision), on_progress=lambda *_: None
    )
    asyncio.run(back)
    return [*wrong, *governed.wrong_vectors(path, other=False)]


def _space_of(path: Path) -> str:
    db = apsw.Connection(str(path))
    try:
        space = read_space(db)
        return "" if space is None else space.revision
    finally:
        db.close()


def damage(path: Path, acknowledged: set[str]) -> Damage:
    """Compare the files with what they promised, once the next process has opened them.

    A recall waits for no disk, so the power may take those of the last moment.
    """
    governed.recovered(path)
    checked = {deed for deed in acknowledged if deed.split()[0] in ("change", "staged", "approved")}
    found = governed.damage(path, checked)
    return dataclasses.replace(
        found, lost=(*found.lost, *_lost_imports(path, acknowledged), *_lost_signatures(path, acknowledged))
    )


def _lost_imports(path: Path, acknowledged: set[str]) -> Iterator[str]:
    db = apsw.Connection(str(path))
    try:
        batches: dict[str, int] = {}
        for row in ledger.read_entries(SqliteSession(db)):
            if row.said["operation"] == "import" and row.said["kind"] == "committed":
                batch = row.said["details"]["batch"]
                batches[batch] = batches.get(batch, 0) + 1
    finally:
        db.close()
    for deed in acknowledged:
        word, *rest = deed.split()
        if word == "imported" and batches.get(rest[0], 0) < int(rest[1]):
            yield deed


def _lost_signatures(path: Path, acknowledged: set[str]) -> Iterator[str]:
    signer = Signer.beside(path)
    kept = {_mark(checkpoint.note.whole) for checkpoint in signer.load_checkpoints()[0]}
    for deed in acknowledged:
        word, *rest = deed.split()
        if word == "signed" and rest[0] not in kept:
            yield deed


def unsynced(location: Location) -> apsw.Connection:
    """A broken rule: the log is not flushed before a change is acknowledged."""
    db = connect(location)
    db.execute("PRAGMA synchronous = OFF")
    return db
