"""The wire format as data: schemas, examples and scenarios, read from the package once."""

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memorywire.wire.spec.keywords import Shape
    from memorywire.wire.spec.shapes import Shapes

VERSION = "v0"
BASE = "https://memorywire.dev/spec/v0/"


@cache
def schema(name: str) -> dict[str, Any]:
    """The schema called `name`, such as "remember.request"; shared between callers, so read only."""
    return _document(_root() / "schemas" / f"{name}.json")


def schema_at(id: str) -> dict[str, Any]:
    """The schema that others refer to by this `$id`."""
    return schema(id.removeprefix(BASE).removesuffix(".json"))


@cache
def shape(name: str) -> "Shape":
    """The schema called `name`, compiled."""
    return _shapes().at(f"{BASE}{name}.json")


@cache
def definition(name: str) -> "Shape":
    """What schemas share under this name, such as "blank", compiled."""
    return _shapes().at(f"{BASE}common.json#/$defs/{name}")


@cache
def _shapes() -> "Shapes":
    from memorywire.wire.spec.shapes import Shapes  # most processes read schemas and compile none

    return Shapes(schema_at)


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """Every schema by name; `BASE + name + ".json"` is its `$id`, by which the others refer to it."""
    return {name: schema(name) for name in _names(_root() / "schemas")}


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
    return _document(Path(__file__).parent / "bundle" / "v1.json")


def requirements() -> str:
    """The text of requirements.toml: every MUST of the format and what proves it."""
    return (_root() / "requirements.toml").read_text(encoding="utf-8")


def _root() -> Path:
    return Path(__file__).parent / VERSION


def _documents(place: Path) -> dict[str, dict[str, Any]]:
    return {name: _document(place / f"{name}.json") for name in _names(place)}


def _document(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(file.read_bytes())
    return document


def _names(place: Path) -> list[str]:
    return sorted(file.name.removesuffix(".json") for file in place.iterdir() if file.name.endswith(".json"))
