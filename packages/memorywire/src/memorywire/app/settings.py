"""The settings: environment variables take precedence over a TOML file, and the file over the defaults."""

import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote, unquote, urlsplit

from msgspec import field

from memorywire.app.options import Reading, Several
from memorywire.model.consolidation import (
    LONGEST,
    OFF,
    PIN,
    SHORTEST,
    WINDOW_MAX,
    ConsolidationSettings,
    Limits,
    Retention,
    Spending,
)
from memorywire.model.errors import InvalidRequest
from memorywire.model.layer import CALLS_A_DAY
from memorywire.model.record import DEFAULT_TENANT, Json, MemoryType
from memorywire.model.secrets import Confidential, expand_variables, find_literal_secret, path_of, url_path
from memorywire.pipeline.context import Routing, WritePolicy
from memorywire.pipeline.extract import DEFAULT_EXTRACTOR
from memorywire.stores.contract import Store
from memorywire.stores.router import DEADLINE, WRITE_DEADLINE, Route, by_rules, load_route
from memorywire.stores.router.router import split_name

T = TypeVar("T")

_MOMENT = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
_LONGEST = 600.0  # seconds, and weights
_KINDS = ", ".join(MemoryType)

WANTED: Mapping[str, str] = {
    "keep": f"days by kind of memory, or 0 for ever, such as {{episodic = 90}}; kinds: {_KINDS}",
    "most": f"a number by kind of memory, or 0 for any, such as {{episodic = 5000}}; kinds: {_KINDS}",
    "half_life": "days, more than 0",
    "pins": 'a list of tags, such as ["pinned", "contract"]',
    "changes": "a number of memories, 1 or more",
    "ratio": "a share from 0 to 1",
    "seconds": "seconds, more than 0",
    "model": '"off", "openai+https://HOST/v1?model=NAME" or "anthropic+https://HOST/v1?model=NAME"',
    "tokens": "a number of tokens, 0 or more",
    "price": "what a million tokens cost, 0 or more",
    "cost": "what a run may cost, 0 or more",
    "promote": 'seconds, 0.1 or more, or "off"',
    "window": f"how many memories, 1 to {WINDOW_MAX}, or 0",
    "consolidator": "the name of an entry point of the group memorywire.consolidators",
    "night": 'a time of day in UTC, such as "03:00", or "off"',
}
"""The keys of the table, and the valid values of each."""


class _Table:
    """A table of the settings file; `expected` describes the valid values of each key, for errors."""

    def __init__(self, name: str, values: Mapping[str, Json], expected: Mapping[str, str]) -> None:
        for key in sorted(set(values) - set(expected)):
            fix = f"known keys: {', '.join(expected)}"
            raise InvalidRequest(f"{name} has an unknown key {key!r}", field=name, fix=fix)
        self._name = name
        self._values = values
        self._expected = expected

    def read(self, key: str, default: T, parse: Callable[[Json], T | None]) -> T:
        if key not in self._values:
            return default
        value = parse(self._values[key])
        if value is None:
            detail = f"{self._name}.{key} is {self._values[key]!r}"
            raise InvalidRequest(detail, field=self._name, fix=self._expected[key])
        return value

    def read_switch(self, key: str, default: T | None, parse: Callable[[Json], T | None]) -> T | None:
        return None if self._values.get(key) == OFF else self.read(key, default, parse)


def parse_consolidation(values: Mapping[str, Json], env: Mapping[str, str]) -> ConsolidationSettings:
    """Parse the table; MEMORYWIRE_DREAM_MODEL and MEMORYWIRE_DREAM_KEY are read from the environment."""
    table, usual = _Table("dream", values, WANTED), ConsolidationSettings()
    retention, limits = usual.retention, usual.limits
    duration, amount = _in_range(_ABOVE_ZERO, 86_400), _in_range(0, _MOST)
    return ConsolidationSettings(
        retention=Retention(
            days=by_kind(retention.days, table.read("keep", {}, _counts)),
            most=by_kind(retention.most, table.read("most", {}, _counts)),
            half_life_days=table.read("half_life", retention.half_life_days, duration),
            pins=table.read("pins", retention.pins, _tags),
        ),
        limits=Limits(
            changes=table.read("changes", limits.changes, _whole(1)),
            ratio=table.read("ratio", limits.ratio, _in_range(0, 1)),
            seconds=table.read("seconds", limits.seconds, duration),
        ),
        spending=Spending(
            tokens=table.read("tokens", usual.spending.tokens, _whole(0)),
            price=table.read("price", None, amount),
            cost=table.read("cost", None, amount),
        ),
        model=env.get("MEMORYWIRE_DREAM_MODEL") or table.read("model", usual.model, _text),
        key=env.get("MEMORYWIRE_DREAM_KEY"),
        promote=table.read_switch("promote", usual.promote, _in_range(SHORTEST, LONGEST)),
        window=table.read("window", usual.window, _whole(0, WINDOW_MAX)),
        night=table.read_switch("night", usual.night, moment_of_day),
        consolidator=table.read("consolidator", usual.consolidator, _text),
    )


def by_kind(usual: Mapping[MemoryType, int], overrides: Mapping[MemoryType, int]) -> dict[MemoryType, int]:
    """Return the default numbers, replaced by the overrides; 0 removes a kind."""
    return {kind: number for kind, number in {**usual, **overrides}.items() if number}


def moment_of_day(value: Json) -> int | None:
    """Return a time such as `03:00` as minutes after midnight; None for any other value."""
    match = _MOMENT.fullmatch(value) if isinstance(value, str) else None
    return None if match is None else 60 * int(match[1]) + int(match[2])


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


_ABOVE_ZERO = math.ulp(0.0)
_MOST = 10**9 - 1


def _in_range(least: float, most: float) -> Callable[[Json], float | None]:
    """Return a parser of numbers in this range; like all parsers here, it returns None if invalid."""

    def parse(value: Json) -> float | None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if is_number and least <= value <= most else None

    return parse


def _whole(least: int, most: int = _MOST) -> Callable[[Json], int | None]:
    def parse(value: Json) -> int | None:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return value if is_whole and least <= value <= most else None

    return parse


def _counts(value: Json) -> dict[MemoryType, int] | None:
    is_sound = isinstance(value, Mapping) and set(value) <= set(MemoryType)
    if not is_sound or None in map(_whole(0), value.values()):
        return None
    return {MemoryType(kind): number for kind, number in value.items()}


def _tags(value: Json) -> frozenset[str] | None:
    """Parse a list of tags; `pinned` is always added."""
    if not isinstance(value, list) or not all(isinstance(tag, str) and tag for tag in value):
        return None
    return frozenset({PIN, *value})


READS = ("fusion", "rules", "learned")
_WANTED = {
    "write": f"one of: {', '.join(WritePolicy)}",
    "read": f"one of: {', '.join(READS)}",
    "routes": "the path of a file that calibrate --routes wrote",
    "deadline": "seconds, more than 0",
    "writing": "seconds, more than 0",
    "hedge": "seconds, more than 0",
    "register": "true or false",
    "rerank": "true or false",
    "trim": "a number of stores, 0 or more",
    "weights": "a table of numbers by store name",
    "seals": "a table of variable names by store name",
}
KEYS = tuple(_WANTED)


def several_from(values: Mapping[str, Json], env: Mapping[str, str]) -> Several:
    """Parse the router table. `seals` maps each store to the environment variable that holds its key."""
    table, seconds = _Table("router", values, _WANTED), _in_range(_ABOVE_ZERO, _LONGEST)
    seals: dict[str, str] = table.read("seals", {}, _texts)
    for store, variable in seals.items():
        if not env.get(variable):
            detail = f"the seal of store {store} is to be in {variable}, which is not set"
            raise InvalidRequest(detail, field="router")
    return Several(
        routing=Routing(
            write=write_policy(env.get("MEMORYWIRE_WRITE") or values.get("write", WritePolicy.ALL)),
            register=table.read("register", True, _flag),
            rerank=table.read("rerank", True, _flag),
            trim=table.read("trim", 0, _whole(0)),
            weights=table.read("weights", {}, _weights),
        ),
        deadline=table.read("deadline", DEADLINE, seconds),
        writing=table.read("writing", WRITE_DEADLINE, seconds),
        hedge=table.read("hedge", None, seconds),
        seals={store: env[variable] for store, variable in seals.items()},
        route=_read_route(table),
    )


def _read_route(table: "_Table") -> Route | None:
    """Return the route, which selects the stores that a recall queries; None for all of them."""
    read = table.read("read", "fusion", lambda name: name if name in READS else None)
    path: str | None = table.read("routes", None, _text)
    if (read == "learned") is not (path is not None):
        detail = 'routes go with read = "learned", which needs them'
        raise InvalidRequest(detail, field="router", fix=f'routes = "ROUTES", {_WANTED["routes"]}')
    if path is not None:
        return load_route(path)
    return by_rules if read == "rules" else None


def write_policy(name: Json) -> WritePolicy:
    try:
        return WritePolicy(name)
    except ValueError:
        raise InvalidRequest(
            f"there is no write policy {name!r}", field="write", fix=f"one of: {', '.join(WritePolicy)}"
        ) from None


def _flag(value: Json) -> bool | None:
    return value if isinstance(value, bool) else None


def _weights(value: Json) -> dict[str, float] | None:
    if not isinstance(value, Mapping) or None in map(_in_range(0, _LONGEST), value.values()):
        return None
    return {name: float(weight) for name, weight in value.items()}


def _texts(value: Json) -> dict[str, str] | None:
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in value.values()):
        return None
    return dict(value)


DEFAULT_AGENT = "default"
DEFAULT_EMBEDDER = "minilm"
DEFAULT_POLICY = "balanced"
KEEP, REDACT = "keep", "redact"
CONFIG_NAME = "memorywire.toml"
_DIGITS = 10
_PREFIX = "MEMORYWIRE_"
_ELSEWHERE = ("HOME", "CONFIG", "URL", "TOKEN")
_ALIKE = 0.7

_KEYS = {
    "store": "stores",
    "agent": "agent",
    "user": "user",
    "tenant": "tenant",
    "embedder": "embedder",
    "floor": "floor",
    "match": "match",
    "policy": "policy",
    "journal": "journal",
    "secrets": "secrets",
    "personal_data": "personal_data",
    "extractor": "extractor",
    "extractor_calls": "extractor_calls",
    "console": "console",
    "witness": "witnesses",
    "mcp_tools": "mcp_tools",
    "archive": "archive",
    "router": "router",
    "dream": "consolidation",
}

_TABLES = frozenset({"router", "dream"})
_URLS = ("stores", "journal", "embedder", "extractor")
_NUMBERS = frozenset({"floor", "match", "extractor_calls"})


class Settings(Confidential, frozen=True, kw_only=True):
    """All settings of a memory; `sources` lists the file and the variables that they were read from."""

    HIDDEN: ClassVar = frozenset({"stores", "embedder_key", "secrets", "extractor_key"})

    home: Path
    stores: tuple[str, ...]
    agent: str = DEFAULT_AGENT
    user: str | None = None
    tenant: str | None = None
    embedder: str = DEFAULT_EMBEDDER
    embedder_key: str | None = None
    floor: float | None = None
    match: float | None = None
    policy: str = DEFAULT_POLICY
    journal: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict)
    personal_data: str = KEEP
    console: str | None = None
    witnesses: tuple[str, ...] = ()
    mcp_tools: tuple[str, ...] = ()
    archive: str | None = None
    several: Several = field(default_factory=Several)
    extractor: str = DEFAULT_EXTRACTOR
    extractor_key: str | None = None
    extractor_calls: int = CALLS_A_DAY
    consolidation: ConsolidationSettings = field(default_factory=ConsolidationSettings)
    sources: tuple[str, ...] = ()

    @property
    def redact_personal(self) -> bool:
        """Whether personal data is redacted from new memories."""
        return self.personal_data == REDACT

    @property
    def reading(self) -> Reading:
        """The extractor settings."""
        return Reading(extractor=self.extractor, key=self.extractor_key, calls_a_day=self.extractor_calls)

    @property
    def opening(self) -> dict[str, Any]:
        """The arguments with which to open a `Memory`."""
        return {
            "agent_id": self.agent,
            "stores": self.stores,
            "user_id": self.user,
            "tenant": self.tenant or DEFAULT_TENANT,
            "embedder": self.embedder,
            "embedder_key": self.embedder_key,
            "floor": self.floor,
            "match": self.match,
            "policy": self.policy,
            "journal": self.journal,
            "secrets": self.secrets,
            "redact_personal": self.redact_personal,
            "several": self.several,
            "reading": self.reading,
            "witnesses": self.witnesses,
        }


def load_settings(*, env: Mapping[str, str], config: Path | None = None) -> Settings:
    """Settings from MEMORYWIRE_* variables over a TOML file over defaults.

    The file is `config`, else MEMORYWIRE_CONFIG, else `memorywire.toml` in the home folder when
    there is one. The keys of endpoints are read from the environment only, and `secrets` names
    the variables whose values must never be stored: a secret must not be in a file that people copy.
    A URL in the file may contain `${NAME}`, which is replaced by the value of that variable.
    """
    home = data_home(env)
    named = config or (Path(env["MEMORYWIRE_CONFIG"]) if "MEMORYWIRE_CONFIG" in env else None)
    path = named or home / CONFIG_NAME
    document = _read_toml(path) if named or path.is_file() else {}
    for name in document.keys() & set(_URLS):  # it may contain `${NAME}`
        value = document[name]
        urls = [expand_variables(url, env, field=name) for url in _as_list(value)]
        document[name] = urls if isinstance(value, list) else urls[0]
    names = {key: field for key, field in _KEYS.items() if key not in _TABLES}
    by_field = {field: env.get(f"MEMORYWIRE_{key.upper()}") for key, field in names.items()}
    values = {**document, **{field: value for field, value in by_field.items() if value}}
    variables = tuple(sorted(name for name in env if name.startswith("MEMORYWIRE_")))
    stores = values.get("stores") or [default_store(env)]
    personal_data = values.get("personal_data", KEEP)
    if personal_data not in (KEEP, REDACT):
        raise InvalidRequest("personal_data must be keep or redact", field="personal_data", fix=REDACT)
    return Settings(
        home=home,
        stores=tuple(_as_list(stores)),
        agent=values.get("agent", DEFAULT_AGENT),
        user=values.get("user"),
        tenant=values.get("tenant"),
        embedder=values.get("embedder", DEFAULT_EMBEDDER),
        embedder_key=env.get("MEMORYWIRE_EMBEDDER_KEY"),
        floor=_share(values, "floor"),
        match=_share(values, "match"),
        policy=values.get("policy", DEFAULT_POLICY),
        journal=values.get("journal"),
        secrets={name: env[name] for name in _split_list(values.get("secrets", "")) if env.get(name)},
        personal_data=personal_data,
        console=values.get("console"),
        witnesses=_split_list(values.get("witnesses", ())),
        archive=values.get("archive"),
        mcp_tools=_split_list(values.get("mcp_tools", ())),
        several=several_from(values.get("router", {}), env),
        extractor=values.get("extractor", DEFAULT_EXTRACTOR),
        extractor_key=env.get("MEMORYWIRE_EXTRACTOR_KEY"),
        extractor_calls=_parse_calls(values.get("extractor_calls", CALLS_A_DAY)),
        consolidation=parse_consolidation(values.get("consolidation", {}), env),
        sources=(*((str(path),) if document else ()), *variables),
    )


def misspelt(env: Mapping[str, str]) -> dict[str, str]:
    """Return the unused variables, each with the name of the setting that it resembles."""
    from difflib import get_close_matches

    keys = [*(key.upper() for key in _KEYS), *_ELSEWHERE]
    suffixes = {name: name.removeprefix(_PREFIX) for name in sorted(env) if name.startswith(_PREFIX)}
    others = {
        name: suffix
        for name, suffix in suffixes.items()
        if suffix not in keys and not suffix.endswith("_KEY")
    }
    close = {name: get_close_matches(suffix, keys, 1, _ALIKE) for name, suffix in others.items()}
    return {name: _PREFIX + matches[0] for name, matches in close.items() if matches}


def data_home(env: Mapping[str, str]) -> Path:
    """Return MEMORYWIRE_HOME, else the platform's folder for user data."""
    if env.get("MEMORYWIRE_HOME"):
        return Path(env["MEMORYWIRE_HOME"]).expanduser()
    import platformdirs

    return platformdirs.user_data_path("memorywire", appauthor=False)


def default_store(env: Mapping[str, str]) -> str:
    """Return the URL of the embedded store that is used when none is configured."""
    return f"sqlite://{url_path(data_home(env) / 'memory.db')}"


def default_journal(env: Mapping[str, str], stores: Sequence[str | Store]) -> str:
    """Return the URL of the journal for stores that cannot contain it.

    Each store has its own journal, so that its pending changes are not written to another store. If the
    journal that all stores shared in older releases exists, it is used: it may have pending changes.
    """
    home = data_home(env)
    shared = home / "journal.db"
    path = shared if shared.exists() else home / "journals" / f"{_mark(stores[0])}.db"
    return f"sqlite://{url_path(path)}"


def _mark(store: str | Store) -> str:
    """Return a file name for a store: its kind, and a digest of its address."""
    if not isinstance(store, str):
        return quote(store.name, safe="")
    parts = urlsplit(split_name(store)[0])
    host = parts.netloc.rpartition("@")[2].lower()
    place = f"{parts.scheme}://{host}{path_of(unquote(parts.path))}"
    return f"{parts.scheme}-{blake2b(place.encode(), digest_size=8).hexdigest()}"


def _split_list(value: str | Sequence[str]) -> tuple[str, ...]:
    """Split a comma-separated string, or return the values of a list; without empty ones."""
    several = value.split(",") if isinstance(value, str) else value
    return tuple(one.strip() for one in several if one.strip())


def _as_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _read_toml(path: Path) -> dict[str, Json]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror}", field="config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path} is not TOML: {error}", field="config") from error
    unknown = sorted(set(document) - set(_KEYS))
    if unknown:
        fix = f"known keys: {', '.join(_KEYS)}"
        raise InvalidRequest(f"{path} has an unknown key {unknown[0]!r}", field=unknown[0], fix=fix)
    for key, value in document.items():
        if key in _TABLES:
            if not isinstance(value, dict):
                raise InvalidRequest(f"{key} in {path} must be a table", field=key, fix=f"[{key}]")
            continue
        texts = value if key == "store" and isinstance(value, list) else [value]
        if key not in _NUMBERS and not all(isinstance(text, str) for text in texts):
            raise InvalidRequest(f"{key} in {path} must be a string", field=key)
    return {_KEYS[key]: value for key, value in document.items()}


def literal_secrets(path: Path) -> list[str]:
    """Return the keys of a settings file whose URL contains a password, token or key in plain text."""
    document = _read_toml(path)
    return [name for name in _URLS if any(map(find_literal_secret, _as_list(document.get(name, []))))]


def _share(values: Mapping[str, Json], name: str) -> float | None:
    """Return a number from 0 to 1, from the file or as text from the environment; None if it is not set."""
    if name not in values:
        return None
    value = values[name]
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not 0 <= number <= 1:
        raise InvalidRequest(f"{name} is {value!r}, not a number from 0 to 1", field=name)
    return number


def _parse_calls(value: Json) -> int:
    """Parse a number of calls, from the file or as text from the environment."""
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdigit() and len(text) < _DIGITS):
        raise InvalidRequest(f"extractor_calls is {value!r}, not a number of calls", field="extractor_calls")
    return int(text)
