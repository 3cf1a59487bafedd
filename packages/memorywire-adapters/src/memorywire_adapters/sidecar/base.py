"""What stores that keep a sidecar share: their URLs, safe names, vectors, and what they cannot do."""

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
"""The features that the sidecar and our own ranking give to any store."""

_LONGEST = 120
_STRANGE = re.compile(r"[^A-Za-z0-9-]")


def spelled(name: str) -> str:
    """The name in safe characters: readable where it is plain, always unambiguous, never too long."""
    plain = _STRANGE.sub(_escape, name)
    if len(plain) <= _LONGEST:
        return plain
    # Three underscores: nothing spelled out has even two.
    return f"{plain[:40]}___{hashlib.blake2b(name.encode(), digest_size=16).hexdigest()}"


def _escape(match: re.Match[str]) -> str:
    # Every sign in as many bytes as UTF-8 has for it; a lone surrogate never comes this far.
    return "".join(f"_{byte:02x}" for byte in match.group().encode())


class Place(Struct, frozen=True, kw_only=True):
    """`scheme://HOST/PATH?OPTIONS`; without a path nothing outlives the process."""

    host: str = ""
    path: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def locate(url: str, *, options: frozenset[str] = frozenset()) -> Place:
    """Read a URL; an unknown option is an error. `/./` and `/~/` begin a relative and a home path."""
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
    """A float32 vector in 16 bits, as every store keeps them."""
    return np.frombuffer(vector, "<f4").astype("<f2").tobytes()


def floats_of(bits: bytes) -> bytes:
    """The float32 vector that `half` made smaller."""
    return np.frombuffer(bits, "<f2").astype("<f4").tobytes()


def no_history() -> CapabilityUnsupported:
    return CapabilityUnsupported("as_of is not available: the store keeps no history", field="as_of")


def fitting(vector: bytes, space: Space) -> bytes:
    """The vector, if it has the size of the space's."""
    if len(vector) != 4 * space.dimension:
        raise InvalidRequest(f"the vector is not of the space {space}", field="vector")
    return vector
