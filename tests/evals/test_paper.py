"""The paper's microbenchmark as a command."""

import json
from pathlib import Path

from click.testing import CliRunner

from memorywire_evals.commands.eval import command
from memorywire_evals.datasets.own import read_micro
from memorywire_evals.paper import find_user


def test_every_fact_belongs_to_one_of_ten_users_or_to_the_agent():
    dataset = read_micro(Path(), split="all", roles="all")
    items = dataset.build(dataset.case_ids[0]).items
    users = [find_user(item) for item in items]
    assert len({user for user in users if user}) == 10
    assert users.count(None) < 15
    assert {find_user(item) for item in items if item.content.startswith("Alice")} == {"Alice"}


def test_the_table_has_every_figure_of_the_paper_and_is_kept(tmp_path: Path):
    done = CliRunner().invoke(command, ["micro", "--paper", "--out", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    figures = document["figures"]
    assert set(figures) == set(document["published"])
    assert figures["recall@5"] >= document["published"]["recall@5"] - 0.01  # one memory of one query
    assert figures["precision@5"] >= document["published"]["precision@5"]
    assert figures["no_match_empty"] > document["published"]["no_match_empty"]
    for name in ("ingest_ms", "recall_ms"):
        p50, p95, p99 = (figures[name][share] for share in ("p50", "p95", "p99"))
        assert 0 < p50 <= p95 <= p99
    whole = 100 * figures["ingest_ms"]["p50"] / 1000 / 2
    assert figures["run_seconds"] >= whole, "the run holds all hundred single remembers"
    (kept,) = (tmp_path / document["run"]["version"]).glob("micro-paper-*Z.json")
    assert json.loads(kept.read_bytes()) == document
    (line,) = (tmp_path / "ledger.jsonl").read_text().splitlines()
    assert json.loads(line)["figures"] == figures


def test_the_table_names_here_and_published(tmp_path: Path):
    done = CliRunner().invoke(command, ["micro", "--paper", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "published" in done.stdout.splitlines()[0].lower()
    assert "37.8 / 46.0 / 69.1" in done.stdout
