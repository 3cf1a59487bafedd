"""Trajectories: every step of a run can be read again, and going on loses and repeats none."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from memorywire_evals.answers import LOWER_BOUND, TREATMENT, Cell, Grid, answer_all
from memorywire_evals.commands.eval import command
from memorywire_evals.readers import open_reader
from memorywire_evals.results import hash_text
from memorywire_evals.run import Plan, run
from memorywire_evals.sets import KINDS
from tests.evals import tiny


@pytest.fixture
def plan(data: Path, tmp_path: Path) -> Plan:
    return Plan(
        kind=KINDS["locomo"],
        data=data,
        split="all",
        out=tmp_path / "results",
        cache=tmp_path / "vectors.db",
        baselines=False,
        trajectories=True,
    )


def _run(plan: Plan, date: str = "2026-01-01T00:00:00+00:00", told: list[str] | None = None) -> list[dict]:
    """The steps that the run of this date has written down."""
    seen = [] if told is None else told
    asyncio.run(run(plan, date=date, command="eval", tell=lambda done, of, note: seen.append(note)))
    return _read(_last_entry(plan)["trajectories"], plan)


def _last_entry(plan: Plan) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads((plan.out / "ledger.jsonl").read_text().splitlines()[-1])
    return entry


def _read(name: str, plan: Plan) -> list[dict]:
    return [json.loads(line) for line in (plan.out / name).read_text(encoding="utf-8").splitlines()]


def _pick(steps: list[dict], **fields: Any) -> list[dict]:
    return [step for step in steps if all(step.get(name) == value for name, value in fields.items())]


def test_what_was_written_retrieved_and_used_is_a_line_each(plan):
    steps = _run(plan)
    written = _pick(steps, step="written", case="conv-1")
    text = tiny.LOCOMO[0]["conversation"]["session_1"][0]["text"]
    assert [step["ref"] for step in written][:2] == ["D1:1", "D1:2"]
    assert written[0]["digest"] == hash_text(text)
    assert (written[0]["type"], written[0]["status"], written[0]["characters"]) == (
        "episodic",
        "committed",
        len(text),
    )
    assert written[0]["stored_at"] > written[0]["occurred_at"] > 0
    deep, default = _pick(steps, step="retrieved", question="conv-1#0", asked="own")
    assert deep["options"] == {"k": 200, "min_relevance": "off"}
    assert deep["hits"][0] == {**deep["hits"][0], "ref": "D1:1", "gold": True}
    assert deep["hits"][0]["id"] == written[0]["id"]
    scores = [hit["score"] for hit in deep["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert deep["returned"] == len(written)
    assert default["options"] == {"k": 5}
    [used] = _pick(steps, step="used", question="conv-1#0")
    assert used["memories"] == [{"ref": "D1:1", "gold": True}]
    assert used["by"] == "recall"
    order = [step["step"] for step in steps if step["case"] == "conv-1"]
    assert order.index("written") < order.index("retrieved") < order.index("used")


def test_the_evidence_of_a_foreign_question_is_not_in_this_memory(plan):
    foreign = _pick(_run(plan), step="retrieved", case="conv-2", asked="foreign")
    assert {step["question"] for step in foreign} >= {"conv-1#0"}
    assert any(step["hits"] for step in foreign)
    assert not any(hit["gold"] for step in foreign for hit in step["hits"])


def test_what_was_already_there_is_written_down_as_such(plan, tmp_path):
    file = tmp_path / "mine.jsonl"
    lines = [
        {"id": "m1", "memory": "The puppy is called Biscuit"},
        {"id": "m2", "memory": "The puppy is called Biscuit"},
        {"question": "what is the puppy called?", "gold": ["m1"]},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    first, second = _pick(_run(replace(plan, kind=KINDS["own"], data=file)), step="written")
    assert (first["status"], first["stored_as"]) == ("committed", None)
    assert (second["status"], second["stored_as"]) == ("duplicate", first["id"])


def test_trajectories_hold_no_words_and_two_runs_write_the_same(plan, tmp_path):
    first, second = (_run(replace(plan, out=tmp_path / name)) for name in ("one", "two"))
    assert first == second
    assert "Biscuit" not in json.dumps(first)


def test_a_run_that_goes_on_has_every_step_once(plan, tmp_path):
    whole = _run(replace(plan, out=tmp_path / "whole"))
    _run(replace(plan, limit=1))
    told: list[str] = []
    assert _run(plan, "2026-01-02T00:00:00+00:00", told) == whole
    assert told == ["conv-2", "summary"]


def test_a_case_that_was_cut_off_is_written_down_anew(plan, tmp_path):
    whole = _run(plan)
    [lines] = plan.out.rglob("cases.jsonl")
    lines.write_bytes(lines.read_bytes()[:-40])  # its steps are there, but not that it is done
    for part in lines.parent.glob("trajectories/*"):
        part.write_bytes(part.read_bytes().replace(b'"case": "conv-2"', b'"case": "of before"'))
    assert _run(plan, "2026-01-02T00:00:00+00:00") == whole


def test_cases_that_were_done_without_are_done_again(plan, tmp_path):
    whole = _run(replace(plan, out=tmp_path / "whole"))
    off = replace(plan, trajectories=False)
    asyncio.run(run(off, date="2026-01-01", command="eval", tell=lambda *_: None))
    digest = _last_entry(off)["digest"]
    told: list[str] = []
    assert _run(plan, "2026-01-02T00:00:00+00:00", told) == whole
    assert told == ["conv-1", "conv-2", "summary"]
    assert _last_entry(plan)["digest"] == digest, "figures do not change"


def test_nothing_is_written_down_unless_it_is_asked_for(plan):
    off = replace(plan, trajectories=False)
    asyncio.run(run(off, date="2026-01-01", command="eval", tell=lambda *_: None))
    assert not list(plan.out.rglob("*trajectories*"))
    assert "trajectories" not in _last_entry(off)


def test_what_a_reader_used_is_what_its_prompt_held(plan, tmp_path):
    program = "import sys; print('no' if 'Given answer' in sys.stdin.read() else 'Biscuit')"
    asked = open_reader(f'cmd:{sys.executable} -c "{program}"', key=None)
    cells = (Cell(name=TREATMENT, reader=asked, memory=True), Cell(name=LOWER_BOUND, reader=asked))
    grid = Grid(cells=cells, judge=asked, budget=16)
    for _ in range(2):  # the second run asks nobody, and has all steps
        document = asyncio.run(
            answer_all(plan, grid, date="2026-01-01", command="eval", tell=lambda *_: None)
        )
        [file] = plan.out.rglob("*.trajectories.jsonl")
        steps = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        used = {
            (step["cell"], step["question"]): [memory["ref"] for memory in step["memories"]]
            for step in _pick(steps, step="used", by="reader")
        }
        assert used == {(row["cell"], row["question"]): row["shown"] for row in document["rows"]}
        assert used[TREATMENT, "conv-1#0"] == ["D1:1"]  # no more fits
        assert used[LOWER_BOUND, "conv-1#0"] == []
        assert _pick(steps, step="written")
        assert _pick(steps, step="retrieved")
    assert document["spent"]["calls"] == 0


def test_trajectories_can_be_typed_for_runs_alone(tmp_path):
    arguments = ["micro", "--trajectories", "--no-baselines", "--out", str(tmp_path)]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    [file] = tmp_path.rglob("micro-all-*.trajectories.jsonl")
    assert file.with_name(file.name.replace(".trajectories.jsonl", ".json")).is_file()
    refused = CliRunner().invoke(command, [*arguments, "--paper", "--json"])
    assert refused.exit_code == 2
    assert json.loads(refused.stderr)["field"] == "trajectories"
