"""The sweep of rogue stores, in small: what each defence promises, it keeps."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from memorywire.model.clock import system_clock
from memorywire.model.errors import StoreUnavailable
from memorywire.search.embed import open_embedder
from memorywire_evals.bench import paper_fusion
from memorywire_evals.bench.fusion_attacks import Cell, World, make_world, sweep
from memorywire_evals.bench.fusion_report import FusionReport
from memorywire_evals.bench.fusion_stores import Overhead, Read
from memorywire_evals.bench.paper_fusion import FUSIONS, INJECTED, PUBLISHED, Experiment, run_paper
from memorywire_evals.bench.timing import Spread
from memorywire_evals.commands.bench import command


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
    for defence in ("register, rerank", "embedded, rerank"):
        mine = _of(cells, defence)
        few = [cell for cell in mine if cell.rogues == 1 and cell.stores >= 3]
        assert max(cell.clean - cell.recall for cell in few) <= 0.02
        half = [cell for cell in mine if cell.attack == "id bump" and 2 * cell.rogues <= cell.stores]
        assert max(cell.bump for cell in half) <= 0.1
    assert max(cell.bump for cell in _of(cells, "rrf") if cell.attack == "id bump") > 0.1


def test_an_embedded_store_keeps_pushed_memories_down_however_many_lie(cells: list[Cell]) -> None:
    assert max(cell.bump for cell in _of(cells, "embedded, rerank")) <= 0.1
    assert max(cell.bump for cell in _of(cells, "register, rerank")) > 0.5, "most of the stores are believed"


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> list[Experiment]:
    return asyncio.run(run_paper(tmp_path_factory.mktemp("paper"), clock=system_clock))


def test_the_paper_has_its_table_and_weighted_lets_no_invented_id_through(paper: list[Experiment]) -> None:
    for experiment in paper:
        figures = {row.injected: (row.recall_at_5, round(row.leak, 3)) for row in experiment.outcomes}
        assert figures == PUBLISHED[experiment.fusion], experiment.fusion
        lost = [row.gold_displacement for row in experiment.outcomes]
        assert lost == [0.0, *[0.5 if experiment.fusion == "max" else 0.0] * 4]


def test_a_slow_store_does_not_end_the_experiment(
    paper: list[Experiment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper_fusion, "QUERIES", 2)
    slow = asyncio.run(run_paper(tmp_path, clock=system_clock, delay=0.05))
    assert [one.fusion for one in slow] == [one.fusion for one in paper]
    with pytest.raises(StoreUnavailable, match=r"no store answered|did not answer"):
        asyncio.run(run_paper(tmp_path, clock=system_clock, delay=0.05, deadline=0.01))


def test_the_command_writes_a_file_for_each_fusion(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    done = CliRunner().invoke(command, ["fusion", "--paper", "--out", str(tmp_path), "--markdown", str(page)])
    assert done.exit_code == 0, done.output
    for fusion in FUSIONS:
        document = json.loads((tmp_path / f"adversarial-results.{fusion}.json").read_bytes())
        assert (document["seed"], document["fusion"]) == (1337, fusion)
        assert [row["injected"] for row in document["outcomes"]] == [0, 5, 10, 25, 50]
    assert page.read_text().count("\n| ") == 2 + len(INJECTED)


def test_the_same_seed_throws_the_same_dice(world: World, cells: list[Cell]) -> None:
    again = list(sweep(world, queries=3, seed=5, most=2, watch=lambda doing: None))
    assert again == [cell for cell in cells if cell.stores == 2]


def test_the_report_says_which_promise_is_kept_and_which_is_not(
    cells: list[Cell], paper: list[Experiment]
) -> None:
    ways = ("meanings", "graph", "words", "sqlite", "2 alike, rerank", "3 alike, rerank", "3 apart, rerank")
    asked = [(way, dataset) for way in ways for dataset in ("micro", "oblique")]
    reads = tuple(Read(dataset=dataset, way=way, stores=1, recall=1.0, p50=1.0) for way, dataset in asked)
    quick, slow = (Spread(p50=p50, p95=9.0, count=1) for p50 in (2.0, 4.0))
    report = FusionReport(
        at=0,
        machine={},
        seed=5,
        queries=3,
        cells=tuple(replace(cell, quality=0.9) for cell in cells),
        paper=tuple(paper),
        overhead=Overhead(memories=1, joined=slow, slowest=quick),
        reads=reads,
    )
    kept = {figure: said for figure, *_, said in report.figures()}
    assert kept.pop("router over its slowest store, p50, ms") == "no"
    assert set(kept.values()) == {"yes"}
    worse = tuple(replace(read, recall=0.9) if "3 alike" in read.way else read for read in reads)
    lost = {figure: said for figure, *_, said in replace(report, reads=worse).figures()}
    assert lost["recall@5 lost by one more store, microbenchmark"] == "no"
    assert "| 3 alike, rerank | 1 | 1.000 |" in report.markdown()
