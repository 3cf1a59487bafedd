"""A long run of writes: what it finds when nothing drifts, and that it finds what does."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from memorywire_evals.bench.corpus import Fact
from memorywire_evals.bench.drift import (
    Drift,
    Script,
    Seen,
    Step,
    build_document,
    find_fault,
    list_writes,
    retype,
)
from memorywire_evals.bench.drift_worker import Played
from memorywire_evals.commands.bench import command


def test_a_run_counts_repetitions_and_embedded_texts_and_equals_the_oracle(tmp_path: Path):
    arguments = ["drift", "--minutes", "0.1", "--writes", "60", "--folder", str(tmp_path), "--json"]
    page = tmp_path / "page.md"
    done = CliRunner().invoke(command, [*arguments, "--markdown", str(page)])
    document = json.loads(done.stdout)
    assert document["faults"] == 0, document["first faults"]
    filling, soak = document["filling"], document["soak"]
    assert (filling["writes"], filling["repeated"], filling["texts embedded for writes"]) == (60, 20, 60)
    assert soak["writes"] == 3 * soak["searches"] == 3 * soak["repeated"] > 0
    assert soak["texts embedded for writes"] == soak["writes"]
    assert {"first third", "last third"} <= set(document)
    assert done.exit_code == (0 if all(check["holds"] for check in document["checks"]) else 3)
    assert "recognised as repetitions" in page.read_text(encoding="utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["page.md"], "the file under watch is removed"


def test_the_memory_keeps_its_size():
    script = Script(Drift(folder=Path(), writes=30))
    live = {step.subject for step in script.fill()}
    assert len(live) == 10
    for _ in range(30):
        kinds = []
        for step in script.round():
            kinds.append(step.kind)
            if step.kind == "forget":
                live.remove(step.subject)
            elif step.kind == "search":
                assert step.subject in live
            else:
                live.add(step.subject)
        assert kinds == ["forget", "write", "repetition", "copy", "search"]
        assert len(live) == 10


def test_the_same_seed_gives_the_same_steps():
    scripts = [Script(Drift(folder=Path(), writes=9)) for _ in range(2)]
    first, second = ([*script.fill(), *script.round()] for script in scripts)
    assert first == second
    other = Script(Drift(folder=Path(), writes=9, seed=7))
    assert [*other.fill()] != first[:9]


def test_a_copy_is_the_same_sentence_typed_otherwise():
    assert retype("the rent rose") == "The  rent rose."
    assert [step.kind for step in list_writes(4, Fact("a b", "?"))] == ["write", "repetition", "copy"]


_SEARCH = Step(kind="search", subject=1, payload={"search": "x"})
_AGAIN = Step(kind="repetition", subject=1, payload={"write": "x", "id": "1-repetition"})


def _played(**fields: object) -> Played:
    return Played(**{"ms": 1.0, "cpu_ms": 1.0, "texts": 1, **fields})


@pytest.mark.parametrize(
    ("step", "ours", "oracle", "fault"),
    [
        (_AGAIN, {"id": "1-repetition", "status": "committed"}, None, "not recognised"),
        (_AGAIN, {"id": "1-write", "status": "duplicate", "texts": 2}, {"texts": 1}, "2 texts embedded"),
        (_SEARCH, {"hits": [("2-write", 0.9)]}, None, "not found"),
        (_SEARCH, {"hits": [("1-write", 0.9), ("1-copy", 0.8)]}, None, "a copy is among the hits"),
        (_SEARCH, {"hits": [("1-write", 0.9)]}, {"hits": [("1-write", 0.7)]}, "other hits or scores"),
        (
            _SEARCH,
            {"hits": [("1-write", 0.9), ("2-write", 0.8), ("4-copy", 0.1)]},
            {"hits": [("1-copy", 0.9), ("3-write", 0.8), ("4-copy", 0.1)]},
            "none of the oracle's hits",
        ),
    ],
)
def test_a_wrong_answer_is_a_fault(step: Step, ours: dict, oracle: dict | None, fault: str):
    mine = _played(**ours)
    other = mine if oracle is None else replace(mine, **oracle)
    assert fault in (find_fault(step, mine, other) or "")


def test_the_same_answer_is_no_fault_even_if_the_other_copy_stands_for_it():
    ours = _played(hits=[("1-write", 0.9001), ("2-copy", 0.5), ("3-write", 0.2)])
    oracle = _played(hits=[("1-copy", 0.9), ("2-copy", 0.5001), ("4-write", 0.2)])
    assert find_fault(_SEARCH, ours, oracle) is None


def _soak(*, cpu: float = 1.0, resident: float = 100.0, texts: int = 1) -> list[Seen]:
    """A minute in which the last third takes what is given, and the others 1, 100 and 1."""
    step = Step(kind="write", subject=1, payload={})
    early = _played(status="committed", resident_mb=100.0)
    late = replace(early, cpu_ms=cpu, resident_mb=resident, texts=texts)
    return [Seen(at=at, step=step, ours=late if at >= 40 else early) for at in range(60)]


@pytest.mark.parametrize(
    ("late", "drifting"),
    [
        ({}, set()),
        ({"cpu": 1.2, "resident": 104.0}, set()),
        ({"cpu": 1.3}, {"write: processor time, median ms"}),
        ({"resident": 106.0}, {"resident memory, MB"}),
        ({"texts": 2}, {"write: texts embedded"}),
    ],
)
def test_what_drifts_is_named(late: dict, drifting: set[str]):
    document = build_document(Drift(folder=Path(), minutes=1), [], _soak(**late))
    assert {check["check"] for check in document["checks"] if not check["holds"]} == drifting


def test_one_wrong_answer_is_drift():
    seen = _soak()
    seen[30] = replace(seen[30], fault="write of 1: lost")
    document = build_document(Drift(folder=Path(), minutes=1), [], seen)
    assert [check["check"] for check in document["checks"] if not check["holds"]] == [
        "answers that differ from the oracle's, or are wrong"
    ]
    assert document["first faults"] == ["write of 1: lost"]
