"""The page of names: each name of a document stands beside one of ours, and each of ours exists."""

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from memorywire.app import settings
from memorywire.cli.command import memorywire
from memorywire.model.consolidation import ConsolidationSettings
from memorywire.stores.registry import known_schemes
from memorywire.wire import spec
from memorywire_openwop.server import endpoints, mount
from memorywire_server.http.openapi import openapi
from tests.gates.source import ROOT
from tests.openwop.stage import good, hosting

PAGE = ROOT / "docs" / "reference" / "names.md"
NAME, OURS, WHY = range(3)
DOCUMENTS = 5
FEWEST = 250
_SPAN = re.compile(r"`([^`]+)`")
_DECISION = re.compile(r"\]\(\.\./decisions/(\d{4}-[\w-]+\.md)\)")
_HEAD = re.compile(r"^## (.+)$", re.MULTILINE)
_PARAMETER = re.compile(r"\{[^}]*\}")


def _rows(text: str) -> Iterator[list[str]]:
    """The rows of the tables of names, in their three cells."""
    for section in re.split(r"^##+ ", text, flags=re.MULTILINE)[1:]:
        lines = [line for line in section.splitlines() if line.startswith("|")]
        yield from ([cell.strip() for cell in line.strip("| \n").split(" | ")] for line in lines[2:])


def _faults(row: list[str], discovery: Mapping[str, Any]) -> list[str]:
    """What is wrong with a row."""
    name, ours, *rest = [*row, ""]
    why = rest[0].strip("| ")
    if ours == "none":
        return [] if _decided(why) else [f"{name}: no decision says why we have none"]
    spans = _SPAN.findall(ours)
    missing = [f"{name}: {one} does not exist" for one in spans if not _exists(one, discovery)]
    broken = [] if _decided(why) or "](" not in why else [f"{name}: there is no such decision"]
    silent = not why and not any(_is_alike(name, one) for one in spans)
    unsaid = [f"{name}: it is not said why ours is another name"] if silent else []
    return missing + broken + unsaid + ([] if spans else [f"{name}: nothing of ours is named"])


def _is_alike(name: str, ours: str) -> bool:
    """Whether a name of ours ends in a word that the document's name has, or has that name as a whole."""
    last = re.split(r"[.:= /]", ours.split(" --")[0].rstrip("/:"))[-1]
    theirs, word = (re.sub(r"[^a-z0-9]", "", one.lower()) for one in (name, last))
    return bool(word) and (word in theirs or theirs in word)


def _decided(why: str) -> bool:
    return any((ROOT / "docs" / "decisions" / name).exists() for name in _DECISION.findall(why))


def _exists(one: str, discovery: Mapping[str, Any]) -> bool:
    return next((holds(one) for form, holds in _FORMS if form.fullmatch(one)), False) or (
        one.startswith("openwop: ") and _in_document(discovery, one.removeprefix("openwop: "))
    )


def _in_document(document: Any, path: str) -> bool:
    for name in path.split("."):
        if not isinstance(document, Mapping) or name not in document:
            return False
        document = document[name]
    return True


def _imports(path: str) -> bool:
    """Whether a module of ours, or something in one, has this path."""
    words = path.split(".")
    for size in range(len(words), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(words[:size]))
        except ModuleNotFoundError:
            continue
        return _has(value, words[size:])
    return False


def _has(value: Any, names: list[str]) -> bool:
    for name in names:
        if not hasattr(value, name):
            return name in getattr(value, "__annotations__", ())
        value = getattr(value, name)
    return True


def _is_command(words: str) -> bool:
    command: click.Command | None = memorywire
    for word in words.split()[1:]:
        if word.startswith("-"):
            return command is not None and any(word in one.opts for one in command.params)
        if not isinstance(command, click.Group):
            return False
        command = command.get_command(click.Context(command), word)
    return command is not None


@cache
def _routes() -> frozenset[str]:
    """Every route of a server with a host, with `{}` for each parameter."""
    ours = {f"{method.upper()} {path}" for path, methods in openapi()["paths"].items() for method in methods}
    host = {f"GET {mount.PATH}{path}" for path in endpoints.READING}
    host |= {f"POST {mount.PATH}{path}" for path in endpoints.WRITING}
    return frozenset(_PARAMETER.sub("{}", one) for one in ours | host | {f"GET {mount.DISCOVERY}"})


def _is_on_the_wire(words: str) -> bool:
    """Whether a request, an answer or a message has the field, and the field the value."""
    operation, _, rest = words.partition(": ")
    path, _, value = rest.partition(" = ")
    names = (operation, f"{operation}.request", f"{operation}.response")
    found = [_field(spec.schema(name), path.split("."), name) for name in names if name in spec.schemas()]
    fields = [one for one in found if one is not None]
    return bool(fields) and (not value or any(value in one.get("enum", ()) for one in fields))


def _field(schema: Mapping[str, Any], path: list[str], home: str) -> Mapping[str, Any] | None:
    """The schema of a field; `home` is the schema whose references are followed."""
    while "$ref" in schema:
        file, _, pointer = schema["$ref"].partition("#")
        home = file.removesuffix(".json") or home
        schema = spec.schema(home)
        for name in pointer.strip("/").split("/") if pointer else ():
            schema = schema[name]
    if not path:
        return schema
    inner = schema.get("properties", {}).get(path[0])
    return None if inner is None else _field(inner, path[1:], home)


def _is_setting(words: str) -> bool:
    table, key = words[1:].split("] ")
    keys = {"router": settings.KEYS, "dream": (*ConsolidationSettings.__struct_fields__, *_dream_keys())}
    return key in keys.get(table, ())


def _dream_keys() -> list[str]:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")  # generated, and gated
    return re.findall(r"^\| `(\w+)` \|", page.partition("## [dream]")[2], flags=re.MULTILINE)


def _is_variable(name: str) -> bool:
    return f"`{name}`" in (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")


_FORMS: tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...] = (
    (re.compile(r"memorywire(_\w+)?(\.\w+)*"), _imports),
    (re.compile(r"memorywire [a-z].*"), _is_command),
    (re.compile(r"(GET|POST|PUT|DELETE) /\S+"), lambda one: _PARAMETER.sub("{}", one) in _routes()),
    (re.compile(r"\[\w+\] \w+"), _is_setting),
    (re.compile(r"MEMORYWIRE_\w+"), _is_variable),
    (re.compile(r"[\w+-]+://"), lambda one: one.removesuffix("://") in known_schemes()),
    (re.compile(r"(?!openwop)\w+: [\w.]+( = \w+)?"), _is_on_the_wire),
    (re.compile(r"(docs|packages|plugin|tests|tools)(/[\w./-]+)?"), lambda one: (ROOT / one).exists()),
)


@pytest.fixture(scope="module")
def discovery(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The discovery document of a host over a durable store."""
    folder: Path = tmp_path_factory.mktemp("host")
    with hosting(folder, store=f"sqlite://{folder}/memory.db", testing=False) as stage:
        return dict(good(stage.mine.get("/.well-known/openwop")))


def test_every_name_of_ours_exists_and_every_difference_has_its_reason(discovery: Mapping[str, Any]):
    text = PAGE.read_text(encoding="utf-8")
    rows = list(_rows(text))
    assert [fault for row in rows for fault in _faults(row, discovery)] == []
    assert len(_HEAD.findall(text)) == DOCUMENTS
    assert len(rows) >= FEWEST


@pytest.mark.parametrize(
    "ours",
    [
        "`memorywire.Memory.remembers`",
        "`memorywire.stores.routers`",
        "`memorywire_evals.metrics.not_there`",
        "`memorywire remembers`",
        "`memorywire review list again`",
        "`memorywire eval micro --papers`",
        "`POST /v0/remembers`",
        "`PUT /v0/remember`",
        "`GET /v1/memory`",
        "`recall: ks`",
        "`recall: fusion = rff`",
        "`expire: policy.older`",
        "`openwop: memory.searches`",
        "`[router] reads`",
        "`[routers] read`",
        "`MEMORYWIRE_NOT_THERE`",
        "`sqlites://`",
        "`docs/spec/v9.md`",
        "`something else`",
        "",
        "none",
    ],
)
def test_a_name_that_does_not_exist_is_noticed(ours: str, discovery: Mapping[str, Any]):
    good_row = ["recall", "`memorywire.Memory.recall`, `recall: k`, `openwop: memory.search`", ""]
    assert _faults(good_row, discovery) == []
    assert _faults(["a name", ours, "we like it so"], discovery) != []
    assert _faults(["recall", "`memorywire.Memory.remember`", ""], discovery) != []
    assert _faults(["a name", "none", "so ([1](../decisions/0001-not-there.md))"], discovery) != []
