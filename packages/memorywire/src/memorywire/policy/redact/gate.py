"""One reading of a whole request: where no pattern fits, the rules need not be asked one by one."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from memorywire.model.record import Json
from memorywire.policy.redact.announced import IN_ASCII
from memorywire.policy.redact.places import NAMES, PLACES
from memorywire.policy.redact.rules import ISSUERS
from memorywire.policy.redact.shapes import ANY_RUN
from memorywire.policy.redact.views import is_broken, unbroken

_MEMORY = 64 << 20
_SILENT = frozenset({int, float, bool, type(None)})  # what says nothing
_LINE = "\n"
_BLOCK = "-----BEGIN "


def is_innocent(names: Iterable[str | None], values: Iterable[Json]) -> bool:
    """Whether no pattern could fit anywhere in these names and values.

    All texts are read as lines of one. No rule looks further around a secret than to the ends of its line, so
    whatever fits in a text also fits in these lines. Text beyond ASCII may be disguised: then False.
    """
    keys = [name for name in names if name is not None]
    said: list[str] = []
    for value in values:
        if value:  # most of what a request can say it does not
            _gather(value, "", keys, said)
    words, identifiers = _LINE.join(said), _LINE.join(dict.fromkeys(keys))
    if not (words.isascii() and identifiers.isascii()) or _telling().Match(words.encode()):
        return False
    return not identifiers or not _telling_names().Match(identifiers.encode())


def _gather(value: Json, name: str, keys: list[str], said: list[str]) -> None:
    """Collect texts, each behind its name; apart from them keys and joined lines, for issuers' forms only."""
    if isinstance(value, str):
        text = f"{name}: {value}" if name else value
        said.append(text)
        if is_broken(text):
            keys.append(unbroken(text))
    elif type(value) is dict or isinstance(value, Mapping):  # the second takes long to ask
        for key, inner in value.items():
            keys.append(key)
            if type(inner) not in _SILENT:
                _gather(inner, key, keys, said)
    elif isinstance(value, list | tuple):
        for inner in value:
            _gather(inner, name, keys, said)


@cache
def _telling() -> Any:
    return _any_of([ANY_RUN, _BLOCK, IN_ASCII, *(rule.pattern for rule in PLACES)])


@cache
def _telling_names() -> Any:
    return _any_of([NAMES, *(rule.pattern for rule in ISSUERS)])


def _any_of(patterns: Iterable[str]) -> Any:
    import re2

    options = re2.Options()
    options.max_mem = _MEMORY
    options.never_capture = True
    either = re2.Set.SearchSet(options)
    either.Add("|".join(f"(?:{pattern})" for pattern in patterns))
    either.Compile()
    return either
