"""Exemptions as data: which checks a product cannot pass, and why."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from memorywire.model.errors import InvalidRequest
from memorywire.testing.checks import EVERY

_SHIPPED = "exemptions.toml"


def exemptions(scheme: str, own: Path | None = None) -> Mapping[str, str]:
    """What is shipped for the scheme, and what one's own file says of it.

    Raises InvalidRequest for a check nobody knows, or one without a reason.
    """
    shipped = (files(__package__) / _SHIPPED).read_text(encoding="utf-8")
    found = dict(_read(shipped, scheme, _SHIPPED))
    if own is not None:
        found |= _read(_text(own), scheme, own.name)
    return found


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"cannot read {file}", field="exempt") from error


def _read(text: str, scheme: str, name: str) -> Mapping[str, str]:
    try:
        listed = tomllib.loads(text).get(scheme, {})
    except tomllib.TOMLDecodeError as error:
        raise InvalidRequest(f"{name} is not TOML: {error}", field="exempt") from error
    known = {check.name for check in EVERY}
    for check, reason in listed.items():
        if check not in known:
            raise InvalidRequest(f"{name}: no check is called {check}", field="exempt")
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidRequest(f"{name}: {check} is exempt without a reason", field="exempt")
    return dict(listed)
