"""Answer and judge: four cells, every call counted, none made twice."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memorywire.model.errors import InvalidRequest, TooManyAffected
from memorywire_evals.answers import BUILT_IN, LOWER_BOUND, TREATMENT, Cell, Grid, answer_all, says_yes
from memorywire_evals.readers import ReaderFailed, Reply, keys, open_reader
from memorywire_evals.run import Plan
from memorywire_evals.sets import KINDS
from memorywire_evals.tables import ANSWERS, answer_cells
from tests.cli.shell import Shell
from tests.http.elsewhere import NOTICED

# Knows only what the prompt says; as a judge, is content when the right answer's first word was given.
PROGRAM = """
import sys
prompt = sys.stdin.read()
if "Given answer:" in prompt:
    right = prompt.split("Right answer: ")[1].split()[0]
    print("yes" if right in prompt.split("Given answer: ")[1] else "no")
elif "Biscuit" in prompt:
    print("The puppy is called Biscuit")
else:
    print("I do not know")
"""


@pytest.fixture
def reader(tmp_path: Path) -> str:
    program = tmp_path / "reader.py"
    program.write_text(PROGRAM, encoding="utf-8")
    return f"cmd:{sys.executable} {program}"


@pytest.fixture
def plan(data: Path, tmp_path: Path) -> Plan:
    return Plan(kind=KINDS["locomo"], data=data, split="test", out=tmp_path / "results", baselines=False)


def _grid(spec: str, **more: Any) -> Grid:
    asked = open_reader(spec, key=None)
    cells = (Cell(name=TREATMENT, reader=asked, memory=True), Cell(name="lower bound", reader=asked))
    return Grid(cells=cells, judge=asked, **more)


def _answer(plan: Plan, grid: Grid) -> dict:
    return asyncio.run(answer_all(plan, grid, date="2026-01-01", command="eval", tell=lambda *_: None))


def test_a_reader_with_memory_is_told_from_the_same_one_without(plan, reader):
    document = _answer(plan, _grid(reader))
    correct = {(row["cell"], row["question"]): row["correct"] for row in document["rows"]}
    assert correct[TREATMENT, "conv-1#0"]
    assert not correct["lower bound", "conv-1#0"]
    cells = document["answers"]["cells"]
    assert cells[TREATMENT]["questions"] == cells["lower bound"]["questions"] == 5
    assert document["answers"]["treatment minus"]["lower bound"]["mean"] == pytest.approx(
        cells[TREATMENT]["accuracy"] - cells["lower bound"]["accuracy"]
    )


def test_the_grid_says_how_much_of_each_cell_s_prompts_is_memory(plan, reader):
    document = _answer(plan, _grid(reader))
    cells = document["answers"]["cells"]
    shares = [row["memory_share"] for row in document["rows"] if row["cell"] == TREATMENT]
    assert cells[TREATMENT]["efficiency"] == pytest.approx(sum(shares) / len(shares), abs=1e-4)
    assert 0 < cells[TREATMENT]["efficiency"] < 1
    assert cells["lower bound"]["efficiency"] == 0
    printed = dict(zip(ANSWERS, next(answer_cells(document)), strict=True))
    assert printed["efficiency"] == f"{cells[TREATMENT]['efficiency']:.3f}"


def test_progress_is_told_question_by_question(plan, reader):
    told: list[tuple[int, int]] = []
    grid = _grid(reader)

    def tell(done: int, of: int, note: str) -> None:
        told.append((done, of))

    asyncio.run(answer_all(plan, grid, date="2026-01-01", command="eval", tell=tell))
    assert told == [(0, 5), *((done, 5) for done in range(1, 6)), (5, 5)]


def test_who_answered_who_judged_and_what_was_asked_are_recorded(plan, reader):
    row = _answer(replace(plan, split="dev"), _grid(reader))["rows"][0]
    assert (row["reader"], row["judge"]) == (sys.executable, sys.executable)
    assert len(row["prompt"]) == 16
    assert row["tokens"] > 0
    assert "answer" not in row


def test_nothing_is_asked_twice_even_after_a_cut(plan, reader, tmp_path):
    plan = replace(plan, split="dev")
    first = _answer(plan, _grid(reader))
    [lines] = (tmp_path / "results").rglob("*-answers.jsonl")
    lines.write_text(lines.read_text(encoding="utf-8")[:-9], encoding="utf-8")
    program = tmp_path / "reader.py"
    program.write_text(f"open({str(tmp_path / 'calls')!r}, 'a').write('x')\n{PROGRAM}", encoding="utf-8")
    assert _answer(plan, _grid(reader))["answers"] == first["answers"]
    assert (tmp_path / "calls").read_text(encoding="utf-8") == "xx"
    assert len(lines.read_text(encoding="utf-8").splitlines()) == 2


def test_another_grid_leaves_the_document_of_the_first(plan, reader, tmp_path):
    plan = replace(plan, split="dev")
    for budget in (1024, 512, 1024):
        _answer(plan, _grid(reader, budget=budget))
    documents = [json.loads(file.read_bytes()) for file in (tmp_path / "results").rglob("*-answers-*.json")]
    assert sorted(document["run"]["budget"] for document in documents) == [512, 1024]


def test_what_would_cost_too_much_is_refused_before_the_first_call(plan):
    with pytest.raises(TooManyAffected, match="up to 20 calls"):
        _answer(plan, _grid("cmd:/does/not/exist", most_calls=19))


def test_a_program_that_fails_says_why(plan):
    with pytest.raises(ReaderFailed, match="ended with 3"):
        asyncio.run(open_reader(f"cmd:{sys.executable} -c 'import sys; sys.exit(3)'", key=None).ask("x"))
    with pytest.raises(ReaderFailed, match="cannot be started"):
        asyncio.run(open_reader("cmd:/does/not/exist", key=None).ask("x"))
    bytes_only = "import sys; sys.stderr.buffer.write(bytes([255])); sys.exit(4)"
    with pytest.raises(ReaderFailed, match="ended with 4"):
        asyncio.run(open_reader(f"cmd:{sys.executable} -c '{bytes_only}'", key=None).ask("x"))


def test_an_answer_may_hold_every_character_there_is(plan, reader, tmp_path):
    plan = replace(plan, split="dev")
    program = tmp_path / "reader.py"
    said = PROGRAM.replace('print("I do not know")', 'print("I do not know\\u2028for sure\\x85")')
    program.write_text(said, encoding="utf-8")
    first = _answer(plan, _grid(reader))
    program.write_text("raise SystemExit(1)", encoding="utf-8")
    assert _answer(plan, _grid(reader))["answers"] == first["answers"]


def test_another_program_judge_or_right_answer_is_another_question(plan, reader, tmp_path, data):
    plan = replace(plan, split="dev")
    _answer(plan, _grid(reader))
    with pytest.raises(ReaderFailed):
        _answer(plan, _grid(f"cmd:{sys.executable} -c 'raise SystemExit(3)'"))
    judge = open_reader(f"cmd:{sys.executable} -c 'raise SystemExit(3)'", key=None)
    with pytest.raises(ReaderFailed):
        _answer(plan, replace(_grid(reader), judge=judge))
    (tmp_path / "reader.py").write_text("raise SystemExit(3)", encoding="utf-8")
    assert _answer(plan, _grid(reader))["rows"]
    file = data / "locomo2.json"
    samples = json.loads(file.read_text(encoding="utf-8"))
    samples[1]["qa"][0]["answer"] = "something else"
    file.write_text(json.dumps(samples), encoding="utf-8")
    with pytest.raises(ReaderFailed):
        _answer(plan, _grid(reader))


def test_what_nobody_could_judge_is_refused_before_the_first_call(plan):
    micro = replace(plan, kind=KINDS["micro"])
    with pytest.raises(InvalidRequest, match="reference answer"):
        _answer(micro, _grid("cmd:/does/not/exist"))


def test_a_memory_that_was_not_kept_voids_the_answers(plan, reader, tmp_path):
    file = tmp_path / "mine.jsonl"
    lines = [
        {"id": "m1", "memory": "The puppy is called Biscuit"},
        {"id": "m2", "memory": "The puppy is called Biscuit"},
        {"question": "what is the puppy called?", "gold": ["m1"], "answer": "Biscuit"},
        {"question": "what is the kitten called?", "gold": ["m1"]},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    answers = _answer(replace(plan, kind=KINDS["own"], data=file), _grid(reader))["answers"]
    assert answers["void"]
    assert "m2" in answers["not kept"][0]
    assert answers["left out"] == 1


# Keeps what it is told in its folder, and knows nothing else.
AGENT = """
import os, pathlib, sys
prompt = sys.stdin.read()
notes = pathlib.Path(os.environ["MEMORYWIRE_AGENT_FOLDER"]) / "notes"
known = notes.read_text() if notes.exists() else ""
if "Given answer:" in prompt:
    right = prompt.split("Right answer: ")[1].split()[0]
    print("yes" if right in prompt.split("Given answer: ")[1] else "no")
elif "Remember what follows" in prompt:
    assert os.environ["MEMORYWIRE_AGENT_MEMORY"] == "on"
    notes.write_text(known + prompt)
    print("noted")
else:
    print("The puppy is called Biscuit" if "Biscuit" in known + prompt else "I do not know")
"""


def test_an_agent_is_asked_with_our_memory_without_and_with_its_own(plan, reader, tmp_path):
    program = tmp_path / "reader.py"
    program.write_text(AGENT, encoding="utf-8")
    grid = _grid(reader)
    grid = replace(grid, cells=(*grid.cells, Cell(name=BUILT_IN, reader=grid.judge, own=True)))
    document = _answer(plan, grid)
    correct = {row["cell"]: row["correct"] for row in document["rows"] if row["question"] == "conv-1#0"}
    assert correct == {TREATMENT: True, LOWER_BOUND: False, BUILT_IN: True}
    taken = {name: cell["tokens"] for name, cell in document["answers"]["cells"].items()}
    assert taken[BUILT_IN] > taken[LOWER_BOUND]  # it had to be told
    assert sum(taken.values()) == document["spent"]["tokens"]
    program.write_text("raise SystemExit(1)", encoding="utf-8")  # nothing is told or asked twice
    assert _answer(plan, grid)["answers"] == document["answers"]
    [notes] = tmp_path.rglob("notes")
    assert notes.read_text(encoding="utf-8").count("Remember what follows") == 3  # a session each
    with pytest.raises(ReaderFailed):
        _answer(replace(plan, fresh=True), grid)
    assert not notes.exists()


def test_telling_an_agent_counts_as_calls(plan):
    grid = _grid("cmd:/does/not/exist", most_calls=32)
    own = replace(grid, cells=(*grid.cells, Cell(name=BUILT_IN, reader=grid.judge, own=True)))
    with pytest.raises(TooManyAffected, match="up to 33 calls"):
        _answer(plan, own)


@contextmanager
def _serving(
    status: int, answer: Any, refuses: Mapping[str, str] | None = None
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that answers so, but complains of the fields it refuses."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append({"path": self.path, "headers": dict(self.headers), "body": body})
            complaint = next((words for field, words in (refuses or {}).items() if field in body), None)
            said = json.dumps(answer if complaint is None else {"error": complaint}).encode()
            self.send_response(status if complaint is None else 400)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[NOTICED], daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def test_an_openai_like_endpoint_is_asked_in_its_words():
    answer = {"choices": [{"message": {"content": " tea "}}], "usage": {"total_tokens": 7}}
    with _serving(200, answer) as (host, asked):
        reply = asyncio.run(open_reader(f"openai+http://{host}/v1?model=small", key="k").ask("what?"))
    assert reply == Reply(text="tea", tokens=7)
    assert asked[0]["path"] == "/v1/chat/completions"
    assert asked[0]["headers"]["Authorization"] == "Bearer k"
    assert asked[0]["body"]["model"] == "small"
    assert asked[0]["body"]["messages"] == [{"role": "user", "content": "what?"}]


def test_an_anthropic_like_endpoint_is_asked_in_its_words():
    answer = {
        "content": [{"type": "text", "text": "tea"}],
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    with _serving(200, answer) as (host, asked):
        reply = asyncio.run(open_reader(f"anthropic+http://{host}/v1?model=m", key="k").ask("what?"))
    assert reply == Reply(text="tea", tokens=4)
    assert asked[0]["path"] == "/v1/messages"
    assert asked[0]["headers"]["x-api-key"] == "k"
    assert asked[0]["headers"]["anthropic-version"]


@pytest.mark.parametrize(
    ("dialect", "answer", "text"),
    [
        ("openai", {"choices": [{"message": {"content": "tea"}}]}, "tea"),
        ("openai", {"choices": [{"message": {"content": None}}], "usage": None}, ""),
        ("anthropic", {"content": [{"type": "text", "text": "tea"}]}, "tea"),
        ("anthropic", {"content": [], "usage": {}}, ""),
    ],
)
def test_tokens_nobody_counted_are_estimated_and_silence_is_an_answer(dialect, answer, text):
    with _serving(200, answer) as (host, _):
        reply = asyncio.run(open_reader(f"{dialect}+http://{host}/v1?model=m", key=None).ask("what is it?"))
    assert reply == Reply(text=text, tokens=3 + (len(text) > 0))


def test_a_model_that_takes_other_limits_is_asked_in_its_words():
    answer = {"choices": [{"message": {"content": "tea"}}], "usage": {"total_tokens": 7}}
    refuses = {
        "max_tokens": "Use 'max_completion_tokens' instead.",
        "temperature": "'temperature' is not supported with this model.",
    }
    with _serving(200, answer, refuses) as (host, asked):
        reader = open_reader(f"openai+http://{host}/v1?model=m", key=None)
        assert [asyncio.run(reader.ask("what?")).text for _ in range(2)] == ["tea", "tea"]
    assert len(asked) == 4  # two refusals, once
    assert asked[-1]["body"]["max_completion_tokens"]
    assert "temperature" not in asked[-1]["body"]


@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [(500, {}, "HTTP 500"), (200, {"choices": []}, "shape"), (400, {}, "HTTP 400"), (200, ["x"], "shape")],
)
def test_an_endpoint_that_makes_no_sense_is_a_failure_of_the_reader(status, answer, said):
    with (
        _serving(status, answer) as (host, _),
        pytest.raises(ReaderFailed, match=said),
    ):
        asyncio.run(open_reader(f"openai+http://{host}/v1?model=m", key=None).ask("x"))


@pytest.mark.parametrize("speaks", ["openai", "anthropic"])
def test_a_refusal_that_repeats_the_key_is_not_repeated(speaks):
    key = "sk-of-nobody"
    with (
        _serving(401, {"error": f"no such key: {key}"}) as (host, asked),
        pytest.raises(ReaderFailed) as caught,
    ):
        asyncio.run(open_reader(f"{speaks}+http://{host}/v1?model=m", key=key).ask("x"))
    assert key in str(asked[0]["headers"])
    assert "HTTP 401" in str(caught.value)
    assert key not in str(caught.value.problem())


@pytest.mark.parametrize(
    "spec",
    [
        "gpt",
        "openai+ftp://x/v1?model=m",
        "openai+https://x/v1",
        "cmd:",
        "cmd:say 'x",
        "openai+http://[x?model=m",
    ],
)
def test_a_reader_nobody_knows_is_refused_under_its_role(spec):
    assert keys({"judge": spec}, {}) == {"judge": None}
    with pytest.raises(InvalidRequest) as refused:
        open_reader(spec, key=None, role="judge")
    assert refused.value.field == "judge"


@pytest.mark.parametrize(
    ("text", "yes"), [("Yes.", True), ("**yes**", True), ("no", False), ("", False), ("not yes", False)]
)
def test_a_verdict_is_its_first_word(text, yes):
    assert says_yes(Reply(text=text, tokens=1)) is yes


def test_the_grid_can_be_typed(data, tmp_path, reader):
    shell = Shell(tmp_path / "home")
    out = ("--out", str(tmp_path / "r"), "--data", str(data), "--split", "dev")
    done = shell("eval", "answer", "locomo", "--reader", reader, *out)
    assert done.code == 0, done.err
    assert "treatment" in done.out
    assert "lower bound" in done.out
    failed = shell("eval", "answer", "locomo", "--reader", "cmd:/does/not/exist", *out)
    assert failed.code == 4
    assert "cannot be started" in failed.err
    problem = json.loads(
        shell("eval", "answer", "locomo", "--reader", "cmd:/x", *out, "--json").err.splitlines()[-1]
    )
    assert (problem["code"], problem["field"]) == ("store_unavailable", "reader")
    assert problem["fix"] == "run it again: answers so far are kept"


def test_an_agent_can_be_typed_and_its_arguments_are_not_written_down(data, tmp_path, reader):
    (tmp_path / "reader.py").write_text(AGENT, encoding="utf-8")
    shell = Shell(tmp_path / "home")
    line = f"{reader.removeprefix('cmd:')} --key hunter2"
    out = ("--out", str(tmp_path / "r"), "--data", str(data), "--split", "dev")
    done = shell("eval", "answer", "locomo", "--agent-cmd", line, "--judge", f"cmd:{line}", *out)
    assert done.code == 0, done.err
    assert "built-in" in done.out
    ledger = (tmp_path / "r" / "ledger.jsonl").read_text(encoding="utf-8")
    assert f"--agent-cmd {sys.executable} ... --judge cmd:{sys.executable} ..." in ledger
    assert "hunter" not in ledger
    neither = shell("eval", "answer", "locomo", *out)
    assert (neither.code, "--agent-cmd" in neither.err) == (2, True)
