"""The source as the gates read it: files, functions, comments."""

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("packages", "tests", "tools")
PRODUCT = (
    "packages/memorywire/src",
    "packages/memorywire-consolidate/src",
    "packages/memorywire-frameworks/src",
    "packages/memorywire-server/src",
    "packages/memorywire-testing/src",
)
"""The core and the packages that were cut from it, which keep its rules."""


def python_files(*folders: str) -> list[Path]:
    return sorted(
        path
        for folder in folders or FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if "build" not in path.relative_to(ROOT).parts
    )


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Every function of a file with its length in lines, from `def` to its last line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{shown(path)}:{node.lineno} {node.name}", (node.end_lineno or 0) - node.lineno + 1


def comments(path: Path) -> Iterator[tuple[int, str]]:
    with tokenize.open(path) as file:
        text = file.read()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
