"""The install lines of the documentation, and what can be installed from this repository."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.gates.source import ROOT

_COMMAND = re.compile(r"(?:pip install|pipx install|uvx)(?: +(?:'[^'\n]+'|\"[^\"\n]+\"|[^\s`#'\"|;,()\\]+))+")
_EXTRAS = re.compile(r"(?<![\w./@-])(memorywire(?:-[a-z]+)*\[[\w,-]+\])")
_REQUIREMENT = re.compile(r"([\w./-]+?)(?:\[([\w,-]+)\])?")
_WITH_VALUE = {"--find-links", "--from", "--requirement", "--group"}


class InstallLine(NamedTuple):
    """A command, or a distribution with extras that a text names; `page` is relative to the repository."""

    page: str
    command: str


@cache
def projects() -> dict[str, Path]:
    """Return the folder of each distribution of this repository."""
    return {_project(file)["name"]: file.parent for file in (ROOT / "packages").glob("*/pyproject.toml")}


@cache
def extras_of(name: str) -> frozenset[str]:
    return frozenset(_project(projects()[name] / "pyproject.toml").get("optional-dependencies", ()))


def _project(file: Path) -> dict:
    return tomllib.loads(file.read_text(encoding="utf-8"))["project"]


def pages() -> list[Path]:
    """Return what tells people how to install; a decision keeps the words of its time."""
    docs = [page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "decisions"]
    others = ("packages/*/README.md", "examples/*.py", "plugin/**/*.md", "clients/*/README.md", "deploy/*")
    files = [path for pattern in others for path in ROOT.glob(pattern) if path.is_file()]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "server.json", *docs, *files]


def install_lines(text: str, page: str = "") -> Iterator[InstallLine]:
    """Yield the commands of a text, and each distribution with extras outside of a command."""
    for match in _COMMAND.finditer(text):
        yield InstallLine(page, match[0])
    for match in _EXTRAS.finditer(_COMMAND.sub("", text)):
        yield InstallLine(page, f"pip install '{match[1]}'")


def requirements(command: str) -> list[str]:
    """Return what a command installs, without its options; for uvx what stands after --from."""
    words = shlex.split(command)
    if words[0] == "uvx":
        return [words[place + 1] for place, word in enumerate(words) if word == "--from"]
    words = words[2:]
    return [
        word
        for place, word in enumerate(words)
        if not word.startswith("-") and (place == 0 or words[place - 1] not in _WITH_VALUE)
    ]


def faults(requirement: str) -> list[str]:
    """Return what is wrong with a requirement that should lead to this project."""
    match = _REQUIREMENT.fullmatch(requirement)
    if match is None:
        return [f"{requirement}: unknown form"]
    name, extras = match[1], set(filter(None, (match[2] or "").split(",")))
    if name == ".":
        name = "memorywire-core"
    elif "/packages/" in name:
        folder = ROOT / "packages" / name.rpartition("/")[2]
        name = next((one for one, place in projects().items() if place == folder), name)
    if name not in projects():
        return [f"{requirement}: not a distribution of this repository"]
    return [f"{requirement}: no extra {extra}" for extra in sorted(extras - extras_of(name))]
