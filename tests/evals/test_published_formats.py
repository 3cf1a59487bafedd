"""Sets in their published formats, on small files of our own: coding tasks and MemoryAgentBench."""

import json
from pathlib import Path
from typing import Any

import pytest

from memorywire.model.errors import InvalidRequest
from memorywire_evals.datasets import load
from memorywire_evals.datasets.files import NoData
from memorywire_evals.datasets.memoryagentbench import COMPETENCIES, PIECE, cut
from memorywire_evals.sets import KINDS
from tests.cli.shell import Shell
from tests.evals import published


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return published.write(tmp_path / "published")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home")


def _cases(folder: Path, name: str) -> dict[str, Any]:
    dataset = load(KINDS[name], folder)
    return {id: dataset.build(id) for id in dataset.case_ids}


@pytest.mark.parametrize("name", ["swebenchcl", "swecontextbench", "contextbench", "memoryagentbench"])
def test_a_published_set_is_measured_end_to_end_and_printed(shell, folder, tmp_path, name):
    done = shell("eval", name, "--data", str(folder), "--out", str(tmp_path / "results"))
    assert done.code == 0, done.err
    assert "MRR" in done.out
    [document] = (tmp_path / "results").rglob(f"{name}-*.json")
    assert not json.loads(document.read_bytes())["summary"]["void"]


def test_a_task_is_asked_before_the_later_ones_and_its_dependencies_are_the_evidence(folder):
    cases = _cases(folder, "swebenchcl")
    assert list(cases) == ["abacus__abacus-3", "abacus__abacus-4"]  # the others depend on nothing before them
    assert [item.ref for item in cases["abacus__abacus-3"].items] == ["abacus__abacus-1", "abacus__abacus-2"]
    [question] = cases["abacus__abacus-4"].questions
    assert (question.gold, question.category) == (("abacus__abacus-2", "abacus__abacus-3"), "abacus/abacus")


def test_a_solved_task_is_remembered_with_the_files_of_its_fix_and_its_date(folder):
    first = _cases(folder, "swebenchcl")["abacus__abacus-3"].items[0]
    assert first.content.startswith("Column sums overflow")
    assert "Fixed in abacus/columns.py:" in first.content
    assert first.occurred_at == 1_704_110_400_000


def test_related_tasks_ask_a_repository_for_their_experience(folder):
    cases = _cases(folder, "swecontextbench")
    assert list(cases) == ["abacus/abacus", "lantern/lantern"]
    abacus = cases["abacus/abacus"]
    assert [item.ref for item in abacus.items] == ["abacus__abacus-1", "abacus__abacus-2"]
    assert [(one.id, one.gold) for one in abacus.questions] == [
        ("abacus__abacus-90", ("abacus__abacus-1", "abacus__abacus-2"))
    ]


def test_the_first_row_of_an_id_counts_and_links_to_nowhere_are_dropped(folder):
    abacus, lantern = _cases(folder, "swecontextbench").values()
    assert abacus.items[0].content.startswith("Column sums overflow")
    assert [one.id for one in lantern.questions] == ["lantern__lantern-70"]
    assert lantern.items[0].occurred_at is not None  # although its row has no date


def test_the_lite_part_is_read_where_the_full_one_is_missing(folder):
    for whole, lite in (("Experience", "Lite_Experience"), ("Related", "Related_Lite")):
        file = folder / f"SWEContextBench_{whole}.jsonl"
        file.rename(folder / f"SWEContextBench_{lite}.jsonl")
    assert list(_cases(folder, "swecontextbench")) == ["abacus/abacus", "lantern/lantern"]


def test_a_missing_table_is_named(folder):
    (folder / "SWEContextBench_Relationship.jsonl").unlink()
    with pytest.raises(NoData, match="SWEContextBench_Relationship"):
        load(KINDS["swecontextbench"], folder)


def test_annotated_spans_are_the_memory_and_the_evidence_of_an_issue(folder):
    [case] = _cases(folder, "contextbench").values()
    assert len(case.items) == 3  # two issues share a span
    first, second = case.questions
    assert (len(first.gold), first.category, first.gold_sessions) == (2, "python", ("lamp.py", "wick.py"))
    assert set(first.gold) & set(second.gold)
    assert case.items[0].content.startswith("lamp.py, lines 1 to 2\ndef light")


def test_every_competency_is_read_and_named(folder):
    cases = _cases(folder, "memoryagentbench")
    assert [id.partition(":")[0] for id in cases] == [
        *["Accurate_Retrieval"] * 3,
        *["Test_Time_Learning"] * 2,
        *["Long_Range_Understanding"] * 2,
        "Conflict_Resolution",
    ]
    assert {question.category for case in cases.values() for question in case.questions} == {
        "accurate retrieval, ruler_qa1",
        "accurate retrieval, longmemeval_s",
        "accurate retrieval, eventqa",
        "test time learning, icl_banking77",
        "test time learning, recsys_redial",
        "long range understanding, infbench_sum_eng",
        "long range understanding, detective_qa",
        "conflict resolution, factconsolidation_sh",
    }


def _row(folder: Path, source: str) -> Any:
    return next(case for id, case in _cases(folder, "memoryagentbench").items() if f":{source}" in id)


def test_documents_are_memories_that_hold_the_answer(folder):
    case = _row(folder, "ruler")
    assert [item.content.partition(":")[0] for item in case.items] == ["Document 1", "Document 2"]
    assert case.questions[0].answers == ("Port Ellis", "Ellis")
    assert case.questions[0].answer == "Port Ellis or Ellis"


def test_examples_with_the_label_of_the_answer_are_its_evidence(folder):
    case = _row(folder, "icl")
    assert [item.content for item in case.items] == [
        "My card is gone\nlabel: 1",
        "Where is my money?\nlabel: 12",
        "I lost my card in a cab\nlabel: 1",
    ]
    assert case.questions[0].gold == ("0", "2")


def test_turns_that_the_question_s_own_sessions_mark_are_its_evidence(folder):
    case = _row(folder, "longmemeval")
    assert [item.text for item in case.items][:2] == [
        "[1 May 2023] user: I pay 40 for the gym",
        "[1 May 2023] assistant: That is fair",
    ]
    known, unknown = case.questions
    assert (known.gold, known.answerable) == (("0:0",), True)
    assert (unknown.gold, unknown.answerable) == ((), False)


def test_of_books_the_answers_are_left_to_a_judge(folder):
    for source in ("eventqa", "detective", "infbench", "recsys"):
        [question] = _row(folder, source).questions
        assert (question.gold, question.answers) == ((), ())
        assert question.answer


def test_a_later_fact_is_newer(folder):
    case = _row(folder, "factconsolidation")
    assert [item.content for item in case.items] == ["Ada lives in Oslo.", "Ada lives in Rome."]
    assert case.items[0].occurred_at < case.items[1].occurred_at


def test_a_book_is_cut_into_pieces_that_lose_no_word():
    book = "\n\n".join(f"{number} " + "word " * 900 for number in range(3))
    pieces = list(cut(book))
    assert all(len(piece) <= PIECE for piece in pieces)
    assert " ".join(pieces).split() == book.split()


def test_one_table_may_be_named_alone(folder):
    file = folder / "data" / f"{COMPETENCIES[3]}-00000-of-00001.jsonl"
    assert len(load(KINDS["memoryagentbench"], file).case_ids) == 1


def test_a_table_in_parquet_is_read_as_its_lines_are(folder):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    before = {name: _cases(folder, name) for name in ("swecontextbench", "contextbench", "memoryagentbench")}
    for file in folder.rglob("*.jsonl"):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        parquet.write_table(arrow.Table.from_pylist(rows), file.with_suffix(".parquet"))
        file.unlink()
    assert {name: _cases(folder, name) for name in before} == before


def test_what_is_no_parquet_is_refused(folder):
    pytest.importorskip("pyarrow")
    file = folder / "contextbench_verified.parquet"
    file.write_bytes(b"PAR1 and no more")
    with pytest.raises(InvalidRequest, match="not a Parquet file"):
        load(KINDS["contextbench"], file)


def test_an_issue_that_is_longer_than_a_query_may_be_is_cut(folder):
    file = folder / "contextbench_verified.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    rows[0]["problem_statement"] = "too long " * 2_000
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    [case] = _cases(folder, "contextbench").values()
    assert len(case.questions[0].text) <= 8_192


@pytest.mark.parametrize(
    "name", ["longmemeval_s", "longmemeval_s_cleaned.json", "longmemeval_oracle.json", "longmemeval_m"]
)
def test_every_release_of_the_haystacks_is_found_by_its_name(tmp_path, name):
    from tests.evals import tiny

    (tmp_path / name).write_text(json.dumps(tiny.original_release()), encoding="utf-8")
    assert len(load(KINDS["longmemeval"], tmp_path).case_ids) == 3
