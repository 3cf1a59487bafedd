"""Parses a `postgresql:` URL: the database and our options."""

import re
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from msgspec import Struct

from memorywire.model.errors import InvalidRequest

SCHEMA = "memorywire"
POOL = 10
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,55}")  # Postgres allows 63; the rest is for the suffix of a channel
_MOST = 1000
_CONNECT_SECONDS = "10"
_NEXT_HOST_SECONDS = "2"  # so that one unreachable host does not delay trying the next
_OURS = frozenset({"schema", "pool", "prepare", "notify", "stale"})


class Location(Struct, frozen=True, kw_only=True):
    """The libpq connection settings, the schema, and the most connections per process.

    `prepare` turns prepared statements on or off; None means off behind a pooler, which may use another
    connection for every transaction.
    `notify` announces every commit to listeners; the server then serialises commits.
    `stale` allows reads from a replica that may lag behind.
    """

    dsn: str
    schema: str = SCHEMA
    pool: int = POOL
    prepare: bool | None = None
    notify: bool = False
    stale: bool = False

    @property
    def primary(self) -> str:
        """The DSN for a connection that can write: with several hosts, the one that accepts writes."""
        return self._build_dsn("read-write")

    @property
    def replica(self) -> str:
        """The DSN for a connection that may lag behind: any standby, else the primary."""
        return self._build_dsn("prefer-standby", load_balance_hosts="random")

    @property
    def has_several_hosts(self) -> bool:
        parts = urlsplit(self.dsn)
        return "," in dict(parse_qsl(parts.query)).get("host", parts.netloc.rpartition("@")[2])

    def _build_dsn(self, attribute: str, **more: str) -> str:
        options, several = dict(parse_qsl(urlsplit(self.dsn).query)), self.has_several_hosts
        options = {"connect_timeout": _NEXT_HOST_SECONDS if several else _CONNECT_SECONDS} | options
        if several:
            options |= {"target_session_attrs": attribute} | more
        return f"{self.dsn.partition('?')[0]}?{urlencode(options, quote_via=quote)}"

    def __str__(self) -> str:
        """Return it without user, password and options, so that it can be displayed."""
        parts = urlsplit(self.dsn)
        host = parts.netloc.rpartition("@")[2] or dict(parse_qsl(parts.query)).get("host", "localhost")
        return f"{host}{parts.path} (schema {self.schema})"

    def __repr__(self) -> str:
        return f"Location({self})"


def locate(url: str, *, schema: str = SCHEMA) -> Location:
    """Parse a URL; options that are not ours go to libpq. `schema` is the default if the URL names none."""
    parts = urlsplit(url)
    if parts.scheme not in ("postgresql", "postgres", "pgvector") or parts.fragment:
        raise InvalidRequest(
            "the URL does not name a Postgres database",
            field="store",
            fix="write postgresql://user@host:5432/database",
        )
    theirs = [(name, value) for name, value in parse_qsl(parts.query) if name not in _OURS]
    ours = {name: value for name, value in parse_qsl(parts.query, keep_blank_values=True) if name in _OURS}
    return Location(
        dsn=f"postgresql://{parts.netloc}{parts.path}?{urlencode(theirs, quote_via=quote)}",
        schema=_schema(ours.get("schema", schema)),
        pool=_pool(ours.get("pool", str(POOL))),
        prepare=_switch("prepare", ours["prepare"]) if ours.get("prepare", "auto") != "auto" else None,
        notify=_switch("notify", ours.get("notify", "off")),
        stale=_switch("stale", ours.get("stale", "off").replace("ok", "on")),
    )


def _schema(name: str) -> str:
    if not _NAME.fullmatch(name) or name.startswith("pg_"):
        raise InvalidRequest(
            "the option schema must be a plain name",
            field="store",
            fix="use small letters, digits and _, 56 of them at most",
        )
    return name


def _pool(number: str) -> int:
    if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= _MOST:
        raise InvalidRequest("the option pool must be a number of connections", field="store", fix="pool=10")
    return int(number)


def _switch(name: str, word: str) -> bool:
    if word not in ("on", "off"):
        raise InvalidRequest(f"the option {name} must be on or off", field="store", fix=f"{name}=on")
    return word == "on"
