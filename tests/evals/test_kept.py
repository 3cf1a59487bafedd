"""Results are kept: no run overwrites another, and the ledger has the figures."""

import json
from pathlib import Path

from click.testing import CliRunner

from memorywire_evals.commands.eval import command
from memorywire_evals.results import code, find_free, runs


def test_two_runs_leave_two_files_and_two_lines_with_figures(tmp_path: Path):
    for _ in range(2):
        done = CliRunner().invoke(command, ["micro", "--no-baselines", "--out", str(tmp_path)])
        assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines()]
    files = {line["file"] for line in lines}
    assert len(files) == 2
    for line in lines:
        document = json.loads((tmp_path / line["file"]).read_bytes())
        ours = document["summary"]["views"]["answerable"]["systems"]["memorywire"]
        assert line["figures"]["turn.rec@5"] == ours["turn.rec@5"]
        assert line["timing"] == document["timing"]
    assert len(runs(tmp_path)) == 1, "the report shows the newest"


def test_runs_of_one_second_have_files_of_their_own(tmp_path: Path):
    first = find_free(tmp_path, "micro-all-20261118T164634Z")
    first.touch()
    assert find_free(tmp_path, first.stem).name == "micro-all-20261118T164634Z-2.json"


def test_the_code_of_a_run_changes_with_each_package_and_not_with_the_command_line(tmp_path: Path):
    core, evals = tmp_path / "core", tmp_path / "evals"
    for package in (core, evals):
        (package / "cli").mkdir(parents=True)
        (package / "one.py").write_text("1")
        (package / "cli" / "call.py").write_text("1")
    before = code(core, evals)
    (core / "cli" / "call.py").write_text("2")
    assert code(core, evals) == before
    (core / "one.py").write_text("2")
    assert code(core, evals) != before


def test_a_run_covers_the_core(tmp_path: Path):
    import memorywire

    done = CliRunner().invoke(command, ["micro", "--no-baselines", "--out", str(tmp_path), "--json"])
    core, evals = Path(memorywire.__file__).parent, Path(runs.__code__.co_filename).parent
    assert json.loads(done.stdout)["run"]["code"] == code(core, evals) != code(evals)
