"""The files of a Markdown store: their paths, which of them changed, and staged writes."""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from memorywire.model.record import Record, Scope
from memorywire.runtime.files import flush, flush_folder, is_inside
from memorywire.search.text import terms
from memorywire_adapters.sidecar import spelled

Stamp: TypeAlias = tuple[int, int, int, int]
"""Changes when a file does: inode, size, modification time and status change time."""

_OWN = ".memorywire"
_NO_SESSION = "no-session"
_MEMORIES = "memories"
_DEPTH = 3
"""The number of folders above each file: `memories`, the tenant and the agent."""

_STRANGE = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 100


def fingerprint(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


class Folder:
    """Files `memories/TENANT/AGENT/SESSION/ID.md` below a root; `.memorywire/` is internal, not for git."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.own = root / _OWN
        self._staged = self.own / "staged"

    def prepare(self) -> None:
        # A folder created here is private, as a database is; an existing one keeps its mode.
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._staged.mkdir(mode=0o700, parents=True, exist_ok=True)
        gitignore = self.own / ".gitignore"
        if not gitignore.exists():
            gitignore.write_text("*\n", encoding="utf-8")

    def build_path(self, record: Record) -> str:
        """Return the path for this memory, relative to the root."""
        session = _spell(record.session_id or "") or _NO_SESSION
        return f"{self._find_agent(record.scope)}/{session}/{_spell(record.id)}.md"

    def _find_agent(self, scope: Scope) -> str:
        """Return the folder of the agent; a folder made by an earlier release keeps its name."""
        earlier = f"{_MEMORIES}/{spelled(scope.tenant)}/{spelled(scope.agent)}"
        if (self._root / earlier).exists():
            return earlier
        return f"{_MEMORIES}/{_spell(scope.tenant)}/{_spell(scope.agent)}"

    def list_strays(self, limit: int = 20) -> list[str]:
        """Return the first files that belong to no agent because they are outside the layout."""
        paths = (path.relative_to(self._root) for path in _walk_markdown(self._root))
        strays = (path for path in paths if path.parts[0] != _MEMORIES or len(path.parts) <= _DEPTH)
        return [path.as_posix() for path in islice(strays, limit)]

    def list_files(self, scope: Scope) -> dict[str, Stamp]:
        """Return the stamps of all files of the agent, by path relative to the root."""
        stamps = {}
        for path in sorted(_walk_markdown(self._root / self._find_agent(scope))):
            with suppress(FileNotFoundError):  # deleted since it was listed
                stamps[path.relative_to(self._root).as_posix()] = _stamp(path)
        return stamps

    def read_stamp(self, place: str) -> Stamp | None:
        try:
            return _stamp(self._root / place)
        except FileNotFoundError:
            return None

    def read(self, place: str) -> bytes:
        """Return the content of the file; empty if it does not exist."""
        try:
            return (self._root / place).read_bytes()
        except FileNotFoundError:
            return b""

    def stage(self, content: bytes) -> str:
        """Write the content to a staging file, flushed to disk; return the name to publish it by."""
        name = fingerprint(content)
        with (self._staged / name).open("wb") as file:
            file.write(content)
            file.flush()
            flush(file.fileno())
        return name

    def read_staged(self) -> dict[str, bytes]:
        """Return the content of the files that an interrupted writer left staged, by name."""
        return {path.name: path.read_bytes() for path in sorted(self._staged.iterdir())}

    def publish(self, places: Mapping[str, str]) -> None:
        """Move the files staged under these names to these paths."""
        for name, place in places.items():
            target = self._root / place
            target.parent.mkdir(parents=True, exist_ok=True)
            (self._staged / name).replace(target)
        self._sync(places.values())

    def discard(self, name: str) -> None:
        (self._staged / name).unlink(missing_ok=True)

    def remove(self, places: Sequence[str]) -> None:
        for place in places:
            (self._root / place).unlink(missing_ok=True)
        self._sync(places)
        for parent in {(self._root / place).parent for place in places}:
            with suppress(OSError):  # other files are in it
                parent.rmdir()

    def _sync(self, places: Iterable[str]) -> None:
        for parent in {(self._root / place).parent for place in places}:
            if parent.exists():
                flush_folder(parent)


def _spell(name: str) -> str:
    """Encode a name as a file name: plain names stay readable, no two are equal, and length is limited."""
    plain = _STRANGE.sub(lambda sign: "".join(f"%{byte:02x}" for byte in sign.group().encode()), name)
    if len(plain) <= _LONGEST:
        return plain
    return f"{plain[:40]}~{fingerprint(name.encode())}"


def _walk_markdown(folder: Path) -> Iterator[Path]:
    for inside, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = [Path(inside, name) for name in files if name.endswith(".md") and name[0] != "."]
        yield from (path for path in paths if is_inside(path, folder))


def _stamp(path: Path) -> Stamp:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class Index:
    """The terms of each file, by fingerprint, so that only changed files are tokenized again."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._words: dict[str, Counter[str]] = {}
        self._changed = False
        try:
            index = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return  # missing or damaged: it is rebuilt as files are read
        for word, counts in index.items():
            for name, count in counts.items():
                self._words.setdefault(name, Counter())[word] = count

    def get_words(self, fingerprint: str, text: str) -> Counter[str]:
        """Return the terms of the file with this fingerprint, tokenizing `text` if they are not cached."""
        words = self._words.get(fingerprint)
        if words is None:
            words = self._words[fingerprint] = terms(text)
            self._changed = True
        return words

    def retain(self, fingerprints: Iterable[str]) -> None:
        """Drop the terms of all other files, also on disk."""
        names = frozenset(fingerprints)
        self._words = {name: words for name, words in self._words.items() if name in names}
        self._changed = True
        self.save()

    def save(self) -> None:
        if self._changed:
            index: dict[str, dict[str, int]] = {}
            for name, counts in self._words.items():
                for word, count in counts.items():
                    index.setdefault(word, {})[name] = count
            text = json.dumps(index, ensure_ascii=False, indent=0, sort_keys=True)
            temporary = self._file.with_suffix(".new")
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(self._file)
            self._changed = False
