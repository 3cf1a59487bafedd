"""Shared code of stores with a sidecar: their URLs, safe names, vectors, and missing features."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np
from msgspec import Struct, field

from memorywire.model.capabilities import Feature
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest
from memorywire.model.secrets import path_of
from memorywire.model.space import Space

FEATURES = frozenset({Feature.VECTOR, Feature.FTS, Feature.HARD_DELETE, Feature.RECALL_TRACKING})
"""The features that the sidecar and memorywire's ranking add to any store."""

_LONGEST = 120
_STRANGE = re.compile(r"[^A-Za-z0-9-]")


def spelled(name: str) -> str:
    """Encode a name in safe characters: plain names stay readable, no two are equal, length is limited."""
    plain = _STRANGE.sub(_escape, name)
    if len(plain) <= _LONGEST:
        return plain
    # Three underscores, because an encoded name never contains even two in a row.
    return f"{plain[:40]}___{hashlib.blake2b(name.encode(), digest_size=16).hexdigest()}"


def _escape(match: re.Match[str]) -> str:
    # Escape each UTF-8 byte of the character; lone surrogates are rejected earlier.
    return "".join(f"_{byte:02x}" for byte in match.group().encode())


class Place(Struct, frozen=True, kw_only=True):
    """A parsed URL `scheme://HOST/PATH?OPTIONS`; without a path nothing is kept after the process ends."""

    host: str = ""
    path: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def locate(url: str, *, options: frozenset[str] = frozenset()) -> Place:
    """Parse a store URL. `/./` and `/~/` start a relative and a home path; an unknown option raises."""
    parts = urlsplit(url)
    if parts.fragment:
        raise InvalidRequest("a store URL has no fragment", field="store", fix="write # as %23")
    return Place(host=parts.netloc, path=_path(unquote(parts.path)), options=_options(parts.query, options))


def _path(path: str) -> Path | None:
    if "\0" in path:
        raise InvalidRequest("the URL does not name a file", field="store")
    return path_of(path) if path.strip("/") else None


def _options(query: str, names: frozenset[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in names or name in options:
            raise InvalidRequest(
                f"unknown store option {name}",
                field="store",
                fix=f"the options are: {', '.join(sorted(names)) or 'none'}",
            )
        options[name] = value
    return options


def half(vector: bytes) -> bytes:
    """Return a float32 vector as float16, the form that every store keeps."""
    return np.frombuffer(vector, "<f4").astype("<f2").tobytes()


def floats_of(bits: bytes) -> bytes:
    """Return the float32 vector of one made by `half`."""
    return np.frombuffer(bits, "<f2").astype("<f4").tobytes()


def no_history() -> CapabilityUnsupported:
    return CapabilityUnsupported("as_of is not available: the store keeps no history", field="as_of")


def fitting(vector: bytes, space: Space) -> bytes:
    """Return the vector. Raises InvalidRequest if its size is not that of the space."""
    if len(vector) != 4 * space.dimension:
        raise InvalidRequest(f"the vector is not of the space {space}", field="vector")
    return vector
