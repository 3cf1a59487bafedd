"""A suppression is a debt: it carries its reason on the line, and their number may only fall."""

import ast
import re
from pathlib import Path

from tests.gates.source import PRODUCT, comments, python_files, shown

RECORDED = 3

_SUPPRESSION = re.compile(r"#\s*(noqa|type:\s*ignore)(?P<rest>.*)")
_CODES = re.compile(r"\s*(:\s*[A-Z]+[0-9]+(,\s*[A-Z]+[0-9]+)*|\[[a-z, -]+\])")
_REASON = re.compile(r"\W*\w+\W+\w+")

# Where foreign code runs inside ours and may raise anything.
FOREIGN = {"packages/memorywire-testing/src/memorywire_testing/report.py"}


def _suppressions():
    # To split a file into tokens takes long, and few files have these words at all.
    for path in filter(_has_suppression, python_files()):
        for line, comment in comments(path):
            found = _SUPPRESSION.search(comment)
            if found:
                yield f"{shown(path)}:{line}", found["rest"]


def _has_suppression(path: Path) -> bool:
    return _SUPPRESSION.search(path.read_text(encoding="utf-8")) is not None


def test_every_suppression_names_its_rule_and_its_reason():
    for place, rest in _suppressions():
        codes = _CODES.match(rest)
        assert codes, f"{place} silences every rule"
        assert _REASON.match(rest[codes.end() :]), f"{place} gives no reason"


def test_the_number_of_suppressions_only_falls():
    places = [place for place, _ in _suppressions()]
    assert len(places) <= RECORDED, places
    assert len(places) == RECORDED, f"there are fewer now: record {len(places)}"


def test_the_package_catches_only_what_it_can_name():
    broad = [
        f"{shown(path)}:{handler.lineno}"
        for path in python_files(*PRODUCT)
        if shown(path) not in FOREIGN
        for handler in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(handler, ast.ExceptHandler) and _is_broad(handler) and not _reraises(handler)
    ]
    assert not broad


def _is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException") for kind in kinds)


def _reraises(handler: ast.ExceptHandler) -> bool:
    """Cleaning up and passing the error on, unchanged, catches nothing."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None
