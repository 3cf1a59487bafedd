"""The wire format as data: schemas, examples and scenarios, loaded once from the package."""

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
    """Return the schema `name`, such as "remember.request"; callers share it and must not change it."""
    return _document(_root() / "schemas" / f"{name}.json")


def schema_at(id: str) -> dict[str, Any]:
    """Return the schema with this `$id`."""
    return schema(id.removeprefix(BASE).removesuffix(".json"))


@cache
def shape(name: str) -> "Shape":
    """Return the compiled schema `name`."""
    return _shapes().at(f"{BASE}{name}.json")


@cache
def definition(name: str) -> "Shape":
    """Return a compiled shared definition, such as "blank"."""
    return _shapes().at(f"{BASE}common.json#/$defs/{name}")


@cache
def _shapes() -> "Shapes":
    from memorywire.wire.spec.shapes import Shapes  # most processes read schemas and compile none

    return Shapes(schema_at)


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """Return all schemas by name; `BASE + name + ".json"` is the `$id` of each."""
    return {name: schema(name) for name in _names(_root() / "schemas")}


@cache
def examples(operation: str, kind: str) -> dict[str, dict[str, Any]]:
    """Return the examples of an operation by name; `kind` is "valid" or "invalid"."""
    return _documents(_root() / "examples" / operation / kind)


@cache
def scenarios() -> dict[str, dict[str, Any]]:
    """Return all scenarios by name: a clock and an exchange that every implementation must reproduce."""
    return _documents(_root() / "scenarios")


@cache
def bundle_line() -> dict[str, Any]:
    """Return the schema of a bundle line, which refers to the record of the wire format."""
    return _document(Path(__file__).parent / "bundle" / "v1.json")


def requirements() -> str:
    """Return the text of requirements.toml: every MUST of the format and the test that proves it."""
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
