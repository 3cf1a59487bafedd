"""Several seeds: means with intervals, and a run without chance says that it has none."""

import asyncio
import json
import sys
from pathlib import Path
from statistics import mean

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from memorywire_evals.answers import TREATMENT, Cell, Grid, answer_all
from memorywire_evals.cases import Case, Item, Question
from memorywire_evals.commands.eval import command
from memorywire_evals.readers import open_reader
from memorywire_evals.results import OURS, Examined, Row, runs
from memorywire_evals.run import Plan
from memorywire_evals.seeds import arrange, combine, restore, spread
from memorywire_evals.sets import KINDS
from memorywire_evals.tables import answer_cells, answer_notes, seed_notes

_CASE = Case(
    id="c",
    items=(
        *(Item(ref=f"m{number}", content=f"memory {number}") for number in range(20)),
        *(Item(ref=f"n{number}", content="newer", supersedes=(f"m{number}",)) for number in range(3)),
    ),
    questions=tuple(Question(id=f"q{number}", text="?", category="all") for number in range(20)),
)


def test_the_interval_is_student_s():
    found = spread([0.4, 0.5, 0.6])
    assert found.mean == pytest.approx(0.5)
    assert found.high - found.mean == pytest.approx(4.303 * 0.1 / 3**0.5)
    assert found.mean - found.low == pytest.approx(found.high - found.mean)
    alone = spread([0.4])
    assert (alone.low, alone.mean, alone.high) == (0.4, 0.4, 0.4)


def test_a_seed_changes_the_order_and_nothing_else():
    assert arrange(_CASE, 0) is _CASE
    first, again, second = (arrange(_CASE, seed) for seed in (1, 1, 2))
    assert first == again != second
    assert [item.ref for item in first.items] != [item.ref for item in _CASE.items]
    assert {item.ref for item in first.items} == {item.ref for item in _CASE.items}
    assert [item.ref for item in first.items[-3:]] == ["n0", "n1", "n2"], "what supersedes comes last"
    assert {question.id for question in first.questions} == {question.id for question in _CASE.questions}


def test_rows_come_back_in_the_order_of_the_data():
    rows = [Row(case="c", question=one.id, category="all") for one in arrange(_CASE, 3).questions]
    foreign = Row(case="c", question="q1", category="all", asked="foreign")
    done = restore(Examined(case="c", rows=(*rows, foreign), items=0), _CASE)
    assert [row.question for row in done.rows] == [f"q{number}" for number in range(20)] + ["q1"]


def test_a_run_of_several_seeds_gives_means_with_intervals_and_says_that_it_is_deterministic(tmp_path: Path):
    arguments = ["micro", "--seeds", "2", "--no-baselines", "--out", str(tmp_path)]
    done = CliRunner().invoke(command, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["seeds"] == [0, 1]
    figure = document["views"]["answerable"][OURS]["default.rec@5"]
    assert figure == {"mean": 1.0, "low": 1.0, "high": 1.0, "values": [1.0, 1.0]}
    assert document["deterministic"]
    assert any(note.startswith("deterministic: all 2 seeds") for note in seed_notes(document))
    (kept,) = (tmp_path / document["run"]["version"]).glob("micro-all-seeds-*Z.json")
    assert json.loads(kept.read_bytes()) == document
    last = json.loads((tmp_path / "ledger.jsonl").read_text().splitlines()[-1])
    assert last["figures"]["default.rec@5"] == figure
    assert len(runs(tmp_path)) == 1, "the report shows the order of the data"
    table = CliRunner().invoke(command, arguments).stdout
    assert "1.000-1.000" in table
    efficiency = document["views"]["answerable"][OURS]["efficiency"]["mean"]
    assert f"efficiency {efficiency:.3f}" in table
    assert efficiency > 0
    assert last["figures"]["dedup rate"]["mean"] == 0.0
    assert "dedup rate 0.000" in table
    assert "deterministic" in table


def _document(seed: int, share: float) -> dict:
    row = {"asked": "own", "question": "q", "ranks": [], "kept": [], "figures": {OURS: {"turn.rec@5": share}}}
    table = {"all": {"systems": {OURS: {"turn.rec@5": share}}}}
    summary = {"views": table, "categories": table, "admission": {"own kept": 1.0}, "void": False}
    summary["ingest"] = {"dedup rate": share, "repeated": 1, "shortfall": []}
    return {"run": {"seed": seed}, "rows": [row], "summary": summary, "digest": str(seed)}


def test_seeds_that_find_different_things_are_not_called_deterministic():
    found = combine([_document(0, 0.5), _document(1, 0.7)])
    assert not found["deterministic"]
    figure = found["views"]["all"][OURS]["turn.rec@5"]
    assert figure["values"] == [0.5, 0.7]
    assert {name: one["values"] for name, one in found["ingest"].items()} == {"dedup rate": [0.5, 0.7]}
    assert figure["low"] < 0.5 < figure["mean"] < 0.7 < figure["high"]
    assert combine([_document(0, 0.5), _document(1, 0.5)])["deterministic"]


def test_seeds_go_with_no_other_mode(tmp_path: Path):
    done = CliRunner().invoke(command, ["micro", "--seeds", "2", "--paper", "--out", str(tmp_path)])
    assert done.exit_code != 0
    assert "--paper takes no seeds" in done.output
    assert not list(tmp_path.iterdir())


# Answers rightly every other time; as a judge, is content when the right answer's first word was given.
_FICKLE = """
import pathlib, sys
prompt = sys.stdin.read()
if "Given answer:" in prompt:
    right = prompt.split("Right answer: ")[1].split()[0]
    print("yes" if right in prompt.split("Given answer: ")[1] else "no")
else:
    count = pathlib.Path(sys.argv[1])
    count.write_text(count.read_text() + "x" if count.exists() else "x")
    knows = "Biscuit" in prompt and (len(count.read_text()) % 2 or sys.argv[2] == "sure")
    print("Biscuit" if knows else "I do not know")
"""


def _answer(data: Path, folder: Path, mood: str) -> dict:
    program = folder / "reader.py"
    program.write_text(_FICKLE, encoding="utf-8")
    asked = open_reader(f"cmd:{sys.executable} {program} {folder / 'count'} {mood}", key=None)
    plan = Plan(kind=KINDS["locomo"], data=data, out=folder, limit=1, baselines=False)
    grid = Grid(cells=(Cell(name=TREATMENT, reader=asked, memory=True),), judge=asked, questions=1, seeds=4)
    told = {"date": "2026-01-01", "command": "eval", "tell": lambda *_: None}
    first = asyncio.run(answer_all(plan, grid, **told))
    before = (folder / "count").read_text()
    assert asyncio.run(answer_all(plan, grid, **told))["rows"] == first["rows"]
    assert (folder / "count").read_text() == before, "no seed is asked twice"
    fewer = asyncio.run(answer_all(plan, replace(grid, seeds=2), **told))
    assert fewer["rows"] == first["rows"][:2]
    return first


def test_each_seed_is_another_answer_of_the_reader(data: Path, tmp_path: Path):
    document = _answer(data, tmp_path, "fickle")
    correct = [row["correct"] for row in document["rows"]]
    assert [row["seed"] for row in document["rows"]] == [0, 1, 2, 3]
    assert sorted(correct) == [False, False, True, True]
    cell = document["answers"]["cells"][TREATMENT]
    assert cell["accuracy"] == cell["seeds"]["mean"] == mean(correct)
    assert cell["seeds"]["values"] == correct
    assert cell["seeds"]["low"] < 0.5 < cell["seeds"]["high"]
    assert not cell["seeds"]["deterministic"]
    assert "0.500 (" in next(answer_cells(document))[3]
    assert document["run"]["seeds"] == 4


def test_a_reader_that_always_says_the_same_is_called_deterministic(data: Path, tmp_path: Path):
    document = _answer(data, tmp_path, "sure")
    seeds = document["answers"]["cells"][TREATMENT]["seeds"]
    assert (seeds["low"], seeds["high"], seeds["deterministic"]) == (1.0, 1.0, True)
    assert any("deterministic" in note for note in answer_notes(document))
