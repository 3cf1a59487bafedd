"""Where a product lives, as its URL says, and whether its package is installed."""

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct, field

from memorywire.model.errors import InvalidRequest, StoreUnavailable
from memorywire.stores.addresses import path_of


class Place(Struct, frozen=True, kw_only=True):
    """`scheme://HOST/PATH?OPTIONS`; without a path nothing outlives the process."""

    host: str = ""
    path: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def locate(url: str, *, options: frozenset[str] = frozenset()) -> Place:
    """Read a URL; an option nobody knows is an error. `/./` and `/~/` begin a relative and a home path."""
    parts = urlsplit(url)
    if parts.fragment:
        raise InvalidRequest("a store URL has no fragment", field="store", fix="write # as %23")
    return Place(host=parts.netloc, path=_path(unquote(parts.path)), options=_options(parts.query, options))


def _path(path: str) -> Path | None:
    if "\0" in path:
        raise InvalidRequest("the URL names no file", field="store")
    return path_of(path) if path.strip("/") else None


def _options(query: str, known: frozenset[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in known or name in options:
            raise InvalidRequest(
                f"unknown store option {name}",
                field="store",
                fix=f"the options are: {', '.join(sorted(known)) or 'none'}",
            )
        options[name] = value
    return options


def need(module: str, *, store: str, extra: str, silence: Mapping[str, str] | None = None) -> ModuleType:
    """The product's module, or the problem that names the extra to install.

    `silence` holds the environment variables that switch its telemetry off: products read them as they are
    imported, so they are set first, and they win over what the environment says.
    """
    os.environ.update(silence or {})
    try:
        return import_module(module)
    except ImportError as error:
        raise StoreUnavailable(
            f"the store {store} needs {module}, which is not installed or cannot be loaded",
            field="store",
            fix=f"pip install 'memorywire[{extra}]'",
        ) from error
