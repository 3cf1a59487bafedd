"""The labelled set, and what a night makes of it."""

import asyncio
import json
from importlib.resources import files
from pathlib import Path

import pytest

from memorywire_evals.consolidation import KINDS, facts, families, measure, updates
from tests.engine.stage import HandClock


def test_the_set_has_four_hundred_records_of_every_kind_and_no_text_twice() -> None:
    known = families()
    assert len(known) * len(KINDS) >= 400
    texts = [family[kind] for family in known for kind in KINDS if kind != "copy"]
    assert len(set(texts)) == len(texts)


def test_no_pair_that_thresholds_are_fitted_to_is_in_a_set() -> None:
    pairs = files("memorywire_consolidate") / "data" / "pairs.jsonl"
    lines = pairs.read_text(encoding="utf-8").splitlines()
    fit_thresholds = {pair[side] for pair in map(json.loads, lines) for side in ("first", "second")}
    known = [family for named in ("dream", "dream_second") for family in families(named)]
    assert fit_thresholds.isdisjoint(text for family in known for text in family.values())


@pytest.mark.parametrize("named", ["dream", "dream_second"])
def test_duplicates_are_found_contradictions_are_not_merged_and_recall_gains(named: str) -> None:
    figures = asyncio.run(measure(embedder="minilm", clock=HandClock(), named=named))
    assert figures.precision >= 0.98
    assert figures.recall >= 0.80
    assert figures.conflicts_merged == 0
    assert figures.recall_after >= figures.recall_before
    assert figures.stale_fall >= 0.70
    assert figures.second_night == 0


def test_other_peoples_data_is_held_against_its_own_labels(tmp_path: Path) -> None:
    remember_next = [
        _point("Ana lives in Rome", day=1),
        _point("Ana moved to Oslo", day=2, updates="Ana lives in Rome"),
        _point("Ben works at Bosch", day=3),
        _point("Ben really works at Bosch", day=4),
    ]
    (tmp_path / "halumem.jsonl").write_text(json.dumps({"sessions": [{"memory_points": remember_next}]}))
    found = asyncio.run(updates(tmp_path, embedder="minilm", clock=HandClock()))
    assert (found.updates, found.ended, found.others, found.merged_others) == (1, 1, 1, 1)
    assert found.precision == 0.5
    corpus = {
        "corpora": {"6k": ["The capital of Rom is Bukarest.", "The capital of Rom is Arad."]},
        "sets": [
            {
                "name": "facts_sh_6k",
                "corpus": "6k",
                "questions": ["What is the capital of Rom?"],
                "answers": [["Arad"]],
            }
        ],
    }
    (tmp_path / "factconsolidation.json").write_text(json.dumps(corpus))
    held = asyncio.run(facts(tmp_path, "6k", embedder="minilm", clock=HandClock()))
    assert (held.records, held.merged, held.superseded, held.questions) == (2, 0, 1, 1)
    assert (held.first[1], held.among) == (1.0, (1.0, 1.0))


def _point(text: str, *, day: int, updates: str | None = None) -> dict[str, object]:
    """A memory as HaluMem writes it."""
    return {
        "memory_content": text,
        "timestamp": f"Sep {day:02}, 2025, 11:35:32",
        "is_update": str(updates is not None),
        "original_memories": [] if updates is None else [updates],
    }
