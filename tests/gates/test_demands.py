"""The page of demands: every row says where we stand, and what shows it exists."""

import re
from functools import cache

import pytest

from memorywire.wire import spec
from tests.gates.source import ROOT

PAGE = ROOT / "docs" / "reference" / "documents.md"
NUMBER, STATE, SHOWN = 0, 3, 4
DOCUMENTS = 5
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_SCENARIO = re.compile(r"`scenario:(\w+)`")
_COMMAND = re.compile(r"`((?:memorywire|python|head|grep) [^`]+)`")
_DECISION = re.compile(r"\]\(\.\./decisions/(\d{4}-[\w-]+\.md)\)")


def _rows() -> list[list[str]]:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| \d+ \|", line)]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


@cache
def _functions(file: str) -> frozenset[str]:
    path = ROOT / file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return frozenset(re.findall(r"^def (\w+)\(", text, flags=re.MULTILINE))


def _faults(row: list[str]) -> list[str]:
    """What is wrong with a row."""
    if len(row) != SHOWN + 1:
        return ["it has not five cells"]
    state, shown = row[STATE], row[SHOWN]
    kind = state.partition(":")[0]
    faults = [] if kind in ("works", "differs on purpose") else [f"{kind} is no state"]
    if kind == "differs on purpose" and not _decided(state):
        faults.append("no decision says why")
    named = [*_TEST.findall(shown), *_SCENARIO.findall(shown), *_COMMAND.findall(shown)]
    if kind in ("works", "differs on purpose") and not named:
        faults.append("nothing shows it")
    faults += [f"{file}::{name}" for file, name in _TEST.findall(shown) if name not in _functions(file)]
    return faults + [name for name in _SCENARIO.findall(shown) if name not in spec.scenarios()]


def _decided(state: str) -> bool:
    return any((ROOT / "docs" / "decisions" / name).exists() for name in _DECISION.findall(state))


def test_every_demand_says_where_we_stand_and_what_shows_it():
    rows = _rows()
    assert [row[NUMBER] for row in rows] == [str(n + 1) for n in range(len(rows))]
    assert [(row[NUMBER], _faults(row)) for row in rows if _faults(row)] == []
    assert len(re.findall(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)) >= DOCUMENTS


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ("works", ""),
        ("works", "`tests/gates/test_demands.py::test_that_is_not_there`"),
        ("works", "`tests/gates/test_not_there.py::test_any`"),
        ("works", "`scenario:not_there`"),
        ("differs on purpose: we like it so", "`scenario:undo`"),
        ("differs on purpose: so ([1](../decisions/0001-not-there.md))", "`scenario:undo`"),
        ("works mostly", "`scenario:undo`"),
        ("partly", "`scenario:undo`"),
        ("missing", ""),
        ("wrong", "`scenario:undo`"),
    ],
)
def test_a_row_that_shows_nothing_is_noticed(state: str, shown: str):
    assert _faults(["1", "§1", "A demand", "works", "`scenario:undo`"]) == []
    assert _faults(["1", "§1", "A demand", state, shown]) != []
