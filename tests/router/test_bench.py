"""The sweep of rogue stores, in small: what each defence promises, it keeps."""

import asyncio
from dataclasses import replace

import pytest

from memorywire.evals.bench.fusion.paper import experiment
from memorywire.evals.bench.fusion.sweep import Cell, sweep
from memorywire.evals.bench.fusion.world import World, make_world
from memorywire.retrieval.embed import open_embedder


@pytest.fixture(scope="module")
def world() -> World:
    whole = asyncio.run(make_world(open_embedder("minilm")))
    return replace(whole, questions=whole.questions[:3])


@pytest.fixture(scope="module")
def cells(world: World) -> list[Cell]:
    return list(sweep(world, queries=3, seed=5, most=4, watch=lambda doing: None))


def _of(cells: list[Cell], defence: str) -> list[Cell]:
    return [cell for cell in cells if cell.defence == defence]


def test_no_poison_passes_a_quorum_or_the_register_however_many_lie(cells: list[Cell]) -> None:
    for defence in ("quorum f+1", "trim f", "register", "register, rerank"):
        assert max(cell.leak for cell in _of(cells, defence)) == 0
    assert max(cell.leak for cell in _of(cells, "max")) == 1, "the attacks do bite"
    assert max(cell.leak for cell in _of(cells, "rrf")) > 0.2, "and not only on max"


def test_one_rogue_of_three_costs_no_recall_and_pushes_nothing_up_when_order_is_local(
    cells: list[Cell],
) -> None:
    few = [cell for cell in _of(cells, "register, rerank") if cell.rogues == 1 and cell.stores >= 3]
    assert max(cell.clean - cell.recall for cell in few) <= 0.02
    bumps = [cell for cell in _of(cells, "register, rerank") if cell.attack == "id bump"]
    assert max(cell.bump for cell in bumps) <= 0.1
    assert max(cell.bump for cell in _of(cells, "rrf") if cell.attack == "id bump") > 0.1


def test_the_paper_finds_the_same_weakness_of_max(world: World) -> None:
    rows = {(row.poisons, row.defence): row for row in experiment(world)}
    assert rows[5, "max"].leak >= 0.8
    assert rows[5, "rrf"].leak == 0
    assert rows[5, "register"].leak == 0


def test_the_same_seed_throws_the_same_dice(world: World, cells: list[Cell]) -> None:
    again = list(sweep(world, queries=3, seed=5, most=2, watch=lambda doing: None))
    assert again == [cell for cell in cells if cell.stores == 2]
