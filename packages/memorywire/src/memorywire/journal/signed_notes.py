"""Signed checkpoints of a log, in the text formats of C2SP: signed-note, and tlog-checkpoint in it.

A checkpoint contains a log's name (the origin), its number of entries and its Merkle root. One that hands
over to a new key has both keys in extension lines and is signed with both.
"""

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import ClassVar

from msgspec import Struct

from memorywire.journal.merkle import HASH_BYTES
from memorywire.model.errors import InvalidRequest
from memorywire.model.secrets import Confidential

_ED25519 = b"\x01"
_ID_BYTES = 4
_SIGNATURE_BYTES = 64
_PRIVATE = "PRIVATE+KEY+"
_OLD_KEY, _NEW_KEY = "old-key ", "new-key "
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")
_SIGNED = re.compile(r"— (\S+) ([A-Za-z0-9+/]+=*)")


class Verifier(Struct, frozen=True):
    """A public key, and the name of the log that it signs."""

    name: str
    key: bytes

    @property
    def id(self) -> bytes:
        return sha256(self.name.encode() + b"\n" + _ED25519 + self.key).digest()[:_ID_BYTES]

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{b64encode(_ED25519 + self.key).decode()}"

    def accepts(self, note: "Note") -> bool:
        """Return whether the note has signatures of this key and all of them are valid."""
        from nacl.exceptions import BadSignatureError
        from nacl.signing import VerifyKey

        named = [s.signature for s in note.signatures if (s.name, s.id) == (self.name, self.id)]
        try:
            for signature in named:
                VerifyKey(self.key).verify(note.text.encode(), signature)
        except (BadSignatureError, ValueError):
            return False
        return bool(named)


class PrivateKey(Confidential, frozen=True):
    """A key that signs; its seed is never shown."""

    HIDDEN: ClassVar = frozenset({"seed"})

    name: str
    seed: bytes

    @property
    def verifier(self) -> Verifier:
        from nacl.signing import SigningKey

        return Verifier(self.name, bytes(SigningKey(self.seed).verify_key))

    @property
    def secret(self) -> str:
        """The line of a key file."""
        return f"{_PRIVATE}{self.name}+{self.verifier.id.hex()}+{b64encode(_ED25519 + self.seed).decode()}"

    def sign(self, text: str) -> "Signature":
        from nacl.signing import SigningKey

        return Signature(self.name, self.verifier.id, SigningKey(self.seed).sign(text.encode()).signature)


class Signature(Struct, frozen=True):
    name: str
    id: bytes
    signature: bytes

    @property
    def line(self) -> str:
        return f"— {self.name} {b64encode(self.id + self.signature).decode()}\n"


class Note(Struct, frozen=True):
    """A text, which ends in a newline, and its signatures."""

    text: str
    signatures: tuple[Signature, ...]

    @property
    def whole(self) -> str:
        """The serialised note: the text, an empty line, a line for each signature."""
        return f"{self.text}\n{''.join(signature.line for signature in self.signatures)}"


class Handover(Struct, frozen=True, kw_only=True):
    """A switch from one key to the next: later signatures of the old key are invalid."""

    old: Verifier
    new: Verifier

    @property
    def text(self) -> str:
        return f"{_OLD_KEY}{self.old}\n{_NEW_KEY}{self.new}\n"


class Checkpoint(Struct, frozen=True, kw_only=True):
    """The state of a log when it was signed."""

    origin: str
    size: int
    root: bytes
    handover: Handover | None = None
    note: Note = Note("", ())

    @property
    def text(self) -> str:
        extension = "" if self.handover is None else self.handover.text
        return f"{self.origin}\n{self.size}\n{b64encode(self.root).decode()}\n{extension}"

    def __eq__(self, other: object) -> bool:
        """Compare the texts; the signatures in `note` are ignored."""
        return isinstance(other, Checkpoint) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def sign_note(text: str, keys: Sequence[PrivateKey]) -> str:
    """Sign a text and return the serialised note."""
    return Note(text, tuple(signer.sign(text) for signer in keys)).whole


def parse_verifier(text: str) -> Verifier:
    """Parse a public key (name, id and key joined by `+`); raises InvalidRequest."""
    name, key = _parse_key(text)
    verifier = Verifier(name, key)
    if str(verifier) != text:
        raise _not_a_key()
    return verifier


def parse_private_key(text: str) -> PrivateKey:
    """Parse the line of a key file; raises InvalidRequest."""
    if not text.startswith(_PRIVATE):
        raise _not_a_key()
    name, seed = _parse_key(text.removeprefix(_PRIVATE))
    return PrivateKey(name, seed)


def parse_note(text: str) -> Note:
    """Parse a signed note; raises InvalidRequest."""
    body, gap, tail = text.rpartition("\n\n")
    lines = tail.splitlines()
    if not gap or not body or not lines or not text.endswith("\n"):
        raise InvalidRequest("this is not a signed note")
    return Note(body + "\n", tuple(_parse_signature(line) for line in lines))


def parse_checkpoint(text: str) -> Checkpoint:
    """Parse a checkpoint without verifying its signatures; raises InvalidRequest."""
    note = parse_note(text)
    lines = note.text.splitlines()
    try:
        origin, size, root, *extension = lines
        checkpoint = Checkpoint(
            origin=origin,
            size=_whole(size),
            root=b64decode(root, validate=True),
            handover=_parse_handover(extension),
            note=note,
        )
    except (ValueError, binascii.Error) as error:
        raise InvalidRequest("this signed note is not a checkpoint") from error
    if checkpoint.text != note.text or len(checkpoint.root) != HASH_BYTES or not origin:
        raise InvalidRequest("this signed note is not a checkpoint")
    return checkpoint


def parse_checkpoints(text: str) -> tuple[list[Checkpoint], int]:
    """Parse the checkpoints of a file, separated by empty lines; also return how many cannot be read.

    A process that dies during a write leaves an incomplete one.
    """
    notes, unreadable, body = [], 0, ""
    for part in re.split(r"\n{2,}", text):
        if not body:
            body = part.lstrip("\n")
            continue
        signatures = part if part.endswith("\n") else f"{part}\n"
        try:
            notes.append(parse_checkpoint(f"{body}\n\n{signatures}"))
            body = ""
        except InvalidRequest:
            unreadable += 1
            body = "" if part.startswith("—") else part
    return notes, unreadable + bool(body.strip())


def _parse_key(text: str) -> tuple[str, bytes]:
    # Split from the left: the last part is base64, which may contain `+`.
    parts = text.split("+", 2)
    try:
        name, _, encoded = parts
        key = b64decode(encoded, validate=True)
    except (ValueError, binascii.Error) as error:
        raise _not_a_key() from error
    if key[:1] != _ED25519 or len(key) != 1 + HASH_BYTES or not name:
        raise _not_a_key()
    return name, key[1:]


def _whole(size: str) -> int:
    if _SIZE.fullmatch(size) is None:
        raise ValueError("not a size")
    return int(size)


def _parse_signature(line: str) -> Signature:
    match = _SIGNED.fullmatch(line)
    if match is None:
        raise InvalidRequest("a line of the note is not a signature")
    try:
        raw = b64decode(match[2], validate=True)
    except binascii.Error as error:
        raise InvalidRequest("a signature of the note is not base64") from error
    if len(raw) != _ID_BYTES + _SIGNATURE_BYTES:
        raise InvalidRequest("a signature of the note has the wrong length")
    return Signature(match[1], raw[:_ID_BYTES], raw[_ID_BYTES:])


def _parse_handover(lines: Sequence[str]) -> Handover | None:
    if not lines:
        return None
    old, new = lines
    return Handover(
        old=parse_verifier(old.removeprefix(_OLD_KEY)), new=parse_verifier(new.removeprefix(_NEW_KEY))
    )


def _not_a_key() -> InvalidRequest:
    return InvalidRequest(
        "this is not the Ed25519 key of a log",
        field="key",
        fix="give the line `audit checkpoint --key` prints",
    )
