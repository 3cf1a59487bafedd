"""`calibrate` fits the floor to questions of one's own, and the settings put it to use."""

import json
from pathlib import Path

import pytest

from tests.cli.shell import Shell

FACTS = ["Ana prefers green tea to coffee", "The staging database runs Postgres 16 on port 5433"]
ANSWERABLE = ["what does Ana like to drink?", "which Postgres runs on staging?"]
OTHERS = ["capital of Mongolia", "recipe for chocolate cake"]


def lines(*documents: object) -> bytes:
    return "\n".join(json.dumps(document) for document in documents).encode()


def questions() -> list[dict[str, object]]:
    return [
        *({"query": query, "answerable": True} for query in ANSWERABLE),
        *({"query": query, "answerable": False} for query in OTHERS),
    ]


@pytest.fixture
def filled(shell: Shell) -> Shell:
    for fact in FACTS:
        shell.remember(fact)
    return shell


def test_the_floor_found_keeps_the_answerable_and_cuts_the_others(filled: Shell, tmp_path: Path):
    file = tmp_path / "questions.jsonl"
    file.write_bytes(lines(*questions()))
    found = filled("calibrate", "--file", str(file), "--json").json
    assert (found["kept"], found["cut"], found["answerable"], found["others"]) == (1.0, 1.0, 2, 2)
    fitted = {"MEMORYWIRE_FLOOR": str(found["floor"]), "MEMORYWIRE_MATCH": str(found["match"])}
    for query in ANSWERABLE:
        assert filled("recall", query, "--json", **fitted).json["verdict"] == "match"
    for query in OTHERS:
        assert not filled("recall", query, "--json", **fitted).json["results"]


def test_the_table_marks_the_floor_and_says_where_it_goes(filled: Shell):
    done = filled("calibrate", stdin=lines(*questions()))
    assert done.code == 0
    assert done.out.count("<- use this") == 1
    assert "MEMORYWIRE_FLOOR=" in done.out
    assert "MEMORYWIRE_MATCH=" in done.out


def test_no_floor_is_recommended_where_none_tells_the_kinds_apart(filled: Shell):
    swapped = [{"query": query, "answerable": False} for query in ANSWERABLE]
    swapped += [{"query": query, "answerable": True} for query in OTHERS]
    done = filled("calibrate", stdin=lines(*swapped))
    assert "no floor separates the two kinds" in done.out
    assert "MEMORYWIRE_FLOOR=" not in done.out
    assert "a few dozen questions of each kind" in done.out


def test_a_line_that_is_no_json_is_named(filled: Shell):
    done = filled("calibrate", "--json", stdin=lines(*questions()) + b"\n{")
    assert (done.code, done.problem["detail"][:7]) == (2, "line 5:")


def test_a_named_memory_is_what_must_be_kept(filled: Shell):
    ids = [item["id"] for item in filled("list", "--json").json["items"]]
    named = [{"query": ANSWERABLE[0], "ids": [ids[0]]}, {"query": OTHERS[0], "ids": []}]
    found = filled("calibrate", "--json", stdin=lines(*named, {"query": "x", "ids": ["nobody"]})).json
    assert (found["answerable"], found["others"], found["unfound"]) == (1, 1, 1)


def test_calibrating_does_not_count_as_use(filled: Shell):
    def used() -> list[bool]:
        return ["recalled_at" in item for item in filled("list", "--json").json["items"]]

    filled("calibrate", stdin=lines(*questions()))
    assert used() == [False, False]
    filled("recall", ANSWERABLE[0])
    assert used() == [True, False]


@pytest.mark.parametrize(
    "given",
    [
        b"[]",
        b'{"query": 1, "answerable": true}',
        b'{"query": "x"}',
        b'{"query": "x", "answerable": 1}',
        b'{"query": "x", "answerable": true, "ids": []}',
        b'{"query": "x", "answerable": true}',
        b"",
    ],
)
def test_lines_that_cannot_be_fitted_to_are_refused(shell: Shell, given: bytes):
    done = shell("calibrate", "--json", stdin=given)
    assert (done.code, done.problem["field"]) == (2, "file")


def test_the_floor_of_the_settings_file_is_what_auto_means(filled: Shell, tmp_path: Path):
    config = tmp_path / "settings.toml"
    config.write_text("floor = 1\n", encoding="utf-8")
    asked = ("recall", ANSWERABLE[0], "--json", "--explain", "--config", str(config))
    assert (filled(*asked).json["floor"], filled(*asked).json["results"]) == (1, [])
    assert filled(*asked, MEMORYWIRE_FLOOR="0.25").json["floor"] == 0.25


@pytest.mark.parametrize("given", ["x", "-0.1", "1.5", "nan"])
def test_a_floor_that_is_no_share_is_refused(shell: Shell, given: str):
    done = shell("list", "--json", MEMORYWIRE_FLOOR=given)
    assert (done.code, done.problem["field"]) == (2, "floor")


def test_recall_ranks_packs_and_drops_repetitions_when_told(filled: Shell):
    filled.remember("ana prefers green tea to  coffee.")
    asked = ("recall", "what does Ana like to drink?", "--json")
    assert len(filled(*asked).json["results"]) == 2
    merged = filled(*asked, "--dedup", "merge", "--dedup-threshold", "0.9").json["results"]
    assert [len(hit["supporting"]) for hit in merged] == [1]
    assert len(filled(*asked, "--max-tokens", "9").json["results"]) == 1
    ranked = filled(*asked, "--explain", "--rank", '{"recency": 1}').json["results"]
    assert all("recency" in hit["explain"]["signals"] for hit in ranked)
    assert filled(*asked, "--dedup-threshold", "0.9").code == 2


def test_a_memory_that_brings_up_nothing_is_no_ground_for_a_floor(filled: Shell):
    elsewhere = filled("calibrate", "--agent", "nobody", "--json", stdin=lines(*questions()))
    assert (elsewhere.code, elsewhere.problem["field"]) == (2, "file")
    assert "--agent" in elsewhere.problem["fix"]
    unknown = [{"query": ANSWERABLE[0], "ids": ["nobody"]}, {"query": OTHERS[0], "answerable": False}]
    assert "ids" in filled("calibrate", "--json", stdin=lines(*unknown)).problem["fix"]


def test_a_file_without_a_question_says_what_one_is(shell: Shell) -> None:
    done = shell("calibrate", stdin=b"\n")
    assert done.code == 2
    assert "there are no questions" in done.err
    assert '"answerable": true' in done.err
