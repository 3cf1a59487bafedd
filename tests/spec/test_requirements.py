"""Every MUST has an id, every id has a proof, and every proof says what it proves."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from memorywire.wire import spec

ROOT = Path(__file__).parents[2]
ID = re.compile(r"\[([A-Z]+-\d+)\]")
CITATION = re.compile(r"Proves ([A-Z]+-\d+(?:(?:, | and )[A-Z]+-\d+)*)\.")

REQUIREMENTS = tomllib.loads(spec.requirements())


def _prose() -> str:
    text = (ROOT / "docs/spec/v0.md").read_text(encoding="utf-8")
    return re.sub(r"`[^`]*`", "", text)


def _tests() -> Iterator[tuple[str, str]]:
    """Every test function of the project, by the name pytest gives it, with its docstring."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield f"{path.relative_to(ROOT)}::{node.name}", ast.get_docstring(node) or ""


def _proofs() -> set[tuple[str, str]]:
    """Who proves what, as the scenarios and the docstrings of the tests say."""
    told = {(id, f"scenario:{name}") for name, s in spec.scenarios().items() for id in s["requirements"]}
    for name, docstring in _tests():
        for citation in CITATION.findall(docstring):
            told |= {(id, name) for id in re.findall(r"[A-Z]+-\d+", citation)}
    return told


def test_the_prose_and_the_list_have_the_same_ids() -> None:
    assert sorted(ID.findall(_prose())) == sorted(REQUIREMENTS)


def test_every_must_carries_an_id() -> None:
    blocks = re.split(r"\n\s*\n|\n(?=- )", _prose())
    for block in blocks:
        *claims, rest = ID.split(block)[::2]
        assert "MUST" not in rest, f"without an id: {rest.strip()}"
        assert all("MUST" in claim for claim in claims), f"an id without a MUST: {block}"


def test_every_requirement_says_what_it_asks_and_what_proves_it() -> None:
    bare = [id for id, entry in REQUIREMENTS.items() if not entry.get("says") or not entry.get("tests")]
    assert bare == []


def test_the_listed_proofs_are_those_that_cite_the_requirement() -> None:
    listed = {(id, name) for id, entry in REQUIREMENTS.items() for name in entry["tests"]}
    told = _proofs()
    assert listed - told == set(), "listed, but absent or silent about it"
    assert told - listed == set(), "cited, but not listed or unknown"


def test_an_invented_citation_would_be_noticed() -> None:
    assert CITATION.findall("Proves G-1, G-2 and FL-10.") == ["G-1, G-2 and FL-10"]
    assert ID.findall("a claim [RM-3], another [FL-10].") == ["RM-3", "FL-10"]
