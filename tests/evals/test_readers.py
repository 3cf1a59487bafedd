"""Whoever answers or judges: busy for a while, gone in the middle, at another host."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorywire.model.errors import TooManyAffected
from memorywire_evals.answers import LOWER_BOUND, TREATMENT, Cell, Grid, answer_all
from memorywire_evals.readers import KEYS, PAUSES, ReaderFailed, Reply, keys, open_reader
from memorywire_evals.run import Plan
from memorywire_evals.sets import KINDS
from tests.http.elsewhere import Exchange, answering

TEA = json.dumps({"choices": [{"message": {"content": "tea"}}], "usage": {"total_tokens": 7}}).encode()


def _busy(times: int, status: int):
    """Answers after it has been asked so many times, and wants no pause."""
    asked: list[bytes] = []

    def answer(request: Exchange, body: bytes) -> None:
        asked.append(body)
        if len(asked) <= times:
            request.reply(status, b"{}", {"Retry-After": "0"})
        else:
            request.reply(200, TEA)

    return answer, asked


@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_busy_endpoint_is_asked_again(status):
    answer, asked = _busy(2, status)
    with answering(answer) as host:
        reply = asyncio.run(open_reader(f"openai+http://{host}/v1?model=m", key=None).ask("what?"))
    assert (reply.text, len(asked)) == ("tea", 3)


def test_an_endpoint_that_stays_busy_is_given_up_and_its_key_not_blamed():
    answer, asked = _busy(100, 429)
    with answering(answer) as host, pytest.raises(ReaderFailed, match="is busy: HTTP 429") as told:
        asyncio.run(open_reader(f"openai+http://{host}/v1?model=m", key=None).ask("what?"))
    assert len(asked) == len(PAUSES) + 1
    assert "key" not in str(told.value.problem())


HERE, THERE = "openai+https://here.example/v1?model=m", "anthropic+https://there.example/v1?model=m"


def test_a_key_goes_to_the_host_of_the_reader_alone():
    specs = {"reader": HERE, "judge": HERE, "reference": None, "target": THERE}
    given = keys(specs, {KEYS["reader"]: "mine"})
    assert given == {"reader": "mine", "judge": "mine", "reference": None, "target": None}
    both = keys(specs, {KEYS["reader"]: "mine", KEYS["target"]: "theirs"})
    assert (both["reader"], both["target"]) == ("mine", "theirs")


def test_where_a_program_answers_the_key_is_for_the_judge():
    given = keys({"reader": None, "judge": THERE, "target": HERE}, {KEYS["reader"]: "mine"})
    assert (given["judge"], given["target"]) == ("mine", None)


def test_a_program_does_not_see_the_keys_of_the_others(monkeypatch):
    for name in KEYS.values():
        monkeypatch.setenv(name, "sk-of-nobody")
    monkeypatch.setenv("MEMORYWIRE_SOMETHING", "else")
    told = "import os; print(sorted(name for name in os.environ if 'MEMORYWIRE' in name))"
    reply = asyncio.run(open_reader(f'cmd:{sys.executable} -c "{told}"', key=None).ask("x"))
    assert "MEMORYWIRE_SOMETHING" in reply.text
    assert "_KEY" not in reply.text


class _Scribe:
    """Answers, or judges, and counts how often; it can be made to fail."""

    def __init__(self, name: str, says: str) -> None:
        self.name = self.mark = name
        self.says: str | None = says
        self.asked = 0

    async def ask(self, prompt: str, *, folder: Path | None = None) -> Reply:
        self.asked += 1
        if self.says is None:
            raise ReaderFailed("gone")
        return Reply(text=self.says, tokens=10)


@pytest.fixture
def plan(data: Path, tmp_path: Path) -> Plan:
    return Plan(kind=KINDS["locomo"], data=data, split="test", out=tmp_path / "results", baselines=False)


def _answer(plan: Plan, grid: Grid) -> dict:
    return asyncio.run(answer_all(plan, grid, date="2026-01-01", command="eval", tell=lambda *_: None))


def test_an_answer_is_not_paid_for_again_when_its_judge_was_gone(plan):
    reader, judge = _Scribe("reader", "tea"), _Scribe("judge", "yes")
    grid = Grid(cells=(Cell(name=TREATMENT, reader=reader, memory=True),), judge=judge)
    judge.says = None
    with pytest.raises(ReaderFailed, match="gone"):
        _answer(plan, grid)
    judge.says = "yes"
    document = _answer(plan, grid)
    assert (reader.asked, judge.asked) == (5, 6)  # five questions, and the judge was asked once in vain
    cell = dict(document["answers"]["cells"][TREATMENT])
    assert 0 < cell.pop("efficiency") < 1  # the share of the prompts that is memory
    assert cell == {
        "accuracy": 1.0,
        "questions": 5,
        "reader": "reader",
        "served": [],
        "judge": "judge",
        "judged by": [],
        "tokens": 100,
        "cost": None,
    }


def test_a_few_questions_of_each_case_can_be_asked(plan):
    reader = _Scribe("reader", "yes")
    cells = (Cell(name=TREATMENT, reader=reader, memory=True), Cell(name=LOWER_BOUND, reader=reader))
    grid = Grid(cells=cells, judge=reader, most_calls=8)
    with pytest.raises(TooManyAffected, match="--questions"):
        _answer(plan, grid)
    document = _answer(plan, replace(grid, questions=2))
    assert [row["question"] for row in document["rows"]] == ["conv-1#0"] * 2 + ["conv-1#2"] * 2
    assert document["run"]["questions of a case"] == 2
    with_memory, without = (row["shown"] for row in document["rows"][:2])
    assert with_memory[0] == "D1:1"
    assert without == []
    assert document["answers"]["left out"] == 0
    assert reader.asked == 8
