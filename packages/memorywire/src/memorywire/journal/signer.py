"""Signs ledgers: the key file of a ledger, and its append-only file of checkpoints.

Both files are outside the database whose rows they prove.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Self
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct

from memorywire.journal.signed_notes import (
    Checkpoint,
    Handover,
    PrivateKey,
    Verifier,
    parse_checkpoints,
    parse_private_key,
    sign_note,
)
from memorywire.model.errors import InvalidRequest, StoreBusy, StoreUnavailable
from memorywire.model.ids import Entropy
from memorywire.model.secrets import path_of
from memorywire.runtime.files import lock, open_private, replace, write, write_whole

_SECONDS = 5.0
_SCHEMES = frozenset({"file", "http", "https", "put+http", "put+https"})


def check_witness(url: str) -> str:
    """Return the URL if checkpoints can be sent to it; raises InvalidRequest otherwise."""
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


class Witnesses(Struct, frozen=True, kw_only=True):
    """The URLs that get checkpoints, and a file with the number sent to each. Blocks: call it in a thread."""

    urls: tuple[str, ...]
    progress: Path

    def send(self, checkpoints: Sequence[Checkpoint]) -> int:
        """Send each witness the checkpoints it lacks; return how many witnesses did not get them all."""
        progress = self._load_progress()
        failures = 0
        for url in self.urls:
            name = sha256(url.encode()).hexdigest()[:16]
            start = min(progress.get(name, 0), len(checkpoints))
            total = start + _deliver(url, checkpoints[start:])
            failures += total < len(checkpoints)
            progress[name] = total
        self._save_progress(progress)
        return failures

    def load_seen(self) -> list[Checkpoint]:
        """Return the checkpoints in witness files; witnesses behind other URLs are not read."""
        files = (path for path in map(_file, self.urls) if path is not None and path.is_file())
        return [one for path in files for one in parse_checkpoints(path.read_text(encoding="utf-8"))[0]]

    def _load_progress(self) -> dict[str, int]:
        try:
            progress = json.loads(self.progress.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return (
            {str(name): int(count) for name, count in progress.items()} if isinstance(progress, dict) else {}
        )

    def _save_progress(self, progress: dict[str, int]) -> None:
        write_whole(self.progress, json.dumps(progress).encode())


def _deliver(url: str, checkpoints: Sequence[Checkpoint]) -> int:
    """Send checkpoints in order until one fails; return how many were delivered."""
    path = _file(url)
    for count, checkpoint in enumerate(checkpoints):
        text = f"{checkpoint.note.whole}\n".encode()
        is_delivered = _append_to_file(path, text) if path is not None else _post(url, checkpoint, text)
        if not is_delivered:
            return count
    return len(checkpoints)


def _file(url: str) -> Path | None:
    parts = urlsplit(url)
    return path_of(unquote(parts.path)) if parts.scheme == "file" else None


def _append_to_file(path: Path, text: bytes) -> bool:
    try:
        handle = open_private(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        try:
            write(handle, text)
        finally:
            os.close(handle)
    except OSError:
        return False
    return True


def _post(url: str, checkpoint: Checkpoint, text: bytes) -> bool:
    """Send a checkpoint and return whether it was accepted; in an object store each has its own key."""
    from memorywire.runtime import http  # imported here: only ledgers with such witnesses need it

    into_store = url.startswith("put+")
    parts = urlsplit(url.removeprefix("put+"))
    place = parts.path or "/"
    if into_store:
        place = f"{parts.path.rstrip('/')}/{quote(checkpoint.origin, safe='')}/{checkpoint.size}.checkpoint"
    address = parts._replace(path=place).geturl()
    headers = {"Content-Type": "text/plain; charset=utf-8"}
    method = "PUT" if into_store else "POST"
    try:
        return http.request(method, address, text, headers, timeout=_SECONDS, max_bytes=0).is_ok
    except http.HttpError:
        return False


_SEED_BYTES = 32


class Signer(Struct, frozen=True, kw_only=True):
    """Signs checkpoints with a key file and appends them to another file. Blocks: call it in a thread."""

    key: Path
    checkpoints: Path
    entropy: Entropy = os.urandom
    seconds: float = 5.0
    """How long to wait for another process that is signing or copying the database."""
    witnesses: tuple[str, ...] = ()

    @classmethod
    def beside(cls, database: Path, witnesses: Sequence[str] = ()) -> Self:
        """Return a signer with the default files next to a database.

        It also sends its checkpoints to the witnesses.
        """
        return cls(
            key=database.with_name(f"{database.name}-ledger.key"),
            checkpoints=database.with_name(f"{database.name}-checkpoints"),
            witnesses=tuple(map(check_witness, witnesses)),
        )

    def sign(self, checkpoint: Checkpoint) -> str:
        """Sign a checkpoint, append the note to the file and return it; creates the key if there is none."""
        with self._alone() as handle:
            note = sign_note(checkpoint.text, [self._load_key(checkpoint.origin)])
            _append_note(handle, note)
        self._tell_witnesses()
        return note

    def sign_text(self, text: str) -> str | None:
        """Return the text as a signed note without storing it; None while there is no key."""
        notes = self.sign_texts([text])
        return None if notes is None else notes[0]

    def sign_texts(self, texts: Sequence[str]) -> list[str] | None:
        """Return the texts as signed notes without storing them; None while there is no key."""
        if self._next.exists():  # otherwise do not write: the folder may be read-only
            with self._alone():
                self._finish_rotation()
        if not self.key.exists():
            return None
        key = _read_key(self.key)
        return [sign_note(text, [key]) for text in texts]

    def _tell_witnesses(self) -> None:
        """Send missing checkpoints to the witnesses; unreachable ones get them with the next checkpoint."""
        if self.witnesses:
            self.witnessed.send(self.load_checkpoints()[0])

    @property
    def witnessed(self) -> Witnesses:
        """The witnesses, with the file of their progress."""
        return Witnesses(
            urls=self.witnesses, progress=self.checkpoints.with_name(f"{self.checkpoints.name}-sent")
        )

    def rotate(self, checkpoint: Checkpoint) -> str:
        """Switch to a new key with a checkpoint that both keys sign; the old key is deleted."""
        with self._alone() as handle:
            old = self._load_key(checkpoint.origin)
            new = PrivateKey(checkpoint.origin, self.entropy(_SEED_BYTES))
            _write_key(self._next, new)
            handover = Handover(old=old.verifier, new=new.verifier)
            note = sign_note(checkpoint.text + handover.text, [old, new])
            _append_note(handle, note)
            replace(self._next, self.key)
        self._tell_witnesses()
        return note

    def verifier(self) -> Verifier | None:
        """Return the public key of the log, or None while there is no key."""
        if self._next.exists():  # otherwise do not write: a reader may lack permission
            with self._alone():
                self._finish_rotation()
        return _read_key(self.key).verifier if self.key.exists() else None

    def load_checkpoints(self) -> tuple[list[Checkpoint], int]:
        """Return the checkpoints of the file, and how many cannot be read."""
        return read_checkpoints(self.checkpoints) if self.checkpoints.exists() else ([], 0)

    @property
    def ledgers(self) -> Path:
        """The folder for imported ledgers, which are evidence and not part of this ledger."""
        return self.checkpoints.with_name(f"{self.checkpoints.name.removesuffix('-checkpoints')}-ledgers")

    @contextmanager
    def still(self) -> Iterator[None]:
        """Block all signers during the `with`, even if this process has no permission to sign."""
        if os.access(self.checkpoints.parent, os.W_OK):
            with self._alone():
                yield
        elif self.checkpoints.exists():
            with self._hold_lock(os.O_RDONLY):
                yield
        else:
            yield

    @property
    def _next(self) -> Path:
        return self.key.with_name(f"{self.key.name}.next")

    @contextmanager
    def _alone(self) -> Iterator[int]:
        """Lock the file of checkpoints against other signers and yield its open handle."""
        with self._hold_lock(os.O_CREAT | os.O_RDWR | os.O_APPEND) as handle:
            yield handle

    @contextmanager
    def _hold_lock(self, flags: int) -> Iterator[int]:
        try:
            self.checkpoints.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = open_private(self.checkpoints, flags)
            try:
                if not lock(handle, self.seconds):  # the holder may be a stopped process
                    raise StoreBusy(
                        f"another process has held {self.checkpoints} for {self.seconds:g} s",
                        fix="end it (a stopped `memorywire backup` holds it too), and retry",
                    )
                yield handle
            finally:
                os.close(handle)
        except OSError as error:
            raise StoreUnavailable(
                f"the ledger cannot be signed: {error.strerror}: {error.filename or self.checkpoints}",
                fix="check free space and permissions, then retry",
            ) from error

    def _load_key(self, origin: str) -> PrivateKey:
        self._finish_rotation()
        if not self.key.exists():
            _write_key(self.key, PrivateKey(origin, self.entropy(_SEED_BYTES)))
        signer = _read_key(self.key)
        if signer.name != origin:
            raise StoreUnavailable(
                f"the key in {self.key} signs for {signer.name}, and this ledger is {origin}",
                fix="use a separate key file for each ledger",
            )
        return signer

    def _finish_rotation(self) -> None:
        """Finish or undo an interrupted rotation: the new key is used if its handover was already signed."""
        if not self._next.exists():
            return
        new = _read_key(self._next).verifier
        if any(
            checkpoint.handover and checkpoint.handover.new == new
            for checkpoint in self.load_checkpoints()[0]
        ):
            replace(self._next, self.key)
        else:
            self._next.unlink()


def read_checkpoints(path: Path) -> tuple[list[Checkpoint], int]:
    """Return the checkpoints of a file and the number of unreadable ones; raises InvalidRequest."""
    try:
        return parse_checkpoints(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"cannot read checkpoints from {path}", field="checkpoint") from error


def _read_key(path: Path) -> PrivateKey:
    try:
        return parse_private_key(path.read_text(encoding="utf-8").strip())
    except (OSError, InvalidRequest, UnicodeDecodeError) as error:
        raise StoreUnavailable(
            f"the signing key in {path} cannot be read", fix="restore the file from a backup"
        ) from error


def _write_key(path: Path, key: PrivateKey) -> None:
    write_whole(path, f"{key.secret}\n".encode())


def _append_note(handle: int, note: str) -> None:
    """Append a note unless it is already the last one; a blank line separates it from an incomplete note."""
    whole = f"{note}\n".encode()
    size = os.fstat(handle).st_size
    os.lseek(handle, max(size - len(whole), 0), os.SEEK_SET)  # for the read only: O_APPEND writes at the end
    tail = os.read(handle, len(whole))
    if tail != whole:
        write(handle, whole if not tail or tail.endswith(b"\n\n") else b"\n\n" + whole)
