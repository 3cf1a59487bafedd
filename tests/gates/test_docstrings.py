"""What a docstring says of the answer fits the answer's type, so that a reader can believe it."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.gates.source import PRODUCT, python_files, shown

_NONE = re.compile(r"\bNone (?:when|if|where|unless|once|without)\b")
_TRUTH = re.compile(r"\b(?:True|False) (?:when|if|where|unless)\b")
_ANYTHING = ("Any", "Json", "object", "T")


def _answers(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            said = " ".join((ast.get_docstring(node) or "").split())
            yield node.name, said, ast.unparse(node.returns)


def _untrue(source: str) -> list[str]:
    return [
        f"{name} -> {kind}: {said}"
        for name, said, kind in _answers(ast.parse(source))
        if kind not in _ANYTHING
        and (
            (_NONE.search(said) and "None" not in kind)
            or (_TRUTH.search(said) and "bool" not in kind)
            or (said.startswith("Whether ") and kind == "None")
        )
    ]


def test_a_docstring_speaks_of_an_answer_that_can_come():
    wrong = {shown(path): _untrue(path.read_text(encoding="utf-8")) for path in python_files(*PRODUCT)}
    assert not {path: found for path, found in wrong.items() if found}


@pytest.mark.parametrize(
    "source",
    [
        'def found(id: str) -> bytes:\n    """The content; None when it is gone."""',
        'def kept(id: str) -> None:\n    """Whether the memory was kept."""',
        'async def bound() -> str:\n    """Bind it; False if it was bound before."""',
    ],
)
def test_one_that_cannot_is_seen(source: str):
    assert _untrue(source)
