"""Every name that tests, tools and examples import from our packages exists there."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gates.source import python_files, shown

FOLDERS = ("tests", "tools", "examples")


def _imports(path: Path) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0].startswith("memorywire"):
            yield from ((node.lineno, node.module or "", alias.name) for alias in node.names)


def _resolves(module: str, name: str) -> bool:
    try:
        if hasattr(importlib.import_module(module), name):
            return True
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError as error:
        return not (error.name or "").startswith("memorywire")  # a product that is not installed here
    return True


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # names of earlier releases are meant to warn
def test_every_imported_name_exists():
    missing = [
        f"{shown(path)}:{line} {module}.{name}"
        for path in python_files(*FOLDERS)
        for line, module, name in _imports(path)
        if name != "*" and not _resolves(module, name)
    ]
    assert not missing, "\n".join(missing)
