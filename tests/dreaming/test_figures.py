"""The labelled set, and what a night makes of it."""

import asyncio
import json
from importlib.resources import files

import pytest

from memorywire.evals.dreaming import KINDS, families, measure
from tests.engine.stage import HandClock


def test_the_set_has_four_hundred_records_of_every_kind_and_no_text_twice() -> None:
    known = families()
    assert len(known) * len(KINDS) >= 400
    texts = [family[kind] for family in known for kind in KINDS if kind != "copy"]
    assert len(set(texts)) == len(texts)


def test_no_pair_that_thresholds_are_fitted_to_is_in_a_set() -> None:
    lines = (files("memorywire.dreaming") / "data" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    fitted = {pair[side] for pair in map(json.loads, lines) for side in ("first", "second")}
    known = [family for named in ("dream", "dream_second") for family in families(named)]
    assert fitted.isdisjoint(text for family in known for text in family.values())


@pytest.mark.parametrize("named", ["dream", "dream_second"])
def test_duplicates_are_found_contradictions_are_not_merged_and_recall_gains(named: str) -> None:
    figures = asyncio.run(measure(embedder="minilm", clock=HandClock(), named=named))
    assert figures.precision >= 0.98
    assert figures.recall >= 0.80
    assert figures.conflicts_merged == 0
    assert figures.recall_after >= figures.recall_before
    assert figures.stale_fall >= 0.70
    assert figures.second_night == 0
