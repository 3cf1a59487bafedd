"""What answering costs and who answered: counted and named by the endpoint, not by whoever asks."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memorywire.model.consolidation import Spending
from memorywire.model.errors import TooManyAffected
from memorywire_evals.answers import LOWER_BOUND, TREATMENT, Cell, Grid, answer_all
from memorywire_evals.readers import open_reader
from memorywire_evals.run import Plan
from memorywire_evals.sets import KINDS
from memorywire_evals.tables import answer_cells, answer_notes
from tests.cli.shell import Shell
from tests.http.elsewhere import Exchange, answering

TAKEN = 100


class _Server:
    """Says yes to everything, under the names that it calls its models one after the other."""

    def __init__(self) -> None:
        self.served: Iterator[str | None] = iter(())
        self.name: str | None = None
        self.asked = 0
        self.host = ""

    def answer(self, request: Exchange, body: bytes) -> None:
        self.asked += 1
        self.name = next(self.served, self.name)
        said: dict[str, Any] = {
            "choices": [{"message": {"content": "yes"}}],
            "usage": {"total_tokens": TAKEN},
        }
        request.reply(200, json.dumps(said if self.name is None else {**said, "model": self.name}).encode())

    @property
    def url(self) -> str:
        return f"openai+http://{self.host}/v1?model=small"


@pytest.fixture
def server() -> Iterator[_Server]:
    server = _Server()
    with answering(server.answer) as server.host:
        yield server


@pytest.fixture
def plan(data: Path, tmp_path: Path) -> Plan:
    return Plan(kind=KINDS["locomo"], data=data, split="test", out=tmp_path / "results", baselines=False)


def _grid(url: str, **more: Any) -> Grid:
    reader = open_reader(url, key=None)
    cells = (Cell(name=TREATMENT, reader=reader, memory=True), Cell(name=LOWER_BOUND, reader=reader))
    return Grid(cells=cells, judge=reader, **more)


def _answer(plan: Plan, grid: Grid) -> dict[str, Any]:
    return asyncio.run(answer_all(plan, grid, date="2026-01-01", command="eval", tell=lambda *_: None))


def test_the_model_that_was_served_is_recorded_beside_the_one_that_was_asked_for(plan, server):
    server.served = iter(["small-2026-01-01"])
    document = _answer(plan, _grid(server.url))
    row = document["rows"][0]
    assert (row["reader"], row["served"], row["judged_by"]) == ("small", *["small-2026-01-01"] * 2)
    cell = document["answers"]["cells"][TREATMENT]
    assert (cell["reader"], cell["served"], cell["judged by"]) == ("small", *[["small-2026-01-01"]] * 2)
    assert next(iter(answer_cells(document)))[1:3] == ["small (small-2026-01-01)"] * 2
    assert list(answer_notes(document)) == ["this run made 20 calls and took 2000 tokens"]


def test_a_model_that_was_changed_in_between_is_told_of(plan, server):
    server.served = iter(["old", "old", "new"])
    [note] = [note for note in answer_notes(_answer(plan, _grid(server.url))) if TREATMENT in note]
    assert "another model was served" in note


def test_an_endpoint_that_names_no_model_is_shown_under_the_name_that_was_asked_for(plan, server):
    document = _answer(plan, _grid(server.url))
    assert document["rows"][0]["served"] is None
    assert next(iter(answer_cells(document)))[1:3] == ["small", "small"]


def test_a_run_ends_before_the_call_that_could_take_too_many_tokens(plan, server):
    with pytest.raises(TooManyAffected, match="6 calls took 600 tokens") as ended:
        _answer(plan, _grid(server.url, spending=Spending(tokens=1000)))
    assert ended.value.field == "max-tokens"
    assert server.asked == 6  # one more could take 400 tokens and its prompt


def test_what_was_paid_for_is_not_paid_for_again_when_more_is_allowed(plan, server):
    grid = _grid(server.url, spending=Spending(tokens=1000))
    with pytest.raises(TooManyAffected):
        _answer(plan, grid)
    document = _answer(plan, replace(grid, spending=Spending(tokens=10_000)))
    assert server.asked == 20
    assert document["spent"] == {"calls": 14, "tokens": 1400, "cost": None}
    assert document["answers"]["cells"][TREATMENT]["tokens"] == 1000


def test_with_a_price_tokens_are_money(plan, server, tmp_path):
    dear = Spending(tokens=10_000, price=1000.0, cost=1.0)
    with pytest.raises(TooManyAffected, match=r"which cost 0\.6") as ended:
        _answer(plan, _grid(server.url, spending=dear))
    assert ended.value.field == "max-cost"
    document = _answer(plan, _grid(server.url, spending=replace(dear, cost=None)))
    assert document["spent"]["cost"] == 1.4
    assert [cell["cost"] for cell in document["answers"]["cells"].values()] == [1.0, 1.0]
    [entry] = (tmp_path / "results" / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(entry)["spent"] == document["spent"]


def test_limits_can_be_typed(data, tmp_path, server):
    shell = Shell(tmp_path / "home")
    asked = ("eval", "answer", "locomo", "--reader", server.url, "--data", str(data), "--out", str(tmp_path))
    nobody = shell(*asked, "--max-cost", "1", "--json")
    assert (nobody.code, json.loads(nobody.err)["field"]) == (2, "max-cost")
    ended = shell(*asked, "--max-tokens", "900", "--json")
    assert ended.code == 3
    assert json.loads(ended.err.splitlines()[-1])["field"] == "max-tokens"
    done = shell(*asked, "--max-tokens", "9000", "--price", "2")
    assert done.code == 0, done.err
    assert "0.002" in done.out  # a thousand tokens in each cell
