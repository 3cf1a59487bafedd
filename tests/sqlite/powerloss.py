"""A disk that can lose power: everything written through it is recorded, and crash images are made of it.

What a file had at its last sync is safe. Of what was written later, any part may have reached the
disk, in any order, torn at sectors. (An honest sync and 512-byte sectors are assumed.)
"""

import itertools
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import apsw

from memorywire.stores.sqlite.connection import Connect, configure
from memorywire.stores.sqlite.location import Location

D = TypeVar("D")
SECTOR = 512
_NAMES = itertools.count()


@dataclass(frozen=True, slots=True)
class Written:
    file: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncated:
    file: str
    size: int


@dataclass(frozen=True, slots=True)
class Synced:
    file: str


@dataclass(frozen=True, slots=True)
class Deleted:
    file: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    name: str


Event = Written | Truncated | Synced | Deleted | Acknowledged


@dataclass(slots=True)
class Disk:
    """The recording of a disk's life; one of its later calls can be made to fail."""

    events: list[Event] = field(default_factory=list)
    calls_until_failure: int | None = None
    failed: bool = False

    def acknowledge(self, name: str) -> None:
        self.events.append(Acknowledged(name))

    def may_fail(self) -> None:
        """Called before anything reaches the file."""
        if self.calls_until_failure is None:
            return
        self.calls_until_failure -= 1
        if self.calls_until_failure == 0:
            self.failed = True
            raise apsw.IOError("the disk said no")


class _File(apsw.VFSFile):
    """A file whose writes, truncations and syncs are recorded."""

    def __init__(self, disk: Disk, name: apsw.URIFilename | str, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self.disk = disk
        self.name = Path(name if isinstance(name, str) else name.filename()).name


class _Vfs(apsw.VFS):
    """The operating system's files, seen through a recording disk."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.vfs_name = f"recorded{next(_NAMES)}"
        super().__init__(self.vfs_name, "")


def _write(file: _File, data: bytes, offset: int) -> None:
    file.disk.may_fail()
    apsw.VFSFile.xWrite(file, data, offset)
    file.disk.events.append(Written(file.name, offset, bytes(data)))


def _truncate(file: _File, size: int) -> None:
    file.disk.may_fail()
    apsw.VFSFile.xTruncate(file, size)
    file.disk.events.append(Truncated(file.name, size))


def _sync(file: _File, flags: int) -> None:
    file.disk.may_fail()
    apsw.VFSFile.xSync(file, flags)
    file.disk.events.append(Synced(file.name))


def _open(vfs: _Vfs, name: apsw.URIFilename | str | None, flags: list[int]) -> apsw.VFSFile:
    return apsw.VFSFile("", name, flags) if name is None else _File(vfs.disk, name, flags)


def _delete(vfs: _Vfs, name: str, sync: bool) -> None:
    apsw.VFS.xDelete(vfs, name, sync)
    vfs.disk.events.append(Deleted(Path(name).name))


# The engine calls these by names that are not spelled the Python way.
_METHODS = {
    _File: {"xWrite": _write, "xTruncate": _truncate, "xSync": _sync},
    _Vfs: {"xOpen": _open, "xDelete": _delete},
}
for _kind, _methods in _METHODS.items():
    for _name, _method in _methods.items():
        setattr(_kind, _name, _method)


@contextmanager
def recording(disk: Disk, *settings: str) -> Iterator[Connect]:
    """How to connect through the disk, with these settings on top of the store's own."""
    vfs = _Vfs(disk)

    def through_disk(location: Location) -> apsw.Connection:
        db = configure(apsw.Connection(os.fspath(location.path or ""), vfs=vfs.vfs_name), location)
        for setting in settings:
            db.execute(f"PRAGMA {setting}").fetchall()
        return db

    yield through_disk
    vfs.unregister()


def crash_image(events: list[Event], folder: Path, dice: random.Random) -> set[str]:
    """Write the files as they might be after a power cut behind these events; give what was acknowledged."""
    files: dict[str, bytearray] = {}
    for name in {event.file for event in events if not isinstance(event, Acknowledged)}:
        content = _survivor([e for e in events if getattr(e, "file", None) == name], dice)
        if content is not None:
            files[name] = content
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return {event.name for event in events if isinstance(event, Acknowledged)}


def power_cuts(
    folder: Path,
    events: list[Event],
    images: int,
    dice: random.Random,
    examine: Callable[[Path, set[str]], D],
) -> list[D]:
    """What an examination finds after power cuts at random moments since the first acknowledged change."""
    first = next(n for n, event in enumerate(events) if isinstance(event, Acknowledged))
    found = []
    for number in range(images):
        image = folder / f"image{number}"
        acknowledged = crash_image(events[: dice.randrange(first, len(events)) + 1], image, dice)
        found.append(examine(image / "m.db", acknowledged))
    return found


def _survivor(events: list[Event], dice: random.Random) -> bytearray | None:
    content: bytearray | None = None
    last_sync = max((n for n, event in enumerate(events) if isinstance(event, Synced | Deleted)), default=-1)
    for event in events[: last_sync + 1]:
        content = _applied(content, event)
    later = events[last_sync + 1 :]
    luck = dice.choice(["nothing", "everything", "some", "some"])
    if luck == "nothing":
        return content
    if luck == "some":
        later = [part for event in dice.sample(later, len(later)) for part in _torn(event, dice)]
    for event in later:
        content = _applied(content, event)
    return content


def _torn(event: Event, dice: random.Random) -> list[Event]:
    """The sectors of a write that reached the disk; a truncation does, or does not."""
    if not isinstance(event, Written):
        return [event] if dice.random() < 0.5 else []
    sectors = range(0, len(event.data), SECTOR)
    return [
        Written(event.file, event.offset + start, event.data[start : start + SECTOR])
        for start in sectors
        if dice.random() < 0.5
    ]


def _applied(content: bytearray | None, event: Event) -> bytearray | None:
    content = content if content is not None else bytearray()
    match event:
        case Written(_, offset, data):
            content.extend(bytes(max(0, offset + len(data) - len(content))))
            content[offset : offset + len(data)] = data
        case Truncated(_, size):
            content = (content + bytes(max(0, size - len(content))))[:size]
        case Deleted():
            return None
    return content
