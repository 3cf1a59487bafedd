"""Finds the secrets that a host registered, in all common encodings and disguises."""

import base64
import html
import json
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from memorywire.model.errors import InvalidRequest
from memorywire.model.lookalikes import skeleton, skeleton_places
from memorywire.policy.redact.rules import Rank, Span, legible

_LAYERS = 3
_ESCAPE = re.compile(
    r"(?:%[0-9a-f]{2})+|%u[0-9a-f]{4}|(?:\\u[0-9a-f]{4})+|\\u\{[0-9a-f]{1,6}\}|(?:\\x[0-9a-f]{2})+"
    r"|\\[0-7]{3}|\\[abfnrtv0\"'\\/]|&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});",
    re.IGNORECASE,
)
_LETTERS = dict(zip("abfnrtv0", "\a\b\f\n\r\t\v\0", strict=True))


def decode_escapes(text: str) -> str:
    """Return the text with JSON, C, percent and HTML escapes decoded, up to three deep."""
    for _ in range(_LAYERS):
        plain = _ESCAPE.sub(lambda escape: _decode_escape(escape.group()), text)
        if plain == text:
            break
        text = plain
    return text


def locate_disguised(text: str) -> tuple[str, Sequence[tuple[int, int]]]:
    """Return the skeleton of the decoded text, and for each of its characters the span in the text."""
    spans: list[tuple[int, int]] = [(at, at + 1) for at in range(len(text))]
    for _ in range(_LAYERS):
        pieces: list[str] = []
        offsets: list[tuple[int, int]] = []
        end = 0
        for escape in _ESCAPE.finditer(text):
            start, stop = escape.span()
            inside = _decode_escape(escape.group())
            pieces += [text[end:start], inside]
            offsets += spans[end:start]
            offsets += [(spans[start][0], spans[stop - 1][1])] * len(inside)
            end = stop
        if not pieces:
            break
        text, spans = "".join((*pieces, text[end:])), offsets + spans[end:]
    skeleton, places = skeleton_places(text)
    return skeleton, [spans[at] for at in places]


def _decode_escape(escape: str) -> str:
    """Decode an escape; returns the escape itself if it is invalid."""
    if escape[0] == "&":
        return html.unescape(escape)
    kind = escape[:2].lower()
    if kind == "%u" or kind == "\\u":
        codes = re.findall(r"[0-9a-f]{4,6}|(?<=\{)[0-9a-f]{1,3}", escape.lower())
        numbers = [int(code, 16) for code in codes]
        if any(number > 0x10FFFF for number in numbers):
            return escape
        return "".join(map(chr, numbers)).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if escape[0] == "%":
        return unquote(escape, errors="replace")
    if kind == "\\x":
        return bytes.fromhex(escape[2:].lower().replace("\\x", "")).decode(errors="replace")
    if escape[1:].isdigit() and len(escape) > 2:
        return chr(int(escape[1:], 8) & 0xFF)
    return _LETTERS.get(escape[1], escape[1])


SHORTEST = 6
"""A shorter secret would occur by chance in ordinary words, and in most base64."""

_LABEL = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_RUN = "[A-Za-z0-9+/_=-]*"
_RUN_CHARACTERS = f"{string.ascii_letters}{string.digits}+/_=-"
_JOINTS = ("", ":", "-", ",", ",0x", "0x", "=")  # between the bytes of a hex dump


class Known:
    """Registered values: exact, in any case, reversed, and encoded as base64, base32, hex, URL or JSON.

    `find` searches the text itself. `find_disguised` searches what a reader sees: with escapes decoded,
    invisible characters removed, and look-alike letters unified.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        for label, secret in secrets.items():
            if not _LABEL.fullmatch(label):
                detail = "the label of a registered secret is not usable"
                fix = "use 1 to 64 letters, digits, or any of _.:-"
                raise InvalidRequest(detail, field="label", fix=fix)
            if legible(secret) != secret:
                detail = f"the secret registered as {label} holds halves of characters"
                raise InvalidRequest(detail, field=label, fix="register text, not bytes read as text")
            if len(secret.strip()) < SHORTEST:
                detail = f"the secret registered as {label} is shorter than {SHORTEST} characters"
                fix = "register a longer value: one so short would blank out ordinary words"
                raise InvalidRequest(detail, field=label, fix=fix)
        patterns = {
            label: f"{_either(forms(secret))}|{_RUN}{_either(cores(secret.encode()))}{_RUN}"
            for label, secret in secrets.items()
        }
        self._each = {label: _compile(pattern) for label, pattern in patterns.items()}
        self._gate = _compile("|".join(patterns.values())) if patterns else None
        self._secrets = dict(secrets)

    def __bool__(self) -> bool:
        return self._gate is not None

    def find(self, text: str) -> Iterator[Span]:
        """Yield every place of every value; if one value contains another, yields both."""
        if self._gate is None or not self._gate.search(text):
            return
        for label, pattern in self._each.items():
            for match in pattern.finditer(text):
                yield Span(match.start(), match.end(), label, Rank.REGISTERED)

    def find_disguised(self, text: str) -> Iterator[Span]:
        """Yield every place of a value behind escapes, hidden characters, white space or look-alikes."""
        if self._gate is None:
            return
        if self._skeletons.search(skeleton(text)):
            folded, places = skeleton_places(text)
            yield from self._find_unfolded(folded, [(at, at + 1) for at in places], text)
        if any(sign in text for sign in "\\%&") and self._skeletons.search(skeleton(decode_escapes(text))):
            yield from self._find_unfolded(*locate_disguised(text), text)

    def _find_unfolded(self, skeleton: str, places: Sequence[tuple[int, int]], text: str) -> Iterator[Span]:
        for label, (plain, encodings) in self._each_skeleton.items():
            for pattern in filter(None, (plain, encodings)):
                for match in pattern.finditer(skeleton):
                    start, end = places[match.start()][0], places[match.end() - 1][1]
                    if pattern is encodings:  # the surrounding run may contain the rest of the secret
                        start = len(text[:start].rstrip(_RUN_CHARACTERS))
                        end = len(text) - len(text[end:].lstrip(_RUN_CHARACTERS))
                    yield Span(start, end, label, Rank.REGISTERED)

    @cached_property
    def _skeletons(self) -> Any:
        every = (forms for secret in self._secrets.values() for forms in _skeletons(secret))
        return _compile(_either(set().union(*every) or {"\0"}))  # a skeleton has no control characters

    @cached_property
    def _each_skeleton(self) -> dict[str, tuple[Any, Any]]:
        def compile_any(words: set[str]) -> Any:
            return _compile(_either(words)) if words else None

        pairs = {label: _skeletons(secret) for label, secret in self._secrets.items()}
        return {label: (compile_any(one), compile_any(other)) for label, (one, other) in pairs.items()}


def _skeletons(secret: str) -> tuple[set[str], set[str]]:
    """Return the skeletons of a secret, and of its encodings; without those shorter than SHORTEST."""
    data = secret.encode()
    digits = [f"{byte:02x}" for byte in data]
    plain = {secret, secret[::-1], decode_escapes(secret)}
    base32 = cores(data, base64.b32encode, bits=5)
    encodings = {*cores(data), *base32, *(joint.join(digits) for joint in _JOINTS)}
    first, second = (
        {one for one in map(skeleton, spellings) if len(one) >= SHORTEST} for spellings in (plain, encodings)
    )
    return first, second


def forms(secret: str) -> set[str]:
    """Return the spellings of a secret that are searched verbatim, ignoring case."""
    data = secret.encode()
    return {
        secret,
        secret[::-1],
        *(json.dumps(secret, ensure_ascii=narrow)[1:-1] for narrow in (True, False)),
        *(quote(data, safe=""), quote(data), quote_plus(data), "".join(f"%{byte:02x}" for byte in data)),
        *(data.hex(), data.hex(" "), data.hex(":"), "".join(f"\\x{byte:02x}" for byte in data)),
    }


def cores(data: bytes, encode: Callable[[bytes], bytes] = base64.b64encode, bits: int = 6) -> set[str]:
    """Encode the bytes as base64 or base32 in each alignment; returns the parts independent of neighbours."""
    encodings = set()
    for shift in range(3 if bits == 6 else 5):
        encoding = encode(b"\0" * shift + data).decode()
        core = encoding[-(-shift * 8 // bits) : (shift + len(data)) * 8 // bits]
        encodings |= {core, core.replace("+", "-").replace("/", "_")}
    return encodings


def _either(words: Iterable[str]) -> str:
    """Build a pattern for any of the words, longest first."""
    literals = (
        "".join(char if char.isalnum() else f"\\x{{{ord(char):x}}}" for char in word)
        for word in sorted(words, key=lambda word: (-len(word), word))
    )
    return f"(?:{'|'.join(literals)})"


def _compile(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.max_mem = 64 << 20  # there may be many registered values, each with about twenty forms
    return re2.compile(pattern, options)
