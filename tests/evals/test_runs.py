"""A run, from data to figures, on a real store through the public client."""

import asyncio
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorywire.model.errors import Conflict, InvalidRequest
from memorywire.model.text import CONTENT_CHARS_MAX
from memorywire.search.embed import open_embedder
from memorywire_evals.baselines import NAMES
from memorywire_evals.cases import Case, Item, Pair, Question
from memorywire_evals.datasets import load
from memorywire_evals.examine import Bench, examine
from memorywire_evals.memory_under_test import parts_of
from memorywire_evals.metrics import tokens
from memorywire_evals.prompts import answer_prompt, memory_share
from memorywire_evals.results import OURS, digest
from memorywire_evals.run import CachedEmbedder, Plan, parity, run
from memorywire_evals.sets import KINDS
from memorywire_evals.tables import notes
from tests.remote.peer import peer


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache") / "vectors.db"


@pytest.fixture
def plan(data: Path, tmp_path: Path, cache: Path):
    def make(name: str, **more: object) -> Plan:
        settings = {"split": "all", "out": tmp_path / "results", "cache": cache, **more}
        return Plan(kind=KINDS[name], data=data, **settings)

    return make


def _run(plan: Plan, told: list[str] | None = None) -> dict:
    seen = [] if told is None else told
    return asyncio.run(
        run(plan, date="2026-01-01", command="eval", tell=lambda done, of, note: seen.append(note))
    )


def _row(document: dict, question: str, asked: str = "own") -> dict:
    return next(row for row in document["rows"] if (row["question"], row["asked"]) == (question, asked))


def test_a_conversation_is_ranked_and_scored_with_every_baseline(plan):
    document = _run(plan("locomo"))
    row = _row(document, "conv-1#0")
    assert row["ranks"][0] == "D1:1"
    assert row["figures"][OURS]["turn.rec@1"] == 1
    assert row["figures"][OURS]["audited.rec@1"] == 0.5
    assert set(row["figures"]) == {OURS, *NAMES}
    assert document["summary"]["views"]["all"]["n"] == 6
    assert document["summary"]["views"]["answerable"]["n"] == 5
    assert not document["summary"]["void"]


def test_questions_about_another_case_are_asked_as_foreign(plan):
    document = _run(plan("locomo"))
    foreign = [(row["case"], row["question"]) for row in document["rows"] if row["asked"] == "foreign"]
    assert ("conv-2", "conv-1#0") in foreign
    assert ("conv-1", "conv-2#0") in foreign
    assert not any(question == "conv-1#4" for _, question in foreign)
    assert document["summary"]["admission"]["foreign n"] == 5


def test_results_hold_ids_and_figures_but_no_words_of_the_data(plan, data):
    document = _run(plan("locomo"))
    assert any("Biscuit" in file.read_text() for file in data.glob("locomo*.json"))
    assert "D1:1" in json.dumps(document)
    assert "Biscuit" not in json.dumps(document)


def test_two_runs_find_the_same(plan, tmp_path):
    first, second = (_run(plan("locomo", out=tmp_path / name)) for name in ("one", "two"))
    assert first["digest"] == second["digest"]
    changed = {**first, "rows": first["rows"][1:]}
    assert digest(changed) != first["digest"]
    later = {**first, "run": {**first["run"], "code": "of another day", "version": "9"}}
    del later["digest"]
    assert digest(later) == first["digest"]


def test_an_interrupted_run_goes_on_where_it_stopped(plan):
    told: list[str] = []
    _run(plan("locomo", limit=1))
    whole = _run(plan("locomo"), told)
    assert told == ["conv-2", "summary"]
    assert whole["cases"] == {"done": 2, "of": 2}


def test_progress_is_told_within_a_case_too(plan):
    seen: list[float] = []

    def watch(done: float, of: int, note: str) -> None:
        seen.append(done / of)

    quiet = {"date": "2026-01-01", "command": "eval", "tell": lambda *_: None}
    asyncio.run(run(plan("micro", baselines=False), watch=watch, **quiet))
    assert seen == sorted(seen)
    assert len(seen) == 51  # a batch of memories, and fifty questions
    assert (seen[0], seen[-1]) == (0.5, 1.0)


def test_a_line_cut_off_in_the_middle_is_done_again(plan, tmp_path):
    whole = _run(plan("locomo"))
    [lines] = (tmp_path / "results").rglob("cases.jsonl")
    text = lines.read_bytes()
    lines.write_bytes(text[:-40])
    told: list[str] = []
    again = _run(plan("locomo"), told)
    assert told == ["conv-2", "summary"]
    assert again["digest"] == whole["digest"]
    assert len(lines.read_text(encoding="utf-8").splitlines()) == 3


def test_a_run_under_other_conditions_is_not_mixed_in(plan):
    _run(plan("locomo", limit=1))
    with pytest.raises(Conflict, match="baselines was True, is False"):
        _run(plan("locomo", baselines=False))
    told: list[str] = []
    _run(plan("locomo", baselines=False, fresh=True), told)
    assert told == ["conv-1", "conv-2", "summary"]


def test_every_run_is_entered_in_the_ledger(plan, tmp_path):
    first = _run(plan("factconsolidation"))
    _run(plan("factconsolidation"))
    lines = (tmp_path / "results" / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    assert [entry["digest"] for entry in entries] == [first["digest"]] * 2
    assert {"date", "command", "machine", "run", "void"} <= set(entries[0])


def test_a_memory_that_was_not_kept_voids_the_run(plan, tmp_path):
    file = tmp_path / "mine.jsonl"
    lines = [
        {"id": "m1", "memory": "Ana drinks tea"},
        {"id": "m2", "memory": "Ana drinks tea"},
        {"question": "what does Ana drink?", "gold": ["m1"]},
    ]
    file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    plain = plan("own")
    document = _run(Plan(kind=plain.kind, data=file, out=plain.out, cache=plain.cache))
    assert document["summary"]["void"]
    [fault] = document["summary"]["ingest"]["shortfall"]
    assert fault in (f"own/{a}: kept as {b}, which says the same" for a, b in (("m1", "m2"), ("m2", "m1")))


def test_the_dedup_rate_is_the_share_of_writes_that_were_there_already(plan, tmp_path):
    file = tmp_path / "mine.jsonl"
    lines = [
        {"id": "m1", "memory": "Ana drinks tea"},
        {"id": "m2", "memory": "Ana drinks tea"},
        {"id": "m3", "memory": "The meeting is at ten"},
        {"id": "m4", "memory": "The cat is called Moor"},
        {"question": "what does Ana drink?", "gold": ["m1"]},
    ]
    file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    document = _run(replace(plan("own"), data=file))
    ingest = document["summary"]["ingest"]
    assert (ingest["writes"], ingest["repeated"], ingest["dedup rate"]) == (4, 1, 0.25)
    assert any(note.startswith("dedup rate 0.250: 1 of 4 writes") for note in notes(document))
    ledger = (tmp_path / "results" / "ledger.jsonl").read_text(encoding="utf-8")
    assert json.loads(ledger)["figures"]["dedup rate"] == 0.25


def test_the_dedup_rate_counts_the_pairs_of_a_set_too(cache):
    said = "The meeting is at ten"
    copy, other = (
        Pair(id=text, first=said, second=text, contradict=False) for text in (said, "The cat is called Moor")
    )
    case = Case(id="c", items=(Item(ref="m", content="Ana drinks tea"),), questions=(), pairs=(copy, other))
    embedder = CachedEmbedder(open_embedder("minilm"), cache)
    bench = Bench(set_name="s", stores=("memory://",), embedder=embedder, baselines=False)
    done = asyncio.run(examine(case, (), bench, lambda _: None))
    assert (done.writes, done.repeated, done.shortfall) == (5, 1, ())


def test_what_is_too_long_for_a_memory_is_kept_in_parts_that_count_as_it(plan, tmp_path):
    file = tmp_path / "mine.jsonl"
    long = "The weather was fine. " * 4_000 + "Ana drinks green tea."
    lines = [
        {"id": "m1", "memory": long, "session_id": "s1"},
        {"id": "m2", "memory": "The meeting is at ten", "session_id": "s1"},
        {"question": "what tea does Ana drink?", "gold": ["m1"]},
    ]
    file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    document = _run(replace(plan("own"), data=file))
    assert not document["summary"]["void"]
    row = _row(document, "line-3")
    assert sorted(row["ranks"]) == ["m1", "m2"]
    assert row["figures"][OURS]["turn.mrr"] > 0
    assert row["figures"][OURS]["evidence@1024"] == 0  # it counts as long as it is


def test_parts_are_cut_between_words_and_lose_none():
    words = " ".join(str(number) for number in range(30_000))
    parts = list(parts_of(Item(ref="m", content=words)))
    assert [part.ref for part in parts] == ["m", "m, part 2", "m, part 3"]
    assert " ".join(part.content for part in parts) == words
    unbroken = list(parts_of(Item(ref="m", content="x" * (CONTENT_CHARS_MAX + 1))))
    assert [len(part.content) for part in unbroken] == [CONTENT_CHARS_MAX, 1]


def test_a_haystack_is_scored_by_turn_and_by_session(plan):
    document = _run(plan("longmemeval"))
    update = _row(document, "q1")["figures"][OURS]
    assert update["session.any@1"] == 1
    assert "session.all@5" not in update  # there are three sessions, so five places prove nothing
    assert update["newest-above-older"] in (0, 1)
    abstained = _row(document, "q2_abs")["figures"][OURS]
    assert "session.any@1" in abstained
    assert "turn.rec@1" not in abstained
    views = document["summary"]["views"]
    assert [views[name]["n"] for name in ("all", "answerable", "said-by-user")] == [3, 2, 1]


def test_a_question_is_put_to_the_sessions_of_all_haystacks_at_once(plan):
    document = _run(plan("pool"))
    assert not document["summary"]["void"]
    assert document["summary"]["views"]["answerable"]["n"] == 2
    row = _row(document, "q1")
    assert row["figures"][OURS]["session.any@1"] == 1
    assert set(row["figures"]) == {OURS, *NAMES}


def test_the_newest_fact_counts_only_when_it_is_on_top(plan):
    row = _row(_run(plan("factconsolidation")), "factconsolidation_sh_6k#0")
    top = row["ranks"][0]
    assert row["figures"][OURS]["subem@1"] == float(top == "1")
    assert row["figures"][OURS]["subem@2"] == 1


def test_messages_that_replace_others_are_compared_with_them(plan):
    figures = _row(_run(plan("beam")), "b1")["figures"]
    assert OURS in figures
    assert all("newest-above-older" in figures[system] for system in figures)


def test_beliefs_are_found_within_scope_user_and_time(plan):
    document = _run(plan("precision"))
    assert _row(document, "alias")["figures"][OURS]["passed"] == 1
    assert _row(document, "alias")["kept"] == ["b-tomato"]
    assert _row(document, "empty")["figures"][OURS] == {"passed": 1}
    assert _row(document, "no-room")["figures"][OURS]["passed"] == 1
    assert _row(document, "newcomer")["figures"][OURS] == {"passed": 1}
    assert _row(document, "wrong-wish")["figures"][OURS]["passed"] == 0
    assert _row(document, "alias")["figures"]["bm25"]["precision"] < 1


def test_contradictory_twins_are_told_to_an_empty_memory_each(plan):
    document = _run(plan("halumem"))
    pair = _row(document, "0:2/contradiction", asked="pair")
    assert pair["figures"][OURS]["merged.on-write"] == 0
    assert set(document["summary"]["categories"]) >= {"contradiction", "copy"}
    assert _row(document, "0#0")["figures"][OURS]["untrusted@5"] > 0


def test_one_shared_memory_with_a_filter_answers_as_isolated_ones_do(plan):
    found = asyncio.run(parity(plan("longmemeval"), tell=lambda done, of, note: None))
    assert (found.cases, found.questions, found.leaks) == (3, 3, 0)
    assert found.differences == ()


def test_a_store_that_forgets_between_filling_and_asking_proves_nothing(plan):
    forgetful = plan("longmemeval", stores=("memory://",), limit=1)
    found = asyncio.run(parity(forgetful, tell=lambda done, of, note: None))
    assert found.differences == ("q1: nothing was recalled",)


def test_the_document_on_disk_is_the_one_returned(plan, tmp_path):
    document = _run(plan("beam"))
    [file] = (tmp_path / "results").rglob("beam-all-*Z.json")
    assert json.loads(file.read_bytes()) == document


def test_any_store_can_be_measured_by_its_url(plan, tmp_path):
    document = _run(plan("micro", stores=("memory://",), baselines=False))
    assert document["run"]["store"] == "memory"
    assert document["summary"]["categories"]["exact"]["systems"][OURS]["turn.rec@5"] == 1
    assert document["summary"]["admission"]["unanswerable n"] == 8


def test_a_server_is_measured_as_the_tenant_that_its_url_names(plan, tmp_path):
    with peer(f"sqlite:///{tmp_path}/theirs.db", embedder="minilm") as server:
        token = server.operator("ana", tenants=("acme",)).token
        host = server.client.url.removeprefix("http://")
        far = plan("longmemeval", baselines=False, stores=(f"http://{token}@{host}?tenant=acme",))
        assert not _run(far)["summary"]["void"]
        found = asyncio.run(parity(far, tell=lambda *_: None))
    assert (found.questions, found.differences, found.leaks) == (3, (), 0)


def test_plain_rank_fusion_finds_all_answers_of_the_microbenchmark_among_the_first_five(plan):
    document = _run(plan("micro", stores=("memory://",)))
    systems = document["summary"]["views"]["answerable"]["systems"]
    assert systems["rrf"]["turn.rec@5"] == 1
    assert systems["bm25"]["turn.rec@5"] < 1


def test_what_another_run_left_in_a_store_does_not_matter(plan, tmp_path):
    kept = {"stores": (f"sqlite:///{tmp_path}/kept.db",), "baselines": False, "fresh": True}
    whole = _run(plan("longmemeval", **kept))
    less = _run(plan("longmemeval", roles="user", **kept))
    again = _run(plan("longmemeval", **kept))
    assert whole["digest"] == again["digest"]
    assert not less["summary"]["void"]
    assert less["summary"]["ingest"]["items"] < whole["summary"]["ingest"]["items"]


def test_what_another_run_left_is_not_in_the_shared_memory_either(plan, tmp_path):
    kept = {"stores": (f"sqlite:///{tmp_path}/kept.db",)}
    _run(plan("longmemeval", baselines=False, **kept))
    for roles in ("all", "user"):
        found = asyncio.run(parity(plan("longmemeval", roles=roles, **kept), tell=lambda *_: None))
        assert (found.differences, found.leaks) == ((), 0), roles


def test_another_store_of_the_same_kind_is_another_run(plan, tmp_path):
    first = plan("micro", baselines=False, stores=(f"sqlite:///{tmp_path}/one.db",))
    found = _run(first)
    second = replace(first, stores=(f"sqlite:///{tmp_path}/two.db",))
    with pytest.raises(Conflict, match="address was"):
        _run(second)
    assert _run(replace(second, fresh=True))["digest"] == found["digest"]
    login = replace(first, stores=(f"sqlite://me:secret@{tmp_path}/one.db?x=secret",))
    assert "secret" not in json.dumps(login.conditions(load(login.kind, login.data)))


def test_a_run_that_measured_nothing_holds_up_no_other(plan):
    with pytest.raises(InvalidRequest):
        _run(plan("micro", stores=("nonsense://x",)))
    assert not _run(plan("micro", baselines=False))["summary"]["void"]


def test_several_stores_are_measured_as_one(plan, tmp_path):
    stores = (f"sqlite:///{tmp_path}/one.db#one", f"sqlite:///{tmp_path}/two.db#two")
    document = _run(plan("micro", baselines=False, stores=stores))
    assert document["run"]["store"] == "sqlite and sqlite"
    assert document["summary"]["views"]["answerable"]["systems"][OURS]["default.rec@5"] == 1
    assert all((tmp_path / f"{name}.db").is_file() for name in ("one", "two"))


def test_a_question_to_an_empty_memory_is_left_empty(plan, tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text('{"question": "who won the chess final?"}\n', encoding="utf-8")
    document = _run(replace(plan("own"), data=file))
    assert [row["kept"] for row in document["rows"]] == [[]]


def test_an_interval_over_one_conversation_is_taken_over_its_questions(plan):
    whole = _run(plan("locomo", limit=1, baselines=False))
    interval = whole["summary"]["intervals"]["turn.rec@1"][OURS]
    assert interval["low"] < interval["mean"] < interval["high"]


def test_efficiency_is_the_share_of_the_prompt_that_is_memory(plan):
    document = _run(plan("locomo", baselines=False))
    row = _row(document, "conv-1#0")
    items = {
        item.ref: item
        for item in load(KINDS["locomo"], plan("locomo").data, split="all").build("conv-1").items
    }
    memories = [items[ref].text for ref in row["kept"]]
    assert memories
    asked = Question(id="", text="What is Nora's puppy called?", category="")
    whole = len(answer_prompt(asked, memories))
    without = len(answer_prompt(asked, None))
    assert row["figures"][OURS]["efficiency"] == pytest.approx((whole - without) / whole, abs=0.01)
    assert row["figures"][OURS]["efficiency"] > row["figures"][OURS]["returned-share"] > 0
    assert row["figures"][OURS]["returned-tokens"] == sum(tokens(items[ref].content) for ref in row["kept"])
    assert any(note.startswith("recency") and "efficiency" in note for note in notes(document))


def test_a_recall_that_returns_nothing_takes_no_part_of_the_prompt():
    assert memory_share(Question(id="", text="Who?", category=""), None) == 0
