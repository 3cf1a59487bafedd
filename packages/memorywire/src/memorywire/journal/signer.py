"""Who signs: the key file of a ledger, and the file of checkpoints, which only grows.

Both stand outside the database whose rows they vouch for.
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


class Witnesses(Struct, frozen=True, kw_only=True):
    """Where checkpoints go, and a file that remembers how many each has. Blocks: it is for threads."""

    urls: tuple[str, ...]
    progress: Path

    def send(self, checkpoints: Sequence[Checkpoint]) -> int:
        """Send what each witness does not have; how many of them could not be reached."""
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
        """The checkpoints in files that are witnesses; the others are not asked."""
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
    """How many of them arrived, one after the other, until one did not."""
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
    """Whether the address took it; an object store gets each under a name of its own."""
    from memorywire.runtime import http  # only a ledger with such witnesses needs it

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
    """Signs checkpoints with the key of one file and keeps them in another. Blocks: it is for threads."""

    key: Path
    checkpoints: Path
    entropy: Entropy = os.urandom
    seconds: float = 5.0
    """How long to wait for another process that signs, or that copies the database."""
    witnesses: tuple[str, ...] = ()

    @classmethod
    def beside(cls, database: Path, witnesses: Sequence[str] = ()) -> Self:
        """The signer with the files that stand beside a database by default.

        What it signs also goes to the witnesses.
        """
        return cls(
            key=database.with_name(f"{database.name}-ledger.key"),
            checkpoints=database.with_name(f"{database.name}-checkpoints"),
            witnesses=tuple(map(check_witness, witnesses)),
        )

    def sign(self, checkpoint: Checkpoint) -> str:
        """The signed note, on the disk before it is given; the key is made when there is none."""
        with self._alone() as handle:
            note = sign_note(checkpoint.text, [self._load_key(checkpoint.origin)])
            _append_note(handle, note)
        self._tell_witnesses()
        return note

    def sign_text(self, text: str) -> str | None:
        """The text as a signed note, which is not stored; None while there is no key."""
        notes = self.sign_texts([text])
        return None if notes is None else notes[0]

    def sign_texts(self, texts: Sequence[str]) -> list[str] | None:
        """The texts as signed notes, which are not stored; None while there is no key."""
        if self._next.exists():  # else nothing is written here: the folder may be read-only
            with self._alone():
                self._finish_rotation()
        if not self.key.exists():
            return None
        key = _read_key(self.key)
        return [sign_note(text, [key]) for text in texts]

    def _tell_witnesses(self) -> None:
        """Send what the witnesses do not have; one that is away gets it with the next checkpoint."""
        if self.witnesses:
            self.witnessed.send(self.load_checkpoints()[0])

    @property
    def witnessed(self) -> Witnesses:
        """The witnesses, and how far each was told."""
        return Witnesses(
            urls=self.witnesses, progress=self.checkpoints.with_name(f"{self.checkpoints.name}-sent")
        )

    def rotate(self, checkpoint: Checkpoint) -> str:
        """Hand over to a new key, by a checkpoint that both keys sign; the old key is gone afterwards."""
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
        """The public key of the log; None while nothing was ever signed."""
        if self._next.exists():  # else nothing is written here: a reader may not be allowed to write
            with self._alone():
                self._finish_rotation()
        return _read_key(self.key).verifier if self.key.exists() else None

    def load_checkpoints(self) -> tuple[list[Checkpoint], int]:
        """The checkpoints of the file, and how many cannot be read."""
        return read_checkpoints(self.checkpoints) if self.checkpoints.exists() else ([], 0)

    @property
    def ledgers(self) -> Path:
        """The folder for imported ledgers: they are evidence, and never part of this ledger."""
        return self.checkpoints.with_name(f"{self.checkpoints.name.removesuffix('-checkpoints')}-ledgers")

    @contextmanager
    def still(self) -> Iterator[None]:
        """Keep everybody from signing meanwhile, also where this process could not sign itself."""
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
        """The open file of checkpoints, while no other process signs."""
        with self._hold_lock(os.O_CREAT | os.O_RDWR | os.O_APPEND) as handle:
            yield handle

    @contextmanager
    def _hold_lock(self, flags: int) -> Iterator[int]:
        try:
            self.checkpoints.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = open_private(self.checkpoints, flags)
            try:
                if not lock(handle, self.seconds):  # perhaps by a stopped process
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
        """Finish the rotation of a process that died: it left both keys, and what it signed decides."""
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
    """The checkpoints of a file, and how many cannot be read."""
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
    """Append a note, unless it is the last one already; half a note is left behind an empty line."""
    whole = f"{note}\n".encode()
    size = os.fstat(handle).st_size
    os.lseek(handle, max(size - len(whole), 0), os.SEEK_SET)  # what is appended goes to the end all the same
    tail = os.read(handle, len(whole))
    if tail != whole:
        write(handle, whole if not tail or tail.endswith(b"\n\n") else b"\n\n" + whole)
