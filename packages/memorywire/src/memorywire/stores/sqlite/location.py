"""The database and the options of a `sqlite:` URL."""

import os
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct

from memorywire.model.errors import InvalidRequest
from memorywire.model.secrets import path_of, url_path

SYNCHRONOUS = frozenset({"full", "normal"})
_FIX = "write sqlite:///absolute/path, sqlite:///./relative/path, sqlite:///~/path or sqlite:// (in memory)"


class Location(Struct, frozen=True, kw_only=True):
    """A file, or None for a database in memory; `synchronous=normal` reduces durability."""

    path: Path | None
    synchronous: str = "full"

    def __str__(self) -> str:
        return "memory" if self.path is None else str(self.path)

    @property
    def writable(self) -> bool:
        """Whether the file and its folder are writable; missing ones count as writable."""
        path = self.path
        if path is None or not path.exists():
            return True
        return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)

    @property
    def url(self) -> str:
        """The URL of this database for a command line."""
        return "sqlite://" if self.path is None else f"sqlite://{url_path(self.path)}"


def locate(url: str) -> Location:
    """Parse a URL; raises InvalidRequest for any part that would be ignored."""
    parts = urlsplit(url)
    if parts.scheme != "sqlite" or parts.netloc or parts.fragment:
        raise InvalidRequest("the URL does not name a SQLite file", field="store", fix=_FIX)
    return Location(path=_path(unquote(parts.path)), **_options(parts.query))


def _path(path: str) -> Path | None:
    if not path or path == "/:memory:":
        return None
    if path.startswith("//"):  # four slashes, as SQLAlchemy writes an absolute path
        path = path[1:]
    elif _is_relative(path):
        raise InvalidRequest(
            f"three slashes begin an absolute path, and {path} would be in the root folder",
            field="store",
            fix=f"write sqlite:///.{path} for a file below the current folder, or sqlite:///{path} if it is"
            " absolute",
        )
    if path.endswith("/") or "\0" in path:
        raise InvalidRequest("the URL does not name a file", field="store", fix=_FIX)
    return path_of(path)


def _is_relative(path: str) -> bool:
    """Guess whether a path is meant as relative: its first part is the file or a missing folder."""
    first, *rest = path[1:].split("/")
    if path_of(path).drive or first in ("~", ".", ".."):
        return False
    return not (rest and Path("/", first).exists())


def _options(query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name != "synchronous" or value not in SYNCHRONOUS or name in options:
            raise InvalidRequest(
                f"unknown store option {name}={value}",
                field="store",
                fix="the only option is synchronous=full (the default) or synchronous=normal",
            )
        options[name] = value
    return options
