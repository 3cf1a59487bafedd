"""Secrets in URLs and values: found, masked for display, and read from the environment."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import SplitResult, unquote_plus, urlsplit

from msgspec import Struct

from memorywire.model.errors import InvalidRequest

MASK = "***"

_NAMES_USER = frozenset(
    "pgvector postgres postgresql shards+postgresql mysql mariadb redis rediss mongodb mongodb+srv neo4j "
    "bolt clickhouse amqp amqps ssh sftp ftp smtp".split()
)
"""URL schemes in which the user is a name. In all others, a user without a password is a token."""

_SECRET_WORDS = re.compile(
    r"token|secret|passw|pwd|apikey|accesskey|accountkey|sharedkey|authkey|credential|signature|bearer"
)
_SECRET_NAMES = frozenset({"key", "auth", "sig", "pass", "pw", "jwt", "code", "authorization", "sas"})
_PATHS = frozenset({"sslkey", "sslpassfile", "passfile"})
_OPTION = re.compile(r"([^&;=]+)=([^&;]*)")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_DRIVE = re.compile(r"/[A-Za-z]:/")
_PLACEHOLDER = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}|\{key\}")


def mask_url(url: str) -> str:
    """Return the URL with `***` in place of every password, token and key; other text as it is."""
    parts = _split(url)
    if parts is None or _has_unquoted_password(url, parts):
        head, separator, rest = url.partition("://")
        return f"{head}{separator}{MASK}@{rest.rpartition('@')[2]}" if "@" in rest else url
    query = _OPTION.sub(_mask_option, parts.query)
    fragment = _OPTION.sub(_mask_option, parts.fragment)
    login, at, host = parts.netloc.rpartition("@")
    netloc = f"{_mask_login(parts.scheme, login)}{at}{host}"
    if (netloc, query, fragment) == (parts.netloc, parts.query, parts.fragment):
        return url  # reassembling would rewrite `sqlite://` and the like
    head, _, _ = url.partition("//")
    tail = f"?{query}" if query else ""
    return f"{head}//{netloc}{parts.path}{tail}" + (f"#{fragment}" if fragment else "")


def find_literal_secret(url: str) -> str | None:
    """Name the part of the URL with a plain-text secret: `the password`, `the option api_key`, or None.

    `{key}` and `${NAME}` are not secrets: they refer to where the secret is stored.
    """
    parts = _split(url)
    if parts is None or _has_unquoted_password(url, parts):
        return "the password" if "@" in url.partition("://")[2] else None
    user, colon, password = parts.netloc.rpartition("@")[0].partition(":")
    if colon and _is_literal(password):
        return "the password"
    if not colon and parts.scheme not in _NAMES_USER and _is_literal(user):
        return "the user"
    return next((f"the option {name}" for name, value in _secret_options(parts) if _is_literal(value)), None)


def expand_variables(url: str, env: Mapping[str, str], *, field: str) -> str:
    """Replace every `${NAME}` by the value of that environment variable, quoted for a URL."""

    def value_of(variable: re.Match[str]) -> str:
        from urllib.parse import quote

        if not env.get(variable[1]):
            raise InvalidRequest(
                f"the URL needs the environment variable {variable[1]}, which is not set",
                field=field,
                fix=f"set {variable[1]}",
            )
        return quote(env[variable[1]], safe="")

    return _VARIABLE.sub(value_of, url) if "${" in url else url


def _split(url: str) -> SplitResult | None:
    if "://" not in url:
        return None
    try:
        return urlsplit(url)
    except ValueError:
        return None


def _has_unquoted_password(url: str, parts: SplitResult) -> bool:
    """Whether an unquoted `/`, `?` or `#` in a password cut the host short."""
    _, colon, port = parts.netloc.partition(":")
    return bool(colon) and "@" not in parts.netloc and not port.isdigit() and "@" in url


def _mask_login(scheme: str, login: str) -> str:
    user, colon, password = login.partition(":")
    if colon:
        return f"{user}:{MASK if _is_literal(password) else password}"
    return MASK if scheme not in _NAMES_USER and _is_literal(user) else user


def _mask_option(option: re.Match[str]) -> str:
    secret = _is_secret_name(option[1]) and _is_literal(option[2])
    return f"{option[1]}={MASK}" if secret else option[0]


def _secret_options(parts: SplitResult) -> Iterator[tuple[str, str]]:
    for option in _OPTION.finditer(f"{parts.query}&{parts.fragment}"):
        if _is_secret_name(option[1]):
            yield unquote_plus(option[1]), option[2]


def _is_secret_name(name: str) -> bool:
    plain = re.sub(r"[^a-z0-9]", "", unquote_plus(name).lower())
    if plain in _PATHS:
        return False
    return plain in _SECRET_NAMES or plain.endswith("key") or bool(_SECRET_WORDS.search(plain))


def _is_literal(value: str) -> bool:
    """Whether the text is more than references to a secret that is stored elsewhere."""
    return bool(_PLACEHOLDER.sub("", unquote_plus(value)))


def path_of(path: str) -> Path:
    """Return the path of a URL: `/~/` is relative to the user's home, `/./` and `/../` to this folder."""
    if path.startswith("/~/"):
        return Path(path[1:]).expanduser()
    if path.startswith(("/./", "/../")):
        return Path(path[1:]).absolute()
    return Path(path[1:] if os.name == "nt" and _DRIVE.match(path) else path)


def url_path(path: Path) -> str:
    """Return an absolute path for a URL; a drive letter follows a slash, as `path_of` expects."""
    return path.absolute().as_uri().removeprefix("file://")


class Confidential(Struct, frozen=True):
    """A struct whose `repr` omits the fields named in `HIDDEN`.

    A Struct shows every field, both in `repr` and to rich, which prints the locals of a traceback.
    """

    HIDDEN: ClassVar[frozenset[str]] = frozenset()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"
        )

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self.HIDDEN]
