"""What people read: tables, comparisons, the page of all results."""

import asyncio
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from memorywire.model.errors import InvalidRequest
from memorywire_evals.compare import cautions, compared, lines
from memorywire_evals.report import page
from memorywire_evals.results import answered, benches, load, parities, runs
from memorywire_evals.run import Plan, run
from memorywire_evals.sets import KINDS
from memorywire_evals.tables import HEADERS, Target, cells, notes, targets
from tests.evals import tiny


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict:
    folder = tmp_path_factory.mktemp("reading")
    plan = Plan(kind=KINDS["locomo"], data=tiny.write(folder / "data"), split="all", out=folder / "results")
    return asyncio.run(run(plan, date="2026-01-01", command="eval", tell=lambda done, of, note: None))


def test_a_table_shows_ours_the_baselines_and_what_is_to_be_reached(document):
    first = next(iter(cells(document)))
    assert len(first) == len(HEADERS)
    assert first[0] == "turn R@5"
    assert first[-3:-1] == ["0.660", "0.700"]
    assert all(re.fullmatch(r"[01]\.\d{3}", cell) for cell in (first[1], *first[3:7]))


def test_the_table_of_one_s_own_data_has_its_categories_and_sessions(tmp_path: Path):
    lines = [{"id": f"m{n}", "memory": f"Box {n} is blue", "session_id": f"s{n % 7}"} for n in range(8)]
    asked = {"question": "which box is blue, 3?", "gold": ["m3"]}
    lines += [{**asked, "category": name} for name in ("a/b", "c")] + [{"question": "who won the final?"}]
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    plan = Plan(kind=KINDS["own"], data=file, out=tmp_path / "results", baselines=False)
    found = asyncio.run(run(plan, date="2026-01-01", command="eval", tell=lambda done, of, note: None))
    labels = {row[0]: row[1] for row in cells(found)}
    assert labels["a/b: R@5"] == labels["c: R@5"] == "1.000"
    assert {"session any@5", "session R@5", "unanswerable question refused at 2 % loss"} <= labels.keys()


def test_the_notes_say_what_was_run_and_where_figures_end(document):
    said = "\n".join(notes(document))
    assert document["digest"] in said
    assert "2 of 2 cases, 6 questions, 9 memories" in said
    assert "each text embedded once" in said
    assert "no ranking can exceed" in said


def test_a_void_run_says_so_first(document):
    void = json.loads(json.dumps(document))
    void["summary"] |= {"void": True}
    void["summary"]["ingest"] |= {"shortfall": ["conv-1/D1:1: lost"], "shortfall count": 1}
    assert any(note.startswith("VOID: 1 memories") for note in notes(void))


@pytest.mark.parametrize(
    ("figure", "less", "said"),
    [(0.8, False, "aim"), (0.6, False, "floor"), (0.4, False, "0.100 short"), (0.9, True, "0.400 short")],
)
def test_a_figure_stands_at_the_aim_above_the_floor_or_short_of_it(figure, less, said):
    assert (
        Target(label="x", where="views/all/x", floor=0.5, aim=0.5 if less else 0.7, less=less).verdict(figure)
        == said
    )


def test_every_set_has_lines_to_show_and_none_is_nonsense():
    for name in KINDS:
        assert targets(name), name
        for target in targets(name):
            assert target.where.split("/")[0] in ("views", "categories", "admission")
            if target.floor is not None and target.aim is not None:
                assert target.aim <= target.floor if target.less else target.aim >= target.floor


def _worse(document: dict, metric: str) -> dict:
    copy = json.loads(json.dumps(document))
    for row in copy["rows"]:
        row["figures"].get("memorywire", {}).pop(metric, None)
        if metric in row["figures"].get("bm25", {}):
            row["figures"]["memorywire"][metric] = 0.0
    return copy


def _doubled(document: dict) -> dict:
    """The same questions asked twice, under other names."""
    again = [{**row, "question": f"{row['question']} again"} for row in document["rows"]]
    return {**document, "rows": [*document["rows"], *again]}


def test_a_comparison_pairs_questions_and_names_what_is_more_than_chance(document):
    twice = _doubled(document)
    found = {one["metric"]: one for one in compared(twice, _worse(twice, "turn.rec@1"))}
    lost = found["turn.rec@1"]
    assert lost["before"] > lost["after"] == 0
    assert (lost["questions"], lost["p"]) == (10, 0)
    assert found["turn.mrr"]["difference"] == 0
    headers, rows = lines(list(found.values()))
    said = {row[0]: row[-1] for row in rows}
    assert (said["turn.rec@1"], said["turn.mrr"]) == ("lower", "may be chance")
    assert all(len(row) == len(headers) for row in rows)


def test_what_a_few_questions_say_is_not_called_a_difference(document):
    _, rows = lines(compared(document, _worse(document, "turn.rec@1")))
    assert {row[0]: row[-1] for row in rows}["turn.rec@1"] == "too few questions"


def test_one_conversation_is_no_certainty(document):
    one = [row for row in _doubled(document)["rows"] if row["case"] == "conv-1"]
    [before] = [compared({**document, "rows": one}, _one_better({**document, "rows": one}))]
    changed = next(change for change in before if change["metric"] == "turn.rec@1")
    assert changed["difference"] > 0
    assert changed["p"] > 0.05


def _one_better(document: dict) -> dict:
    copy = json.loads(json.dumps(document))
    row = next(row for row in copy["rows"] if row["figures"].get("memorywire", {}).get("turn.rec@1") == 0.5)
    row["figures"]["memorywire"]["turn.rec@1"] = 1.0
    return copy


def test_what_is_left_empty_is_compared_too(document):
    fuller = json.loads(json.dumps(document))
    for row in fuller["rows"]:
        row["kept"] = row["kept"] or ["D1:1"]
    found = {one["metric"]: one for one in compared(document, fuller)}
    assert found["foreign question left empty"]["after"] == 0
    assert found["foreign question left empty"]["before"] > 0


def test_different_sets_are_not_compared(document):
    other = {**document, "run": {**document["run"], "set": "beam"}}
    with pytest.raises(InvalidRequest, match="different sets"):
        compared(document, other)


def test_what_makes_a_comparison_doubtful_is_said(document):
    assert list(cautions(document, document)) == []
    other = {**_doubled(document), "summary": {**document["summary"], "void": True}}
    other["run"] = {**document["run"], "data": "of another day"}
    first, second, third = cautions(document, other)
    assert first == "the second result is VOID: not every memory was kept"
    assert second.startswith("not the same data:")
    assert third == f"{len(document['rows'])} questions are in one of the results only, and left out"


def _grid(document: dict) -> dict:
    judged = {"reader": "small", "judge": "<judge>", "questions": 1, "tokens": 9}
    rows = [("treatment", True), ("lower bound", False)]
    return {
        **{name: document[name] for name in ("run", "machine", "date")},
        "answers": {
            "cells": {cell: {**judged, "accuracy": float(right)} for cell, right in rows},
            "treatment minus": {"lower bound": {"mean": 1.0, "low": 1.0, "high": 1.0, "p": 0.0}},
            "left out": 2,
            "not kept": [],
            "void": False,
        },
        "rows": [{"cell": cell, "category": "temporal", "correct": right} for cell, right in rows],
    }


def test_the_page_shows_what_was_answered_and_judged(document, tmp_path: Path):
    (tmp_path / "answers.json").write_text(json.dumps(_grid(document)), encoding="utf-8")
    (tmp_path / "run.json").write_text(json.dumps(document), encoding="utf-8")
    found = answered(tmp_path)
    assert [one["answers"]["left out"] for one in found] == [2]
    html = page([], (), found)
    assert "answered and judged" in html
    assert "+1.000 (+1.000 to +1.000)" in html
    assert "&lt;judge&gt;" in html
    assert "2 questions have no right answer" in html
    assert "temporal, treatment: 1.000" in html


def test_the_page_says_whether_a_shared_memory_answered_alike(document, tmp_path: Path):
    found = {**{name: document[name] for name in ("run", "machine", "date")}, "cases": 2, "questions": 5}
    found |= {"memories": 9, "leaks": 1, "differences": [f"q{n}: <none>" for n in range(22)]}
    (tmp_path / "parity.json").write_text(json.dumps(found), encoding="utf-8")
    assert runs(tmp_path) == []
    html = page([], (), (), parities(tmp_path))
    assert "22 answered differently, 1 hits from another case" in html
    assert "q19: &lt;none&gt;" in html
    assert "q20" not in html
    assert "and 2 more" in html


def test_the_page_is_well_formed_and_fetches_nothing(document):
    html = page([document])
    assert "LoCoMo" in html
    charts = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert "All that is to be reached" in html
    assert len(charts) == 4
    for chart in charts:
        ET.fromstring(chart)
    assert not re.search(r"(src|href)=|https?://|@import|url\(", html)


def test_the_page_escapes_what_it_shows(document):
    hostile = json.loads(json.dumps(document))
    hostile["summary"]["categories"]["<script>"] = hostile["summary"]["categories"]["single-hop"]
    html = page([hostile])
    assert "&lt;script&gt;" in html
    assert "<script>" not in html


def test_something_else_is_not_taken_for_results(tmp_path: Path):
    file = tmp_path / "x.json"
    file.write_text("[]", encoding="utf-8")
    with pytest.raises(InvalidRequest, match="not the document of a run"):
        load(file)


def test_the_page_shows_how_long_recalls_take_by_size_also_of_a_benchmark(document):
    spread = {"p50": 2.0, "p95": 3.0, "count": 9}
    row = {"measure": "recall without embedding", "size": 1000, "ours": spread, "other": spread}
    alone = page([document])
    both = page([document], [{"latencies_ms": [row, {**row, "measure": "recall", "other": None}]}])
    assert "median milliseconds by memories" in alone
    assert "reference design" not in alone
    assert "reference design" in both
    assert [one["memories"] for one in document["timing"]["by size"]] == [2, 7]
    older = {**document, "timing": {"ingest_s": 1.0}}
    assert "median milliseconds by memories" not in page([older])


def test_whatever_else_lies_in_a_folder_of_results_is_passed_over(document, tmp_path: Path):
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "other.json").write_text('{"summary": {}, "run": {"set": "mine"}}', encoding="utf-8")
    (tmp_path / "bench.json").write_text('{"latencies_ms": []}', encoding="utf-8")
    (tmp_path / "run.json").write_text(json.dumps(document), encoding="utf-8")
    assert [one["digest"] for one in runs(tmp_path)] == [document["digest"]]
    assert benches(tmp_path) == [{"latencies_ms": []}]
