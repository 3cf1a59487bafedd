"""The secrets a host registered, found in every form in which they usually travel."""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from memorywire.governance.redact.rules import Rank, Span, legible
from memorywire.model.errors import InvalidRequest

SHORTEST = 6
"""A shorter secret would occur by chance in ordinary words, and in most base64."""

_LABEL = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_RUN = "[A-Za-z0-9+/_=-]*"


class Known:
    """Registered values: exact, in any case, reversed, and as base64, hex, URLs or JSON would write them."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        for label, secret in secrets.items():
            _refuse_unusable(label, secret)
        patterns = {label: _pattern(secret) for label, secret in secrets.items()}
        self._each = {label: _compiled(pattern) for label, pattern in patterns.items()}
        self._gate = _compiled("|".join(patterns.values())) if patterns else None

    def __bool__(self) -> bool:
        return self._gate is not None

    def find(self, text: str) -> Iterator[Span]:
        """Every place of every value; where one holds another, both are named and the longer one wins."""
        if self._gate is None or not self._gate.search(text):
            return
        for label, pattern in self._each.items():
            for found in pattern.finditer(text):
                yield Span(found.start(), found.end(), label, Rank.REGISTERED)


def forms(secret: str) -> set[str]:
    """The spellings of a secret that stand as they are, apart from case."""
    data = secret.encode()
    return {
        secret,
        secret[::-1],
        *(json.dumps(secret, ensure_ascii=narrow)[1:-1] for narrow in (True, False)),
        *(quote(data, safe=""), quote(data), quote_plus(data), "".join(f"%{byte:02x}" for byte in data)),
        *(data.hex(), data.hex(" "), data.hex(":"), "".join(f"\\x{byte:02x}" for byte in data)),
    }


def cores(data: bytes) -> set[str]:
    """What base64 makes of the bytes in each of the three alignments, whatever stands around them."""
    found = set()
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + data).decode()
        core = coded[-(-shift * 8 // 6) : (shift + len(data)) * 8 // 6]
        found |= {core, core.replace("+", "-").replace("/", "_")}
    return found


def _pattern(secret: str) -> str:
    return f"{_either(forms(secret))}|{_RUN}{_either(cores(secret.encode()))}{_RUN}"


def _either(words: Iterable[str]) -> str:
    """A pattern for any of the words, the longest first."""
    return f"(?:{'|'.join(map(_literal, sorted(words, key=lambda word: (-len(word), word))))})"


def _literal(word: str) -> str:
    return "".join(char if char.isalnum() else f"\\x{{{ord(char):x}}}" for char in word)


def _compiled(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.max_mem = 64 << 20  # registered values may be many, and each has some twenty forms
    return re2.compile(pattern, options)


def _refuse_unusable(label: str, secret: str) -> None:
    if not _LABEL.fullmatch(label):
        raise InvalidRequest(
            "the label of a registered secret is not usable",
            field="label",
            fix="use 1 to 64 letters, digits, or any of _.:-",
        )
    if legible(secret) != secret:
        raise InvalidRequest(
            f"the secret registered as {label} holds halves of characters",
            field=label,
            fix="register text, not bytes read as text",
        )
    if len(secret.strip()) < SHORTEST:
        raise InvalidRequest(
            f"the secret registered as {label} is shorter than {SHORTEST} characters",
            field=label,
            fix="register a longer value: one so short would blank out ordinary words",
        )
