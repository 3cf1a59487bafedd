"""The threat model names the tests that prove it, and each of them exists."""

import ast
import re

from tests.gates.source import ROOT

PAGE = ROOT / "docs" / "explain" / "threats.md"
ADVERSARIES = 7
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def _sections() -> list[str]:
    return re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]


def test_every_adversary_has_proof_and_a_limit():
    numbered = [section for section in _sections() if section[0].isdigit()]
    assert [section[0] for section in numbered] == [str(n + 1) for n in range(ADVERSARIES)]
    for section in numbered:
        rows = [line for line in section.splitlines() if line.startswith("|")][2:]
        assert rows
        assert [row for row in rows if not _NAMED.search(row)] == []
        assert "Not promised:" in section


def test_every_test_that_is_named_exists():
    missing = [
        f"{file}::{name}"
        for file, name in _NAMED.findall(PAGE.read_text(encoding="utf-8"))
        if name not in _tests(file)
    ]
    assert missing == []


def _tests(file: str) -> set[str]:
    path = ROOT / file
    if not path.exists():
        return set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
