"""The benchmark measures what it says, on the stores it says."""

import asyncio
import json
import subprocess
import sys
from itertools import groupby, islice
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from memorywire.model.answers import Remembered, Status
from memorywire.model.errors import CapabilityUnsupported, Conflict, InvalidRequest
from memorywire.search.embed import open_embedder
from memorywire_evals.bench import timing
from memorywire_evals.bench.corpus import facts
from memorywire_evals.bench.measures import CLIENTS
from memorywire_evals.bench.reference_design import LinearStore, open_reference
from memorywire_evals.bench.report import (
    BARE,
    BOUND,
    PLAIN,
    REFERENCE,
    TENANT_ALONE,
    WHOLE,
    Latency,
    Rate,
    Report,
    Resident,
    chart,
    figures,
)
from memorywire_evals.bench.stage import AGENT, SMALL_USER, Known, kept, mint, open_stage, user_of
from memorywire_evals.bench.timing import TURN, WARM_UP, Spread, Step, side_by_side, spread
from memorywire_evals.commands.bench import command


def test_the_same_seed_tells_the_same_facts_and_never_one_twice():
    some = list(islice(facts(1), 3000))
    assert some == list(islice(facts(1), 3000))
    assert some != list(islice(facts(2), 3000))
    assert len({fact.content for fact in some}) == 3000


def test_a_question_names_what_its_fact_is_about_in_other_words():
    for fact in islice(facts(), 200):
        words = set(fact.content.split())
        shared = words & set(fact.question.rstrip("?").split())
        assert shared
        assert fact.question.rstrip("?") not in fact.content


def test_percentiles_lie_between_the_nearest_samples():
    found = spread([0.004, 0.001, 0.003, 0.002, 0.005])
    assert (round(found.p50, 6), round(found.p95, 6), found.count) == (3.0, 4.8, 5)
    assert spread([0.002]) == Spread(p50=2.0, p95=2.0, count=1)


def test_sides_are_measured_in_turn_and_each_goes_first_every_other_time():
    calls: list[tuple[str, int]] = []

    def step(name):
        async def once(number: int) -> None:
            calls.append((name, number))

        return once

    rounds = 2 * TURN + 1
    found = asyncio.run(side_by_side(rounds, {"a": step("a"), "b": step("b")}, rest=0))
    assert {name: one.count for name, one in found.items()} == {"a": rounds, "b": rounds}
    turns = [name for name, _ in groupby(name for name, _ in calls)]
    assert turns == list("abababa")[: len(turns)]
    for side in "ab":
        assert [number for name, number in calls if name == side] == list(range(-WARM_UP, rounds))


def test_a_slow_step_has_fewer_rounds_from_the_first_turn_to_the_last():
    calls: list[str] = []

    def step(name):
        async def once(number: int) -> None:
            calls.append(f"{name} {number}")

        return once

    steps = {"a": step("a"), "slow": step("slow")}
    found = asyncio.run(side_by_side(6 * TURN, steps, rest=0, fewer={"slow": 10}))
    assert {name: one.count for name, one in found.items()} == {"a": 6 * TURN, "slow": 10}
    assert calls.index("slow -5") < calls.index("a 10") < calls.index("slow 5")
    assert calls.index("a 50") < calls.index("slow 9")


def test_a_scan_of_very_many_is_done_less_often_and_nothing_else_is(tmp_path: Path):
    async def scans() -> list[int]:
        vectors, silent = Known(open_embedder("minilm")), lambda _: None
        async with open_stage(
            20, rounds=60, folder=tmp_path, vectors=vectors, reference=None, watch=silent
        ) as (stage, _):
            return [replace(stage, size=size).scans for size in (100_000, 1_000_000)]

    assert asyncio.run(scans()) == [60, 10]


def test_what_has_to_happen_before_a_step_is_not_measured(monkeypatch: pytest.MonkeyPatch):
    done: list[tuple[str, int]] = []
    now = 0.0
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: now))

    def step(name: str, seconds: float) -> Step:
        async def once(number: int) -> None:
            nonlocal now
            now += seconds
            done.append((name, number))

        return once

    steps, slow = {"a": step("a", 1), "b": step("b", 2)}, {"a": step("before", 4)}
    found = asyncio.run(side_by_side(3, steps, rest=0, before=slow))
    assert [name for name, number in done if number == 1] == ["before", "a", "b"]
    assert (found["a"].p50, found["b"].p50) == (1000, 2000)


def test_the_linear_store_finds_the_nearest_of_the_agent_and_of_the_user(tmp_path: Path):
    rows = np.eye(8, dtype="<f4")
    with LinearStore(tmp_path / "linear.db", mint()) as store:
        store.fill("a", [(f"row {at}", f"user {at % 2}", rows[at].tobytes()) for at in range(8)])
        store.fill("b", [("another's", None, rows[3].tobytes())])
        asked = (rows[3] + rows[4] / 2).tobytes()
        assert store.recall("a", asked)[:2] == ["row 3", "row 4"]
        assert store.recall("a", asked, user="user 0")[0] == "row 4"
        assert len(store.recall("a", asked, user="user 0")) == 4
        assert store.recall("nobody", asked) == []
        store.remember("a", ("nearer", None, (asked)))
        assert store.recall("a", asked)[0] == "nearer"


def test_a_learned_text_is_not_embedded_again():
    class Counting:
        space = open_embedder("minilm").space
        asked = 0

        async def embed(self, texts):
            self.asked += len(texts)
            return [text.encode() for text in texts]

        async def close(self):
            return None

    async def story():
        inner = Counting()
        known = Known(inner)
        await known.learn(["a", "b"])
        learned = await known.embed(["b", "a"]), inner.asked
        known.unlearn(["a"])
        return learned, await known.embed(["a", "b"]), inner.asked

    assert asyncio.run(story()) == (([b"b", b"a"], 2), [b"a", b"b"], 4)


def test_both_stores_are_filled_alike_and_answer_alike(tmp_path: Path):
    async def story():
        vectors = Known(open_embedder("minilm"))
        async with open_stage(
            60, rounds=3, folder=tmp_path, vectors=vectors, reference=None, watch=lambda _: None
        ) as (stage, rates):
            await vectors.learn(stage.questions)
            total = (await stage.ours.list(limit=1)).total
            small = (await stage.ours.list(limit=1, user_id=SMALL_USER)).total
            agreed = 0
            for question in stage.questions:
                ours = await stage.ours.recall(question, scope="all", min_relevance="off")
                its = stage.linear.recall(AGENT, vectors.known(question))
                agreed += ours.hits[0].content in its
            return total, small, len(stage.small), agreed / len(stage.questions), rates

    total, small, facts_of_small, agreed, rates = asyncio.run(story())
    assert (total, small, facts_of_small) == (60, 10, 10)
    assert agreed > 0.9
    assert [rate.size for rate in rates] == [60, 60]


@pytest.mark.parametrize(("size", "expected"), [(100, 10), (3000, 10), (20_000, 20), (5, 5)])
def test_the_small_user_owns_one_in_a_thousand_and_at_least_ten(size: int, expected: int):
    owned = sum(user_of(number, size) == SMALL_USER for number in range(size))
    assert owned == expected


def test_a_memory_that_was_not_kept_stops_the_benchmark():
    receipt = Remembered(id="x", version=1, stored_at=0, status=Status.COMMITTED, stores=())
    kept(receipt)
    with pytest.raises(Conflict):
        kept(Remembered(id="x", version=1, stored_at=0, status=Status.DUPLICATE, stores=()))
    with pytest.raises(InvalidRequest):
        kept(InvalidRequest("no"))


def test_ratios_say_how_many_times_faster_ours_is():
    slow, fast = Spread(p50=8.0, p95=9.0, count=3), Spread(p50=2.0, p95=3.0, count=3)
    assert Latency(measure="m", size=1, ours=fast, other=slow).ratio == 4
    assert Rate(measure="m", size=1, ours=10, other=40).ratio == 0.25
    assert Latency(measure="m", size=1, ours=fast).ratio is None


def test_a_reference_that_is_not_there_is_named_with_what_to_do(tmp_path: Path):
    with pytest.raises(CapabilityUnsupported) as problem:
        open_reference("onnx", tmp_path)
    assert problem.value.field == "reference"
    assert "reference_onnx.py" in str(problem.value.fix)


def test_the_command_reports_every_measure_as_tables_json_markdown_and_plot(tmp_path: Path):
    report, page, plot = (tmp_path / name for name in ("report.json", "report.md", "report.svg"))
    arguments = ["--size", "30", "--rounds", "2", "--reference", "none", "--folder", str(tmp_path)]
    files = ["--json", str(report), "--markdown", str(page), "--plot", str(plot)]
    done = CliRunner().invoke(command, [*arguments, *files])
    assert done.exit_code == 0, done.output
    found = json.loads(report.read_text(encoding="utf-8"))
    compared = {row["measure"]: row["ratio"] for row in found["latencies_ms"]}
    assert compared["recall"] is None
    assert compared["recall without embedding"] > 0
    assert compared["remember without embedding"] > 0
    assert f"recall, {CLIENTS} clients at once" in compared
    assert compared["a flush of 4 KB"] is None
    beside = {(row["measure"], row["against"]) for row in found["latencies_ms"]}
    assert {against for measure, against in beside if measure == "recall without embedding"} == {
        REFERENCE,
        BOUND,
    }
    assert {against for measure, against in beside if measure == "remember without embedding"} == {
        REFERENCE,
        BARE,
        PLAIN,
        WHOLE,
        "a bare insert on a thread",
    }
    assert "30 memories: a flush of 4 KB, appended to a file, takes" in page.read_text(encoding="utf-8")
    assert compared["open and first recall of a tenant with 10, without embedding"] > 0
    for measure in compared:
        assert measure in done.output
        assert measure in page.read_text(encoding="utf-8")
    assert found["machine"]["kernel"]
    assert found["resident_mb"][0]["mb"] > 20
    for shown in (done.output, page.read_text(encoding="utf-8")):
        assert "30 memories: remember without embedding, times as long as a bare durable insert" in shown
    drawn = ElementTree.parse(plot).getroot()
    assert "recall without embedding" in "".join(drawn.itertext())
    assert drawn.findall(".//{*}polyline")
    assert set(tmp_path.iterdir()) == {report, page, plot}


def test_a_report_that_could_not_be_written_is_refused_before_anything_is_measured(tmp_path: Path):
    files = ["--markdown", str(tmp_path / "nowhere" / "report.md")]
    done = CliRunner().invoke(command, ["--folder", str(tmp_path), *files])  # the whole benchmark
    assert done.exit_code == 2
    assert "there is no folder" in done.output


def test_what_was_found_before_an_interruption_is_written_and_shown(tmp_path: Path):
    file = tmp_path / "report.json"
    sizes, files = ["--size", "10", "--size", "100000"], ["--json", str(file), "--folder", str(tmp_path)]
    options = [*sizes, "--rounds", "1", "--reference", "none", *files]
    process = subprocess.Popen(
        [sys.executable, "-m", "memorywire", "bench", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "filling 100,000" in line:  # so many that it is not done before it is told to end
            process.terminate()
            break
    shown, said = process.communicate()
    assert process.returncode == 130, said
    found = json.loads(file.read_text(encoding="utf-8"))
    assert {row["size"] for row in found["latencies_ms"]} == {10}
    assert "recall without embedding" in shown
    assert set(tmp_path.iterdir()) == {file}  # told to end, it took its databases with it


def _latency(measure: str, size: int, ours: float, other: float, against: str = REFERENCE) -> Latency:
    mine, its = (Spread(p50=value, p95=value, count=1) for value in (ours, other))
    return Latency(measure=measure, size=size, ours=mine, other=its, against=against)


def test_what_is_asked_of_the_speed_is_shown_beside_what_was_measured():
    report = Report(
        at=0,
        machine={},
        reference="",
        rounds=1,
        latencies=(
            _latency("recall", 100, 1.0, 15.0),
            _latency("recall", 10_000, 1.0, 99.0),  # nothing is asked of it
            _latency("recall without embedding", 1_000_000, 30.0, 20.0, BOUND),
            _latency("recall of a user with 1000, without embedding", 1_000_000, 2.0, 1.0),
            _latency("recall of a tenant with 1000, without embedding", 1_000_000, 2.0, 1.0, TENANT_ALONE),
            _latency("remember without embedding", 100, 1.1, 1.0, BARE),
        ),
        rates=(),
        resident=(Resident(size=100, mb=5000), Resident(size=1_000_000, mb=827)),
    )
    rows = {row[0].partition(": ")[2] or row[0]: row[1:] for row in figures(report)}
    assert rows == {
        "recall, times as fast as reference": ["10", "20", "15.00", "floor"],
        f"recall without embedding, times as long as {BOUND}": ["", "<= 2", "1.50", "aim"],
        "recall of a tenant with 1000, without embedding, times as long as the same tenant alone": [
            *("<= 1.5", "<= 1.1", "2.00", "0.500 short")
        ],
        "remember without embedding, times as long as a bare durable insert": [
            *("<= 1.5", "<= 1.2", "1.10", "aim")
        ],
        "megabytes of a process that recalls": ["<= 1200", "<= 700", "827.00", "floor"],
    }


def test_the_names_of_the_plot_fit_on_its_paper(tmp_path: Path):
    long = "first recall after a remember, without embedding"
    drawn = ElementTree.fromstring(chart([_latency(long, 100, 1.0, 2.0), _latency(long, 1000, 1.0, 2.0)]))
    (name,) = (text for text in drawn.iter("{http://www.w3.org/2000/svg}text") if text.text == long)
    right = float(drawn.attrib["viewBox"].split()[2])
    assert float(name.attrib["x"]) + 7.2 * len(long) < right
    assert "style" not in name.attrib


def test_made_up_vectors_are_of_length_one_and_lie_in_clusters():
    vectors = Known(open_embedder("minilm"))
    texts = [str(number) for number in range(500)]
    vectors.make_up(texts)
    rows = np.array([np.frombuffer(vectors.known(text), "<f4") for text in texts])
    assert rows.shape == (500, vectors.space.dimension)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)
    near = rows @ rows.T - np.eye(500)
    assert near.max() > 0.3
    assert abs(np.median(near)) < 0.05


def test_without_any_reference_embedder_the_rest_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    assert open_reference("none", tmp_path) is None
    assert open_reference("auto", tmp_path) is None
