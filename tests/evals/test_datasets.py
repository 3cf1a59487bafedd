"""Every set is read as its schema says, faults of the data included."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorywire.model.errors import InvalidRequest
from memorywire_evals.datasets import load
from memorywire_evals.datasets.files import NoData
from memorywire_evals.datasets.halumem import copy_points
from memorywire_evals.sets import KINDS
from tests.evals import published, tiny


def _only(data: Path, name: str, split: str = "all", case: int = 0, roles: str = "all"):
    dataset = load(KINDS[name], data, split=split, roles=roles)
    return dataset.build(dataset.case_ids[case])


def _item(case, ref):
    return next(item for item in case.items if item.ref == ref)


def _question(case, id):
    return next(question for question in case.questions if question.id == id)


def test_a_conversation_is_told_in_the_order_of_its_sessions(data):
    case = _only(data, "locomo")
    assert [item.ref for item in case.items] == ["D1:1", "D1:2", "D1:3", "D2:1", "D2:2", "D10:1", "D10:2"]
    moments = [item.occurred_at for item in case.items]
    assert moments == sorted(moments)
    assert moments[1] - moments[0] == 1000
    assert _item(case, "D1:1").text.startswith("[8 May 2023] Nora: I adopted")


def test_a_photo_speaks_through_its_caption(data):
    assert _item(_only(data, "locomo"), "D1:3").content == "Look at him [a brown puppy asleep in a basket]"


def test_malformed_citations_are_repaired_and_meaningless_ones_dropped(data):
    case = _only(data, "locomo")
    assert _question(case, "conv-1#1").gold == ("D1:2", "D2:1")
    assert _question(case, "conv-1#2").gold == ("D10:1",)
    assert _question(case, "conv-1#3").gold == ()
    assert _question(case, "conv-1#1").gold_sessions == ("1", "2")


def test_the_audit_changes_the_audited_evidence_only(data):
    case = _only(data, "locomo")
    first, third = _question(case, "conv-1#0"), _question(case, "conv-1#2")
    assert (first.gold, first.audited) == (("D1:1",), ("D1:1", "D1:3"))
    assert (third.gold, third.audited) == (("D10:1",), ())
    assert _question(case, "conv-1#1").audited == ("D1:2", "D2:1")


def test_an_adversarial_question_has_evidence_but_no_answer(data):
    question = _question(_only(data, "locomo"), "conv-1#4")
    assert (question.category, question.answerable, question.gold) == ("adversarial", False, ("D2:2",))


def test_a_split_takes_its_cases_and_no_others(data):
    assert load(KINDS["locomo"], data, split="test").case_ids == ("conv-1",)
    assert load(KINDS["locomo"], data, split="all").case_ids == ("conv-1", "conv-2")
    assert load(KINDS["beam"], data, split="test").split == "all"


def test_a_split_that_is_not_there_is_named(data):
    with pytest.raises(InvalidRequest, match="'hidden'"):
        load(KINDS["locomo"], data, split="hidden")


def test_missing_data_is_named(tmp_path):
    with pytest.raises(InvalidRequest, match="locomo"):
        load(KINDS["locomo"], tmp_path)


def test_a_repeated_session_is_told_once_where_it_first_appears(data):
    case = _only(data, "longmemeval")
    assert [item.ref for item in case.items if item.session == "s1"] == ["s1:0", "s1:1"]
    assert _item(case, "s1:0").text.startswith("[1 May 2023] user: I pay 40")
    assert case.skipped == 1


def test_evidence_of_an_update_goes_from_the_oldest_session_to_the_newest(data):
    question = _only(data, "longmemeval").questions[0]
    assert question.ages == (("s1:0", "s1:1"), ("s2:0", "s2:1"))
    assert (question.gold, question.gold_sessions) == (("s1:0", "s2:0"), ("s2", "s1"))


def test_an_abstention_is_not_answerable_though_a_session_is_near_it(data):
    question = _only(data, "longmemeval", case=1).questions[0]
    assert (question.answerable, question.gold, question.gold_sessions) == (False, (), ("s1",))


def test_who_said_the_evidence_is_marked(data):
    marks = [_only(data, "longmemeval", case=place).questions[0].marks for place in range(3)]
    assert marks == [("user-gold",), (), ()]


def test_the_turns_of_assistants_can_be_left_out(data):
    case = _only(data, "longmemeval", case=2, roles="user")
    assert {item.metadata["role"] for item in case.items} == {"user"}
    assert case.questions[0].gold == ()


def test_both_releases_of_the_haystacks_are_read_alike(data, tmp_path):
    file = tmp_path / "longmemeval_s.json"
    file.write_text(json.dumps(tiny.original_release()), encoding="utf-8")
    for place in range(3):
        assert _only(file, "longmemeval", case=place) == _only(data, "longmemeval", case=place)


def test_all_haystacks_are_one_in_the_pool(data):
    case = _only(data, "pool")
    assert {item.session for item in case.items} == {"s1", "s2", "s3", "s4"}
    assert len({item.ref for item in case.items}) == len(case.items)
    assert _item(case, "s1:0").text.startswith("[1 May 2023]")  # as in the first haystack that holds it
    assert [question.id for question in case.questions] == ["q1", "q3"]  # the second has no answer
    assert case.questions[0].ages == ()
    assert {item.session for item in _only(data, "pool", split="dev").items} == {"s3", "s4"}


def test_messages_without_an_anchor_keep_the_date_before_them(data):
    case = _only(data, "beam")
    assert [item.text.split("]")[0] for item in case.items[:3]] == ["[15 March 2024"] * 2 + ["[2 April 2024"]
    assert case.items[1].session == "1"


def test_an_updated_statement_is_newer_than_the_original(data):
    case = _only(data, "beam")
    assert _question(case, "b1").ages == (("0",), ("2",))
    assert not _question(case, "b2").answerable


def test_a_chat_is_told_in_its_order_even_where_its_clock_runs_back(data):
    case = _only(data, "realtalk")
    assert [item.ref for item in case.items] == ["D1:1", "D1:2", "D1:3", "D2:1"]
    moments = [item.occurred_at for item in case.items]
    assert moments == sorted(set(moments))
    assert _item(case, "D2:1").text.startswith("[2 January 2024] Joao: My knee")
    assert case.skipped == 1


def test_a_range_of_messages_is_cited_in_full_and_what_is_missing_is_dropped(data):
    case = _only(data, "realtalk")
    assert [question.gold for question in case.questions] == [("D1:1", "D1:2", "D1:3"), ("D2:1",)]


def test_a_person_has_at_most_twenty_preferences_and_is_asked_about_each(data):
    dataset = load(KINDS["prefeval"], data, split="test")
    people = [dataset.build(id) for id in dataset.case_ids]
    assert [len(person.items) for person in people] == [11, 10]
    assert all(question.gold == (question.id,) for person in people for question in person.questions)
    assert len(_only(data, "prefeval", split="dev").items) == 1


@pytest.mark.parametrize(
    ("case", "sentence"), [(0, "It carries trains and a footpath."), (1, "桥上有火车和人行道。")]
)
def test_the_sentence_that_holds_the_answer_is_the_evidence(data, case, sentence):
    language = _only(data, "xquad", case=case)
    [question] = language.questions
    assert len(language.items) == 2
    assert _item(language, question.gold[0]).content == sentence
    assert question.category == language.id


def test_facts_are_as_old_as_their_serial_numbers_say(data):
    case = _only(data, "factconsolidation")
    moments = [item.occurred_at for item in case.items]
    assert moments == sorted(set(moments))
    assert {item.type for item in case.items} == {"semantic"}
    assert [(question.category, question.answers) for question in case.questions] == [
        ("single-hop 6k", ("Rowing",))
    ]


def test_what_is_superseded_is_told_before_its_successor(data):
    refs = [item.ref for item in _only(data, "precision").items]
    assert refs.index("b-old-fence") < refs.index("b-fence")
    assert _item(_only(data, "precision"), "b-fence").supersedes == ("b-old-fence",)


def test_a_belief_is_told_with_its_aliases_and_without_its_reason(data):
    item = _item(_only(data, "precision"), "b-tomato")
    assert item.content == "tomato (love apple): Grows tomatoes in raised beds."
    assert item.metadata["why"] == "it does"


def test_interference_is_counted_but_not_told(data):
    case = _only(data, "halumem")
    assert case.untrusted == {"0:2"}
    assert [(item.ref, item.type) for item in case.items] == [
        ("0:0", "semantic"),
        ("0:1", "episodic"),
        ("0:2", "semantic"),
    ]
    assert not any("interference" in str(item) for item in case.items)


def test_contradictions_are_paired_with_what_they_contradict(data):
    pairs = _only(data, "halumem").pairs
    assert [(pair.first, pair.contradict) for pair in pairs] == [
        ("Selma earns 3,000 euros a month", True),
        ("Selma earns 4,000 euros a month", False),
    ]


def test_a_copy_differs_in_form_only():
    assert copy_points("Selma lives here") == "selma  lives here."
    assert copy_points("Selma lives here.") == "selma  lives here"


@pytest.mark.parametrize("name", ["micro", "oblique"])
def test_the_microbenchmark_has_the_protocol_s_proportions(name):
    case = _only(Path(), name)
    counts = dict.fromkeys(("paraphrase", "exact", "multi-hit", "no-match"), 0)
    for question in case.questions:
        counts[question.category] += 1
        assert question.answerable == (question.category != "no-match")
        assert (len(question.gold) > 1) == (question.category == "multi-hit")
    assert (len(case.items), counts) == (
        100,
        {"paraphrase": 24, "exact": 10, "multi-hit": 8, "no-match": 8},
    )


def _own(tmp_path: Path, *lines: dict) -> Path:
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines) + "\n", encoding="utf-8")
    return file


def test_one_s_own_data_are_memories_and_questions_by_case(tmp_path):
    file = _own(
        tmp_path,
        {"case": "ana", "id": "m1", "memory": "Ana drinks tea", "session_id": "s1"},
        {"case": "ana", "question": "what does Ana drink?", "gold": ["m1"]},
        {"case": "ben", "question": "what does Ben drink?"},
    )
    dataset = load(KINDS["own"], file)
    ana, ben = (dataset.build(id).questions[0] for id in ("ana", "ben"))
    assert (ana.gold, ana.gold_sessions, ana.answerable) == (("m1",), ("s1",), True)
    assert not ben.answerable


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"id": "m1", "memory": "x", "sesion": "s"}, "unknown field 'sesion'"),
        ({"id": "m1"}, "neither a memory nor a question"),
        ({"memory": "x"}, "without an id"),
        ({"id": "m1", "memory": 5}, "memory is not a string"),
        ({"id": "m1", "memory": " "}, "has no words"),
        ({"id": "m1", "memory": "x", "occurred_at": "2024-01-01"}, "occurred_at is not a whole number"),
        ({"id": "m1", "memory": "x", "occurred_at": True}, "occurred_at is not a whole number"),
        ({"id": "m1", "memory": "x", "metadata": []}, "metadata is not an object"),
        ({"question": ""}, "has no words"),
        ({"question": None}, "has no words"),
        ({"question": "x", "gold": "m0"}, "gold is not a list of strings"),
        ({"question": "x", "answers": [1]}, "answers is not a list of strings"),
        ({"question": "x", "answerable": "no"}, "answerable is not true or false"),
        ({"question": "x", "category": 7}, "category is not a string"),
        ({"id": "m1", "memory": "x", "type": "fact"}, "type is not one of the allowed values"),
        ({"id": "m1", "memory": "x", "occurred_at": 10**17}, "occurred_at is too large"),
        ({"id": "m1", "memory": "x", "occurred_at": 10**20}, "integer beyond 64 bits"),
        ({"id": "m1\n", "memory": "x"}, "id has a character that is not allowed"),
        ({"id": "m" * 250, "memory": "x"}, "id is too long"),
        ({"id": "m1", "memory": "x", "session_id": ""}, "session_id must not be empty"),
        ({"question": "x" * 9000}, "query is too long"),
        ({"question": "x", "asked_at": 10**17}, "asked_at is not in the years"),
    ],
)
def test_a_line_nobody_can_mean_is_refused_with_its_number(tmp_path, line, said):
    with pytest.raises(InvalidRequest, match=f"line 2.*{said}"):
        load(KINDS["own"], _own(tmp_path, {"id": "m0", "memory": "y"}, line))


def test_gold_that_is_in_no_memory_is_refused(tmp_path):
    with pytest.raises(InvalidRequest, match="'m9'"):
        load(KINDS["own"], _own(tmp_path, {"question": "who?", "gold": ["m9"]}))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([{"id": "m1", "memory": "y"}, {"question": "x"}], "'m1' is there 2 times"),
        ([{"id": "q", "question": "x"}, {"id": "q", "question": "y"}], "'q' is there 2 times"),
        ([{"id": "m2", "memory": "y"}], "asks no question"),
        ([], "asks no question"),
    ],
)
def test_data_that_cannot_be_measured_is_refused_before_the_first_case(tmp_path, lines, said):
    with pytest.raises(InvalidRequest, match=said):
        load(KINDS["own"], _own(tmp_path, {"id": "m1", "memory": "x"}, *lines))


def test_of_several_files_of_one_s_own_one_must_be_named(tmp_path):
    file = _own(tmp_path, {"question": "x"})
    assert load(KINDS["own"], tmp_path).case_ids == ("own",)
    (tmp_path / "other.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(InvalidRequest, match="2 files"):
        load(KINDS["own"], tmp_path)
    assert load(KINDS["own"], file).case_ids == ("own",)


def test_a_set_in_several_files_is_read_from_all_of_them(data):
    folder = data / "halumem_pilot"
    user = json.loads((folder / "user.jsonl").read_text(encoding="utf-8"))
    (folder / "another.jsonl").write_text(json.dumps({**user, "uuid": "second"}) + "\n", encoding="utf-8")
    assert set(load(KINDS["halumem"], data).case_ids) == {user["uuid"], "second"}
    assert len(load(KINDS["halumem"], folder).case_ids) == 2


def test_other_files_of_lines_in_a_folder_are_not_taken_for_a_public_set(tmp_path):
    _own(tmp_path, {"question": "x"})
    with pytest.raises(NoData):
        load(KINDS["halumem"], tmp_path)


def test_a_field_that_is_null_is_one_that_is_not_given(tmp_path):
    lines = [{"id": "m1", "memory": "x", "session_id": None}, {"question": "y", "gold": None, "case": None}]
    case = load(KINDS["own"], _own(tmp_path, *lines)).build("own")
    assert (case.items[0].session, case.questions[0].gold) == (None, ())


def test_a_line_ends_where_json_says_and_nowhere_else(tmp_path):
    file = tmp_path / "mine.jsonl"
    lines = [{"id": "m1", "memory": "tea\u2028or coffee\x85"}, {"question": "tea?", "gold": ["m1"]}]
    text = "\r\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    file.write_bytes(text.encode("utf-8-sig"))
    assert load(KINDS["own"], file).build("own").items[0].content == "tea\u2028or coffee\x85"


def test_data_in_another_encoding_are_named_with_what_to_do(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_bytes('{"question": "café"}'.encode("latin-1"))
    with pytest.raises(InvalidRequest, match="not UTF-8 at byte 17") as refused:
        load(KINDS["own"], file)
    assert "iconv" in str(refused.value.fix)


def test_of_several_releases_in_a_folder_the_small_haystacks_are_taken(data):
    (data / "longmemeval_m.json").write_text("[]", encoding="utf-8")
    (data / "longmemeval_oracle.json").write_text("[]", encoding="utf-8")
    assert len(load(KINDS["longmemeval"], data, split="all").case_ids) == 3
    (data / "longmemeval_s_3.json.xz").unlink()
    with pytest.raises(InvalidRequest, match="no cases of longmemeval"):
        load(KINDS["longmemeval"], data, split="all")


@pytest.mark.parametrize(
    "name",
    ["locomo", "longmemeval", "beam", "realtalk", "factconsolidation", "precision", "halumem"],
)
@pytest.mark.parametrize("text", ['[{"x": 1}]', '{"x": 1}', '["x"]'])
def test_data_of_another_shape_are_refused_as_such(tmp_path, name, text):
    files = {
        "precision": ["precisionmembench/beliefs.seed.json", "precisionmembench/retrieval.cases.json"],
        "halumem": ["halumem_x/user.jsonl"],
    }
    for file in files.get(name, [f"{name}_s.json"]):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidRequest, match=f"not have the shape of {name}") as refused:
        load(KINDS[name], tmp_path)
    assert "eval-data.md" in str(refused.value.fix)


def test_a_case_of_another_shape_is_refused_as_such(data):
    samples = json.loads((data / "locomo2.json").read_text(encoding="utf-8"))
    samples[0]["conversation"]["session_1_date_time"] = "8 May"
    (data / "locomo2.json").write_text(json.dumps(samples), encoding="utf-8")
    dataset = load(KINDS["locomo"], data, split="all")
    with pytest.raises(InvalidRequest, match="not have the shape of locomo"):
        dataset.build("conv-1")


def test_a_file_that_was_cut_off_is_named(data):
    whole = data / "longmemeval_s_3.json.xz"
    whole.write_bytes(whole.read_bytes()[:100])
    with pytest.raises(InvalidRequest, match="not all of it"):
        load(KINDS["longmemeval"], data)


def test_every_case_has_refs_of_its_own(data):
    published.write(data)
    for name in [name for name, kind in KINDS.items() if kind.needs_data and name != "own"]:
        case = _only(data, name)
        refs = [item.ref for item in case.items]
        assert len(refs) == len(set(refs))
        assert all(set(question.gold) <= set(refs) for question in case.questions)
        assert replace(case) == _only(data, name)
