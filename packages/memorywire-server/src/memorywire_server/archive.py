"""Archives the ledger: writes entries and checkpoints to a folder or an object store, and never replaces any.

A round verifies the whole ledger against the last archived checkpoint, signs the ledger, writes
the new entries as segments, and then the checkpoint. A ledger that was rebuilt, truncated or rolled back
since then is not archived: the round fails and the archive stays unchanged. An interrupted round leaves at
most segments without a checkpoint, which later rounds and verifications ignore.

Names: `ORIGIN/checkpoints/SIZE.checkpoint` and `ORIGIN/segments/FIRST-LAST.jsonl`, whose lines have the
format of an export.
"""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from html import unescape
from itertools import islice
from pathlib import Path
from typing import NoReturn, Protocol
from urllib.parse import parse_qs, quote, unquote, urlsplit

from msgspec import Struct

from memorywire.journal import ledger
from memorywire.journal.audit import examine
from memorywire.journal.backend import Session
from memorywire.journal.journal import Journal
from memorywire.journal.signed_notes import Checkpoint, Verifier, parse_checkpoint, parse_verifier
from memorywire.journal.signer import Signer
from memorywire.journal.verify import Report, verify
from memorywire.model.clock import Clock
from memorywire.model.errors import (
    CapabilityUnsupported,
    Conflict,
    InvalidRequest,
    MemorywireError,
    NotFound,
    StoreUnavailable,
)
from memorywire.model.text import install_hint
from memorywire.pipeline.context import unsupported
from memorywire.runtime import http

EVERY_SECONDS = 3_600.0
SEGMENT = 10_000
"""The most entries of a segment."""

_DIGITS = 19
_SECONDS = 30.0
_MOST_BYTES = 256 * 1024 * 1024
_CREATED = frozenset({200, 201, 204})
_TAKEN = frozenset({409, 412})
_NOT_IMPLEMENTED = 501
_ID = "AWS_ACCESS_KEY_ID"
_KEY_OF = "AWS_SECRET_ACCESS_KEY"
_KEY = re.compile(rb"<Key>([^<]*)</Key>")
_FIX = "write file:///FOLDER, or s3+https://HOST/BUCKET/PREFIX?region=REGION"


class Place(Protocol):
    """The storage of an archive. Methods block, so call them on a thread; they raise StoreUnavailable."""

    def list(self, prefix: str) -> Sequence[str]:
        """Return the names with this prefix, sorted."""

    def read(self, name: str) -> bytes | None:
        """Return the data stored under a name; None if there is none."""

    def create(self, name: str, data: bytes) -> bool:
        """Store data under a new name; returns False, and changes nothing, if the name exists."""


class Folder(Struct, frozen=True):
    """An archive in a folder."""

    path: Path

    def list(self, prefix: str) -> Sequence[str]:
        folder = self.path / prefix
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise _unavailable(error.strerror) from error
        return sorted(f"{prefix}{name}" for name in names if not name.startswith("."))

    def read(self, name: str) -> bytes | None:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unavailable(error.strerror) from error

    def create(self, name: str, data: bytes) -> bool:
        path = self.path / name
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o400)
            with open(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(fresh, path)  # unlike a rename, this never replaces a file
            except FileExistsError:
                return False
            finally:
                fresh.unlink()
        except OSError as error:
            raise _unavailable(error.strerror) from error
        return True


class Bucket(Struct, frozen=True, kw_only=True):
    """An archive in a bucket of an S3-compatible object store; `url` is that of the bucket."""

    url: str
    prefix: str
    region: str
    id: str
    secret: str

    def list(self, prefix: str) -> Sequence[str]:
        names: list[str] = []
        while True:
            query = {"list-type": "2", "prefix": f"{self.prefix}{prefix}"}
            if names:
                query["start-after"] = f"{self.prefix}{names[-1]}"
            text = "&".join(f"{name}={quote(value, safe='')}" for name, value in sorted(query.items()))
            response = self._ask("GET", f"{self.url}?{text}")
            if response.status != 200:
                raise _unavailable(f"HTTP {response.status}")
            page = _find_keys(response.body)
            names += [key.removeprefix(self.prefix) for key in page]
            if not page or b"<IsTruncated>true<" not in response.body:
                return sorted(names)

    def read(self, name: str) -> bytes | None:
        response = self._ask("GET", self._address(name))
        if response.status == 404:
            return None
        if response.status != 200:
            raise _unavailable(f"HTTP {response.status}")
        return response.body

    def create(self, name: str, data: bytes) -> bool:
        response = self._ask("PUT", self._address(name), data, {"If-None-Match": "*"})
        if response.status == _NOT_IMPLEMENTED:  # some stores lack conditional writes
            if self.read(name) is not None:
                return False
            response = self._ask("PUT", self._address(name), data)
        if response.status in _TAKEN:
            return False
        if response.status not in _CREATED:
            raise _unavailable(f"HTTP {response.status}")
        return True

    def _address(self, name: str) -> str:
        return f"{self.url}/{quote(self.prefix + name)}"

    def _ask(
        self, method: str, url: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> http.Response:
        signed = sign_request(method, url, body, headers or {}, self)
        try:
            return http.request(method, url, body, signed, timeout=_SECONDS, max_bytes=_MOST_BYTES)
        except http.HttpError as error:
            raise _unavailable(error.reason) from error


def sign_request(
    method: str, url: str, body: bytes, headers: dict[str, str], bucket: Bucket
) -> dict[str, str]:
    """Return the headers of an S3 request, signed with AWS Signature Version 4."""
    try:
        from requests import Request
        from requests_aws4auth import AWS4Auth
    except ModuleNotFoundError as error:
        fix = install_hint("memorywire-server", "s3")
        raise CapabilityUnsupported(f"{error.name} is not installed", field="archive", fix=fix) from error
    prepared = Request(method, url, data=body, headers=headers).prepare()
    signed = AWS4Auth(bucket.id, bucket.secret, bucket.region, "s3")(prepared)
    return {name: _as_text(value) for name, value in signed.headers.items()}


def _as_text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _find_keys(body: bytes) -> list[str]:
    """Return the keys of a listing; a key contains no tags, so a regular expression is enough."""
    return [unescape(key.decode()) for key in _KEY.findall(body)]


def _unavailable(why: str | None) -> StoreUnavailable:
    return StoreUnavailable(f"the archive did not answer: {why}", fix="check its address and the permissions")


def open_place(url: str, env: Mapping[str, str]) -> Place:
    """Return the archive at a URL; raises InvalidRequest. S3 credentials come from the environment."""
    try:
        parts = urlsplit(url)
        host, secrets, query = parts.netloc, parts.username or parts.password, parse_qs(parts.query)
    except ValueError:
        raise InvalidRequest("this is not the URL of an archive", field="archive", fix=_FIX) from None
    if secrets:
        fix = f"put the key into {_ID} and {_KEY_OF}"
        raise InvalidRequest("the URL of an archive cannot contain a key", field="archive", fix=fix)
    path = unquote(parts.path).strip("/")
    if parts.scheme == "file" and not host and path:
        return Folder(Path(unquote(parts.path)))
    bucket, _, prefix = path.partition("/")
    if parts.scheme not in ("s3+https", "s3+http") or not host or not bucket:
        raise InvalidRequest("this is not the URL of an archive", field="archive", fix=_FIX)
    if not env.get(_ID) or not env.get(_KEY_OF):
        raise InvalidRequest(f"{_ID} and {_KEY_OF} are not set", field="archive", fix="set both")
    return Bucket(
        url=f"{parts.scheme.removeprefix('s3+')}://{host}/{quote(bucket)}",
        prefix=f"{prefix}/" if prefix else "",
        region=query.get("region", ["us-east-1"])[0],
        id=env[_ID],
        secret=env[_KEY_OF],
    )


class Archived(Struct, frozen=True, kw_only=True):
    """The result of a round: the entries and segments that it wrote, and the entries now in the archive."""

    written: int
    segments: int
    entries: int
    origin: str | None = None


async def archive_ledger(journal: Journal, place: Place) -> Archived:
    """Archive the new entries of the ledger.

    Raises Conflict, and writes nothing, if the ledger contradicts the last archived checkpoint.
    """
    signer = journal.signer
    if signer is None:
        raise unsupported("archive", "this ledger has no key to sign with")
    await journal.settle()
    await journal.sign()
    origin = await asyncio.to_thread(_origin_of, signer)
    if origin is None:
        return Archived(written=0, segments=0, entries=0)
    last = await asyncio.to_thread(load_last, place, origin)
    checkpoints, segments = await journal.audit(partial(_read_news, signer=signer, last=last))
    before, size = 0 if last is None else last.size, checkpoints[-1].size
    await asyncio.to_thread(_write, place, checkpoints, segments)
    return Archived(written=size - before, segments=len(segments), entries=size, origin=origin)


def _origin_of(signer: Signer) -> str | None:
    key = signer.verifier()
    return None if key is None else key.name


def load_last(place: Place, origin: str) -> Checkpoint | None:
    """Return the last checkpoint of an archive; None if it has none."""
    names = place.list(_checkpoints(origin))
    return _load_checkpoint(place, names[-1]) if names else None


def _load_checkpoint(place: Place, name: str) -> Checkpoint:
    try:
        return parse_checkpoint((place.read(name) or b"").decode())
    except (InvalidRequest, UnicodeDecodeError) as error:
        raise Conflict(f"{name} is no longer a checkpoint", field="archive") from error


def _read_news(
    db: Session, *, signer: Signer, last: Checkpoint | None
) -> tuple[list[Checkpoint], list[tuple[str, bytes]]]:
    """Verify the ledger, then return the new checkpoints and the segments that they cover."""
    report = examine(db, signer, saved=[] if last is None else [last]).report
    if report.fault is not None:
        raise Conflict(
            f"the ledger differs from the archive: {report.fault.place} {report.fault.reason}",
            field="archive",
            fix="compare it with the archive: memorywire archive --verify",
        )
    signed = sorted(signer.load_checkpoints()[0], key=lambda one: (one.size, one.handover is None))
    before = 0 if last is None else last.size
    # Handovers link one key to the next, so that any of the keys can verify the archive.
    handovers = [one for one in signed if one.handover is not None and one.size >= before]
    checkpoints = [*handovers, *(one for one in signed[-1:] if one not in handovers)]
    rows, first, segments = ledger.read_entries(db, before), before + 1, []
    for checkpoint in checkpoints:
        while chunk := list(islice(rows, min(SEGMENT, checkpoint.size + 1 - first))):
            lines = [{"seq": row.seq, "chain": row.chain.hex(), "body": row.body} for row in chunk]
            text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
            segments.append((_segment(checkpoint.origin, first, first + len(chunk) - 1), text.encode()))
            first += len(chunk)
    return checkpoints, segments


def _write(place: Place, checkpoints: Sequence[Checkpoint], segments: Sequence[tuple[str, bytes]]) -> None:
    """Write the segments, then their checkpoints; raises Conflict if one exists with other content."""
    notes = [(_name_of(one), one.note.whole.encode()) for one in checkpoints]
    for name, data in (*segments, *notes):
        known = place.read(name)
        if known is None and place.create(name, data):
            continue
        if (known or place.read(name)) != data:
            raise Conflict(f"{name} is already in the archive with other content", field="archive")


def _name_of(checkpoint: Checkpoint) -> str:
    kind = "" if checkpoint.handover is None else "-handover"
    return f"{_checkpoints(checkpoint.origin)}{checkpoint.size:0{_DIGITS}}{kind}.checkpoint"


def verify_archive(place: Place, key: Verifier) -> Report:
    """Verify every entry and checkpoint of an archive without the ledger. Blocks, so call it on a thread."""
    names = place.list(_checkpoints(key.name))
    if not names:
        raise NotFound("there is no archive of this ledger", field="archive")
    checkpoints = [_load_checkpoint(place, name) for name in names]
    return verify(_read_rows(place, checkpoints), checkpoints, [key], expected=checkpoints[-1].size)


def _read_rows(place: Place, checkpoints: Sequence[Checkpoint]) -> Iterator[ledger.Row]:
    """Yield the entries under the checkpoints; skips segments that no checkpoint covers."""
    origin = checkpoints[0].origin
    known = frozenset(place.list(f"{quote(origin, safe='')}/segments/"))
    first = 1
    for checkpoint in sorted(checkpoints, key=lambda one: one.size):
        while first <= checkpoint.size:
            last = min(first + SEGMENT - 1, checkpoint.size)
            name = _segment(origin, first, last)
            if name not in known:
                return  # verification then reports missing entries
            for line in (place.read(name) or b"").splitlines():
                yield _read_row(line)
            first = last + 1


def _read_row(line: bytes) -> ledger.Row:
    try:
        entry = json.loads(line)
        return ledger.Row(int(entry["seq"]), str(entry["body"]), bytes.fromhex(entry["chain"]))
    except (ValueError, KeyError, TypeError) as error:
        raise Conflict("a line of the archive is not an entry", field="archive") from error


def _checkpoints(origin: str) -> str:
    return f"{quote(origin, safe='')}/checkpoints/"


def _segment(origin: str, first: int, last: int) -> str:
    return f"{quote(origin, safe='')}/segments/{first:0{_DIGITS}}-{last:0{_DIGITS}}.jsonl"


class LedgerArchive:
    """The archive of a server: runs one round at a time, and records the result of the last one."""

    def __init__(self, journal: Journal, place: Place, clock: Clock, *, every: float = EVERY_SECONDS) -> None:
        self.every = every
        self.ended_at: int | None = None
        self.entries = 0
        self.problem: str | None = None
        self._journal = journal
        self._place = place
        self._clock = clock
        self._alone = asyncio.Lock()

    async def write(self) -> Archived:
        """Run one round."""
        async with self._alone:
            try:
                done = await archive_ledger(self._journal, self._place)
            except MemorywireError as problem:
                self.problem = problem.detail
                raise
            self.ended_at, self.entries, self.problem = self._clock(), done.entries, None
            return done

    @asynccontextmanager
    async def run_in_background(self) -> AsyncIterator[None]:
        """Run rounds periodically while this context is open, the first one at once."""
        task = asyncio.create_task(self._repeat())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _repeat(self) -> NoReturn:
        while True:
            with suppress(MemorywireError):  # `problem` holds the error, and health reports it
                await self.write()
            await asyncio.sleep(self.every)


def trusted_key(text: str | None, signer: Signer | None) -> Verifier:
    """Return the public key to verify an archive: the given one, else that of the ledger."""
    key = parse_verifier(text) if text is not None else None if signer is None else signer.verifier()
    if key is None:
        raise NotFound("this ledger has no key yet", field="key", fix="pass --key")
    return key
