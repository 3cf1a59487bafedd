"""Checkpoints sent to a place that the owner of the database does not control.

A witness is a file (`file:///mnt/audit/checkpoints`), an address that takes each checkpoint by POST
(`https://audit.example/hook`), or an object store that takes each as an object of its own by PUT
(`put+https://bucket.example/prefix`). What a witness missed it gets with the next checkpoint.
"""

import json
import os
from collections.abc import Sequence
from hashlib import sha256
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from memorywire.journal.signed_notes import Checkpoint, parse_checkpoints
from memorywire.model.errors import InvalidRequest
from memorywire.model.values import dataclass

_SECONDS = 5.0
_OK = range(200, 300)
_PRIVATE = 0o600
_SCHEMES = frozenset({"file", "http", "https", "put+http", "put+https"})


def check_witness(url: str) -> str:
    """The URL, if checkpoints can be sent there; else InvalidRequest."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _SCHEMES and bool(parts.path if parts.scheme == "file" else parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise InvalidRequest(
            "a witness is a file, http or object store URL",
            field="witness",
            fix="write file:///PATH, https://HOST/PATH or put+https://HOST/PATH",
        )
    return url


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnesses:
    """Where checkpoints go, and a file that remembers how many each has. Blocks: it is for threads."""

    urls: tuple[str, ...]
    progress: Path

    def send(self, checkpoints: Sequence[Checkpoint]) -> int:
        """Send what each witness does not have; how many of them could not be reached."""
        sent = self._sent()
        failures = 0
        for url in self.urls:
            name = sha256(url.encode()).hexdigest()[:16]
            start = min(sent.get(name, 0), len(checkpoints))
            done = start + _deliver(url, checkpoints[start:])
            failures += done < len(checkpoints)
            sent[name] = done
        self._keep(sent)
        return failures

    def seen(self) -> list[Checkpoint]:
        """The checkpoints in files that are witnesses; the others are not asked."""
        files = (path for path in map(_file, self.urls) if path is not None and path.is_file())
        return [one for path in files for one in parse_checkpoints(path.read_text(encoding="utf-8"))[0]]

    def _sent(self) -> dict[str, int]:
        try:
            sent = json.loads(self.progress.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {str(name): int(count) for name, count in sent.items()} if isinstance(sent, dict) else {}

    def _keep(self, sent: dict[str, int]) -> None:
        fresh = self.progress.with_name(f".{self.progress.name}.{os.getpid()}")
        handle = os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, _PRIVATE)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(sent))
        fresh.replace(self.progress)


def _deliver(url: str, checkpoints: Sequence[Checkpoint]) -> int:
    """How many of them arrived, one after the other, until one did not."""
    path = _file(url)
    for count, checkpoint in enumerate(checkpoints):
        text = f"{checkpoint.note.whole}\n".encode()
        arrived = _appended(path, text) if path is not None else _posted(url, checkpoint, text)
        if not arrived:
            return count
    return len(checkpoints)


def _file(url: str) -> Path | None:
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _appended(path: Path, text: bytes) -> bool:
    try:
        handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, _PRIVATE)
        try:
            os.write(handle, text)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        return False
    return True


def _posted(url: str, checkpoint: Checkpoint, text: bytes) -> bool:
    """Whether the address took it; an object store gets each under a name of its own."""
    into_store = url.startswith("put+")
    parts = urlsplit(url.removeprefix("put+"))
    place = parts.path or "/"
    if into_store:
        place = f"{parts.path.rstrip('/')}/{quote(checkpoint.origin, safe='')}/{checkpoint.size}.checkpoint"
    target = f"{place}?{parts.query}" if parts.query else place
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS)
    try:
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        connection.request("PUT" if into_store else "POST", target, text, headers)
        return connection.getresponse().status in _OK
    except (OSError, HTTPException, ValueError):
        return False
    finally:
        connection.close()
