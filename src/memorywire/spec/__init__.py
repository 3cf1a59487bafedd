"""The wire format as data: schemas, examples and scenarios, read from the package once."""

import json
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

VERSION = "v0"
BASE = "https://memorywire.dev/spec/v0/"


def schema(name: str) -> dict[str, Any]:
    """The schema called `name`, such as "remember.request"; shared between callers, so read only."""
    return schemas()[name]


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """Every schema by name; `BASE + name + ".json"` is its `$id`, by which the others refer to it."""
    return _documents(_root() / "schemas")


@cache
def examples(operation: str, kind: str) -> dict[str, dict[str, Any]]:
    """The examples of an operation by name; `kind` is "valid" or "invalid"."""
    return _documents(_root() / "examples" / operation / kind)


@cache
def scenarios() -> dict[str, dict[str, Any]]:
    """Every scenario by name: a clock and a conversation that any implementation must reproduce."""
    return _documents(_root() / "scenarios")


@cache
def bundle_line() -> dict[str, Any]:
    """The schema of a line of a bundle; it refers to the record of the wire."""
    return _documents(files(__name__) / "bundle")["v1"]


def requirements() -> str:
    """The text of requirements.toml: every MUST of the format and what proves it."""
    return (_root() / "requirements.toml").read_text(encoding="utf-8")


def _root() -> Traversable:
    return files(__name__) / VERSION


def _documents(folder: Traversable) -> dict[str, dict[str, Any]]:
    found = sorted((file for file in folder.iterdir() if file.name.endswith(".json")), key=lambda f: f.name)
    return {file.name.removesuffix(".json"): json.loads(file.read_text(encoding="utf-8")) for file in found}
