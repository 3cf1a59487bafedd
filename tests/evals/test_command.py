"""`memorywire eval` as it is typed."""

import json
from pathlib import Path

import pytest

from memorywire_evals.commands.eval_options import typed
from tests.cli.shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home")


def test_a_set_is_measured_compared_and_reported(shell, data, tmp_path):
    out = tmp_path / "results"
    done = shell("eval", "precision", "--data", str(data), "--out", str(out))
    assert done.code == 0, done.err
    assert "mean precision" in done.out
    assert "precision: 0/1 beliefs" in done.err
    [document] = out.rglob("precision-*.json")
    same = shell("eval", "compare", str(document), str(document))
    assert "may be chance" in same.out
    shown = shell("eval", "report", str(out))
    assert shown.out == f"wrote {out / 'report.html'}\n"
    assert (out / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_all_leaves_out_what_is_not_in_the_folder(shell, data, tmp_path):
    for gone in ("locomo2.json", "longmemeval_s_3.json.xz", "beam_100k.json"):
        (data / gone).unlink()
    done = shell("eval", "all", "--data", str(data), "--out", str(tmp_path / "r"), "--no-baselines", "--json")
    assert [document["run"]["set"] for document in done.json["runs"]] == [
        "realtalk",
        "factconsolidation",
        "precision",
        "halumem",
        "prefeval",
        "xquad",
        "micro",
    ]
    assert done.err.count("left out, no") == 7
    assert done.json["parity"] == []


def test_all_ends_with_every_figure_to_reach_in_one_table(shell, data, tmp_path):
    for gone in ("locomo2.json", "beam_100k.json"):
        (data / gone).unlink()
    done = shell("eval", "all", "--data", str(data), "--out", str(tmp_path / "r"), "--no-baselines")
    assert done.code == 0, done.err
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    table = lines[lines.index("at least aim memorywire stands") + 1 :]
    assert any(line.startswith("halumem: contradictory near-duplicates merged <= 0.020") for line in table)
    assert any(line.startswith("micro: no-match queries left empty") for line in table)
    assert not any("MRR" in line for line in table)  # nothing is asked of it
    assert table[-1].startswith("shared memory with a filter")
    assert table[-1].endswith("aim")


def test_all_of_it_can_be_had_as_json(shell, data, tmp_path):
    for gone in ("locomo2.json", "beam_100k.json", "factconsolidation_tiny.json"):
        (data / gone).unlink()
    asked = ("eval", "all", "--data", str(data), "--out", str(tmp_path / "r"), "--no-baselines", "--json")
    found = shell(*asked).json
    [shared] = found["parity"]
    assert (shared["run"]["set"], shared["questions"], shared["differences"]) == ("longmemeval", 2, [])
    last = found["figures"][-1]
    assert last["figure"].startswith("shared memory with a filter")
    assert (last["at least"], last["aim"], last["memorywire"], last["stands"]) == (0, 0, 0, "aim")
    merged = next(one for one in found["figures"] if "near-duplicates" in one["figure"])
    assert (merged["at least"], merged["less"]) == (0.02, True)
    [kept] = (tmp_path / "r").rglob("longmemeval-test-parity.json")
    assert json.loads(kept.read_bytes()) == shared
    ledger = (tmp_path / "r" / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
    assert sum("differences" in json.loads(line) for line in ledger) == 1


def test_a_shared_memory_that_answers_otherwise_fails_all(shell, data, tmp_path):
    forgetful = ("--store", "memory://", "--out", str(tmp_path / "r"), "--no-baselines")
    done = shell("eval", "all", "--data", str(data), *forgetful)
    assert done.code == 3
    assert done.out.splitlines()[-1].endswith("too many")


def test_results_can_be_had_as_json(shell, data, tmp_path):
    done = shell("eval", "beam", "--data", str(data), "--out", str(tmp_path / "r"), "--json")
    assert done.json["run"]["set"] == "beam"


def test_parity_is_a_yes_or_no(shell, data, tmp_path):
    out = ("--out", str(tmp_path / "r"))
    done = shell("eval", "longmemeval", "--data", str(data), "--parity", "--limit", "1", *out)
    assert done.code == 0, done.out + done.err
    assert "0 answered differently, 0 hits from another case" in done.out


def test_parity_can_be_had_as_json_and_fails_where_answers_differ(shell, data, tmp_path):
    few = ("--parity", "--limit", "1", "--out", str(tmp_path / "r"))
    asked = ("eval", "longmemeval", "--data", str(data), *few, "--json")
    assert shell(*asked).json["differences"] == []
    forgetful = shell(*asked, "--store", "memory://")
    assert forgetful.code == 3
    assert "nothing was recalled" in forgetful.json["differences"][0]


def test_a_set_without_data_says_what_to_pass(shell):
    done = shell("eval", "locomo", "--json")
    assert done.code == 2
    assert json.loads(done.err)["field"] == "data"


def test_every_set_is_listed(shell):
    assert all(name in shell("eval", "--help").out for name in ("locomo", "own", "all", "compare", "report"))


def test_what_may_be_secret_on_the_command_line_is_not_written_down(monkeypatch):
    line = [
        *("eval", "answer", "own", "--data", "my data"),
        *("--store", "postgresql://me:hunter2@host/db", "--store=https://hunter2@host:8377/x@y"),
        *("--reader", "openai+https://host/v1?model=m&key=hunter2", "--judge=cmd:judge --key hunter2"),
        *("--agent-cmd", "agent 'hunter2 hunter2'", "--limit", "2"),
    ]
    monkeypatch.setattr("sys.argv", ["memorywire", *line])
    assert typed() == (
        "eval answer own --data my data --store postgresql://host/db --store=https://y "
        "--reader openai+https://host/v1 --judge=cmd:judge ... --agent-cmd agent ... --limit 2"
    )
