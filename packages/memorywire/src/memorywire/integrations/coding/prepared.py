"""The opening of the next session, made beforehand: good as long as no file it was made of has changed.

Every write goes through the journal, so a memory that changed shows in the file that holds the journal.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from memorywire.integrations.coding.hosts import Briefing
from memorywire.integrations.coding.sessions import write_whole

_RELATIVE = ("sqlite:///./", "sqlite:///../")
_GOOD_FOR_MS = 6 * 3_600_000


def circumstances(env: Mapping[str, str], typed: Sequence[str]) -> str:
    """A digest of what decides which memory is meant: the environment's settings and typed options."""
    named = sorted((name, value) for name, value in env.items() if name.startswith("MEMORYWIRE_"))
    return hashlib.blake2b(json.dumps([named, list(typed)]).encode(), digest_size=16).hexdigest()


def files_of(stores: Sequence[str], config: Path) -> list[Path] | None:
    """The files that change whenever the memory does; None when it is not in one file of this machine.

    A path that depends on the folder one stands in is not one file.
    """
    if len(stores) > 1 or not stores[0].startswith("sqlite:") or stores[0].startswith(_RELATIVE):
        return None
    from memorywire.stores.sqlite.location import locate

    store = locate(stores[0]).path
    return None if store is None else [store, store.with_name(f"{store.name}-wal"), config]


def keep(path: Path, briefing: Briefing, *, files: Sequence[Path], under: str, now: int) -> None:
    """Keep a briefing for the next session; it must show no memory."""
    document = {
        "under": under,
        "until": now + _GOOD_FOR_MS,
        "files": {str(file): _mark(file) for file in files},
        "context": briefing.context,
        "notice": briefing.notice,
    }
    write_whole(path, json.dumps(document).encode())


def kept(path: Path, *, under: str, now: int) -> Briefing | None:
    """What was made under these circumstances, when it is still good."""
    try:
        document = json.loads(path.read_bytes())
        good = document["under"] == under and now < document["until"]
        if not good or any(_mark(Path(file)) != mark for file, mark in document["files"].items()):
            return None
        return Briefing(context=document["context"], notice=document["notice"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _mark(file: Path) -> list[int] | None:
    try:
        about = file.stat()
    except OSError:
        return None
    return [about.st_mtime_ns, about.st_size]
