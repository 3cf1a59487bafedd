"""Each verb does what it says, across processes that share one file."""

import json
from pathlib import Path

import pytest

from memorywire.app.settings import Settings
from memorywire.cli.context import CliContext
from tests.cli.shell import Shell


def test_what_one_process_remembers_another_recalls(shell: Shell):
    receipt = shell.remember("Ana prefers green tea to coffee")
    answer = shell("recall", "what does Ana like to drink?", "--json").json
    assert [hit["id"] for hit in answer["results"]] == [receipt["id"]]
    assert answer["verdict"] == "match"


_READING = (
    ["recall", "tea"],
    ["context", "tea"],
    ["profile"],
    ["list"],
    ["kv", "get", "tea"],
    ["review", "list"],
    ["why", "1"],
)


def test_who_reads_the_usual_store_before_its_first_use_is_told_so(tmp_path: Path):
    for verb in _READING:
        shell = Shell(tmp_path / verb[0])
        assert f"note: {shell.home}/memory.db did not exist and was created" in shell(*verb).err
        assert "note:" not in shell(*verb).err


def test_who_reads_a_store_that_is_misspelt_is_told_so_and_none_is_made(shell: Shell, tmp_path: Path):
    file = tmp_path / "folder" / "memory.db"
    for verb in _READING:
        done = shell(*verb, "--store", f"sqlite://{file}", "--json")
        assert (done.code, done.problem["field"], done.problem["code"]) == (3, "store", "not_found")
        assert not file.parent.exists()
    assert shell("remember", "tea", "--store", f"sqlite://{file}").code == 0
    assert shell("recall", "tea", "--store", f"sqlite://{file}").code == 0


def test_an_export_into_a_folder_that_is_not_there_makes_none(shell: Shell, tmp_path: Path):
    shell.remember("tea")
    for format_ in ("bundle", "csv"):
        done = shell("export", str(tmp_path / "typo" / "file"), "--format", format_, "--json")
        assert (done.code, done.problem["field"]) == (4, "file")
    assert not (tmp_path / "typo").exists()


@pytest.mark.parametrize(
    "rule",
    [
        '[[rule]]\nname = "x"\nverdikt = "hold"\n',
        '[[rule]]\nname = "x"\nverdict = "perhaps"\n',
        '[[rule]]\nname = "x"\nverdict = "hold"\nsource = 3\n',
        '[[rule]]\nname = "x"\nverdict = "hold"\n',
        "[[rule]\n",
        "rule = 3\n",
    ],
)
def test_a_fault_of_a_policy_is_told_in_the_same_words_before_and_when_it_is_set(
    shell: Shell, tmp_path: Path, rule: str
):
    file = tmp_path / "policy.toml"
    file.write_text(rule)
    checked, refused = (shell("policy", verb, str(file), "--json") for verb in ("check", "set"))
    assert (checked.code, checked.problem) == (refused.code, refused.problem)


@pytest.mark.parametrize("verb", ["serve", "backup", "restore", "reembed"])
def test_a_verb_about_everybody_does_not_ask_whose_memory(shell: Shell, verb: str):
    shown = shell(verb, "--help").out
    assert "--store" in shown
    assert not [option for option in ("--agent", "--user", "--tenant") if f"{option} " in shown]
    assert "No such option" in shell(verb, "--agent", "ana").err


@pytest.mark.parametrize(
    "words",
    [
        ("recall", "tea"),
        ("context", "what do you know about me?"),
        ("profile",),
        ("list",),
        ("export", "out.jsonl", "--replace"),
    ],
)
def test_a_user_without_memories_is_noted_but_not_in_json(
    shell: Shell, tmp_path: Path, words: tuple[str, ...]
):
    words = tuple(str(tmp_path / word) if word == "out.jsonl" else word for word in words)
    shell.remember("Ana prefers green tea", "--user", "ana")
    done = shell(*words, "--user", "zoe")
    assert (done.code, done.err.startswith("note: user zoe has no memories")) == (0, True)
    assert shell(*words, "--user", "zoe", "--json").err == ""
    assert shell(*words, "--user", "ana").err == ""


@pytest.mark.parametrize(
    ("query", "options", "variables", "reason"),
    [
        ("what does Ana drink?", (), {}, "of the best fact's evidence"),
        (
            "which telescope found the ninth planet?",
            (),
            {},
            "of the embedder for facts, lower among few",
        ),
        ("what does Ana drink?", ("--min-relevance", "0.9"), {}, "0.900: --min-relevance 0.9"),
        ("what does Ana drink?", (), {"MEMORYWIRE_FLOOR": "0.4"}, "0.400: the setting `floor`"),
    ],
)
def test_explain_says_why_a_floor_applies(
    shell: Shell, query: str, options: tuple[str, ...], variables: dict[str, str], reason: str
):
    shell("remember", "Ana prefers green tea to coffee", **variables)
    lines = shell("recall", query, "--explain", *options, **variables).out.splitlines()
    [line] = [line for line in lines if line.startswith("floor ")]
    assert reason in line


def test_who_finds_nothing_is_told_which_agents_have_memories(shell: Shell):
    shell.remember("Ana prefers green tea", "--agent", "assistant")
    told = "note: agent default has no memories; choose assistant with --agent\n"
    assert shell("list").err == shell("recall", "what does Ana drink?").err == told
    assert shell("list", "--json").err == ""
    assert shell("list", "--agent", "assistant", "--type", "episodic").err == ""


@pytest.mark.parametrize("words", [("context", "what do you know about me?"), ("profile",)])
def test_who_names_no_user_is_told_that_users_have_memories(shell: Shell, words: tuple[str, ...]):
    kettle = shell.remember("The kettle is blue")["id"]
    assert shell(*words).err == ""
    assert shell("forget", kettle, "--yes").code == 0
    shell.remember("Ana lives in Graz", "--user", "ana")
    assert shell(*words).err == "note: memories of users need --user; see: memorywire users\n"
    assert shell(*words, "--json").err == shell(*words, "--user", "ana").err == ""


def test_a_context_says_when_the_budget_is_too_small_for_any_line(shell: Shell):
    shell.remember("Ana is allergic to peanuts", "--user", "ana")
    for options in ((), ("--explain",)):
        done = shell("context", "Which snacks can I eat?", "--user", "ana", "--budget", "1", *options)
        assert done.out.startswith("(1 did not fit into 1 tokens)\n")


def test_every_field_of_a_remember_is_kept(shell: Shell):
    receipt = shell.remember(
        "Ben was nervous before the talk",
        *(
            "--type",
            "emotional",
            "--source",
            "chat",
            "--confidence",
            "0.5",
            "--metadata",
            '{"mood": {"level": 3}}',
        ),
        *("--tag", "talk", "--tag", "ben", "--session", "s1", "--occurred-at", "2026-05-12T10:00:00Z"),
        *("--expires-at", "7d", "--id", "ben-1", "--idempotency-key", "key-1", "--user", "ben"),
    )
    kept = shell("get", "ben-1", "--json").json
    assert receipt["id"] == "ben-1"
    assert kept["expires_at"] - kept["created_at"] - 7 * 86_400_000 < 60_000
    assert kept | {"expires_at": 0, "created_at": 0, "updated_at": 0} == {
        "id": "ben-1",
        "agent_id": "default",
        "user_id": "ben",
        "type": "emotional",
        "content": "Ben was nervous before the talk",
        "metadata": {"mood": {"level": 3}},
        "confidence": 0.5,
        "source": "chat",
        "tags": ["talk", "ben"],
        "session_id": "s1",
        "occurred_at": 1_778_580_000_000,
        "expires_at": 0,
        "created_at": 0,
        "updated_at": 0,
        "version": 1,
        "standing": "active",
        "supersedes": [],
        "merged_from": [],
        "derived_from": [],
        "trust": "standard",
    }


def test_a_structured_procedure_is_kept_as_an_object(shell: Shell):
    lamp = {"name": "l", "initial": "off", "states": ["off", "on"], "transitions": [["press", "off", "on"]]}
    receipt = shell.remember(json.dumps(lamp), "--type", "procedural", "--structured")
    assert shell("get", receipt["id"], "--json").json["content"] == lamp


def test_a_question_without_an_answer_is_no_failure(shell: Shell):
    shell.remember("Ana prefers green tea to coffee")
    done = shell("recall", "which telescope discovered the ninth planet?")
    assert (done.code, done.out) == (0, "nothing in memory answers that\n")


def test_what_is_below_the_floor_or_over_the_budget_is_not_called_an_answer_or_nothing(shell: Shell):
    shell.remember("Ana prefers green tea to coffee")
    lowered = shell("recall", "which telescope discovered the ninth planet?", "--min-relevance", "off")
    assert "Ana prefers green tea" in lowered.out
    assert "no match: these are below the relevance floor" in lowered.out
    tight = shell("recall", "what does Ana like to drink?", "--max-tokens", "1")
    assert tight.out == "no answer fits into --max-tokens\n"
    assert "floor" not in shell("recall", "what does Ana like to drink?").out


def test_explain_shows_the_signals_and_the_near_misses(shell: Shell):
    shell.remember("Ana prefers green tea to coffee")
    done = shell("recall", "what does Ana like to drink?", "--explain")
    assert "SIGNALS" in done.out
    assert "vector" in done.out
    asked = ("recall", "which telescope discovered the ninth planet?", "--explain")
    assert shell(*asked, "--json").json["near_misses"]
    shown = shell(*asked).out
    assert "below the relevance floor" in shown
    assert "     Ana prefers green tea to coffee" in shown


def test_zero_is_a_value_and_reaches_the_wire(shell: Shell):
    shell.remember("Ana prefers green tea to coffee", "--confidence", "0")
    assert shell("list", "--json").json["items"][0]["confidence"] == 0
    assert shell("recall", "tea", "-k", "0", "--json").problem["field"] == "k"


def test_forget_ends_a_memory_and_undo_restores_it(shell: Shell):
    receipt = shell.remember("Ana prefers green tea to coffee")
    forgotten = shell("forget", receipt["id"], "--reason", "asked", "--json").json
    assert shell("get", receipt["id"]).code == 3
    undone = shell("undo", forgotten["change_id"], "--json").json
    assert undone["restored_ids"] == [receipt["id"]]
    assert shell("get", receipt["id"]).code == 0
    history = shell("history", receipt["id"])
    assert "forgotten" in history.out
    assert "current" in history.out


def test_forgetting_what_is_not_there_says_so(shell: Shell):
    done = shell("forget", "nothing-like-it")
    assert (done.code, done.out.splitlines()[0]) == (3, "nothing was found to forget")


def test_a_filter_is_not_applied_unasked_without_a_terminal(shell: Shell):
    shell.remember("Ana prefers green tea to coffee", "--source", "chat")
    chat = ("--filter", '{"source": "chat"}')
    assert shell("forget", *chat).code == 2
    assert shell("list", "--json").json["total"] == 1
    assert shell("forget", *chat, "--dry-run", "--json").json["dry_run"] is True
    assert shell("forget", *chat, "--max-affected", "0").code == 3
    assert shell("list", "--json").json["total"] == 1
    assert shell("forget", *chat, "--yes").code == 0
    assert shell("list", "--json").json["total"] == 0


def test_a_hard_forget_leaves_no_content_in_the_history(shell: Shell):
    receipt = shell.remember("The door code is 4711")
    assert shell("forget", "--hard", receipt["id"]).code == 0
    assert "(erased)" in shell("history", receipt["id"]).out


def test_merge_keeps_one_of_two(shell: Shell):
    kept = shell.remember("Ana likes tea")
    gone = shell.remember("Ana drinks tea every day")
    merged = shell("merge", kept["id"], gone["id"], "--strategy", "merge_content", "--json").json
    assert merged["merged_ids"] == [gone["id"]]
    assert shell("get", kept["id"], "--json").json["content"] == "Ana likes tea\nAna drinks tea every day"
    assert shell("get", gone["id"]).code == 3


def test_expire_archives_and_recall_finds_it_only_when_asked(shell: Shell):
    shell.remember("Ana prefers green tea to coffee", "--confidence", "0.2")
    policy = ("expire", "--confidence-below", "0.5", "--action", "archive")
    assert "would archive 1" in shell(*policy, "--dry-run").out
    assert "archived 1" in shell(*policy).out
    question = "what does Ana like to drink?"
    assert shell("recall", question, "--json").json["results"] == []
    assert len(shell("recall", question, "--include-archived", "--json").json["results"]) == 1


def test_an_expire_without_a_condition_is_refused(shell: Shell):
    done = shell("expire", "--json")
    assert done.code == 2
    assert done.problem["field"] == "policy"


def test_list_pages_through_everything(shell: Shell):
    lines = "\n".join(f"fact number {n}" for n in range(45)).encode()
    assert shell("import-lines", "-", stdin=lines).code == 0
    page = shell("list", "--limit", "40", "--json").json
    rest = shell("list", "--after", page["next"], "--json").json
    assert [len(page["items"]), len(rest["items"]), page["total"]] == [40, 5, 45]
    assert len(shell("list", "--all", "--json").json["items"]) == 45
    assert "20 of 45" in shell("list").out


def test_changes_lists_what_can_be_undone(shell: Shell):
    receipt = shell.remember("Ana prefers green tea to coffee")
    changes = shell("changes", "--json").json["changes"]
    assert [(change["id"], change["operation"]) for change in changes] == [(receipt["change_id"], "remember")]
    assert receipt["change_id"] in shell("changes").out


def test_a_duplicate_that_supersedes_says_so_and_can_be_undone(shell: Shell):
    old, new = shell.remember("Ana drinks coffee"), shell.remember("Ana drinks tea")
    done = shell("remember", "Ana drinks tea", "--supersedes", old["id"])
    assert f"already known as {new['id']}" in done.out
    assert f"it supersedes {old['id']}" in done.out
    assert shell("get", old["id"]).code == 3
    assert shell(*done.out.split("undo with: memorywire ")[1].split()).code == 0
    assert shell("get", old["id"]).code == 0
    assert "undo with" not in shell("remember", "Ana drinks tea").out


def test_get_shows_the_lines_of_the_content(shell: Shell):
    id = shell.remember("def tea():\n    return 'green'")["id"]
    assert "content      def tea():\n                 return 'green'\n" in shell("get", id).out


def test_a_dry_run_shows_what_would_go(shell: Shell):
    id = shell.remember("Ana drinks tea", "--source", "chat")["id"]
    done = shell("forget", "--filter", '{"source": "chat"}', "--dry-run")
    assert done.out.splitlines()[1] == f"  {id}  Ana drinks tea"


@pytest.mark.parametrize("span", ["7d", "7d ago", "7 d ago"])
def test_a_span_before_now_may_say_ago(shell: Shell, span: str):
    shell.remember("Ana drank tea", "--occurred-at", span)
    kept = shell("list", "--json").json["items"][0]
    assert abs(kept["created_at"] - kept["occurred_at"] - 7 * 86_400_000) < 60_000


@pytest.mark.parametrize(
    "typed",
    [
        ("remember", "Ana moved", "--occurred-at", "1763286000"),
        ("recall", "Ana", "--as-of", "1763286000"),
        ("audit", "log", "--since", "1763286000"),
        ("recover", "--source", "web:*", "--since", "1763286000"),
    ],
)
def test_seconds_are_not_taken_for_a_day_of_1970(shell: Shell, typed: tuple[str, ...]):
    done = shell(*typed, "--json")
    assert done.code == 2
    assert "in milliseconds it is 1763286000000" in done.problem["detail"]
    assert done.problem["field"] == typed[-2].removeprefix("--").replace("-", "_")


def test_users_of_an_agent_are_kept_apart(shell: Shell):
    shell.remember("Ana prefers green tea to coffee", "--user", "ana")
    question = ("recall", "what does Ana like to drink?", "--json")
    assert len(shell(*question, "--user", "ana").json["results"]) == 1
    assert shell(*question, "--user", "ben").json["results"] == []
    assert shell(*question, "--agent", "other").json["results"] == []
    assert len(shell(*question).json["results"]) == 1


def test_the_demo_tells_its_story_and_leaves_nothing_behind(shell: Shell):
    done = shell("demo")
    assert done.code == 0
    assert done.out.count("(no_match: nothing)") == 2  # the unknown, and the forgotten
    assert "duplicate" in done.out
    assert not shell.home.exists()


def test_the_demo_as_json_is_the_list_of_its_calls(shell: Shell):
    calls = shell("demo", "--json").json
    assert {"remember", "recall", "forget", "undo", "history"} <= {call["operation"] for call in calls}


def test_all_that_is_provided_is_told_in_one_place(shell: Shell):
    said = shell("capabilities").out.splitlines()
    assert "contracts   kv, vector_search, stats, memory_layer" in said
    everything = "read, write, search, long-term, compaction, attribution, replay-snapshot, retention"
    assert f"openwop     not served: {everything}" in said
    passing = shell("capabilities", "--store", "memory://").out
    assert "  degraded  long-term, replay-snapshot" in passing.splitlines()


def test_a_way_back_is_shown_where_there_is_one(shell: Shell, tmp_path: Path):
    assert "undo with: memorywire undo" in shell("remember", "Ana drinks tea").out
    kept = shell("remember", "Ana drinks tea", "--store", f"markdown://{tmp_path}/notes")
    assert (kept.code, "remembered" in kept.out, "undo" in kept.out) == (0, True, False)


def test_a_command_to_type_next_shows_no_password():
    typed = ("--store", "postgresql://ana:secret@db/memories", "--agent", "a@b", "--user", "ann e")
    cli = CliContext(read_settings=Settings, as_json=False, options=typed)
    assert cli.suggest("undo", "x") == (
        "memorywire undo x --store postgresql://ana@db/memories --agent a@b --user 'ann e'"
    )


def test_an_empty_name_is_not_taken_for_the_folder_one_stands_in(shell: Shell):
    refused = shell("import", "", "--json")
    assert (refused.code, refused.problem["code"], refused.problem["field"]) == (3, "not_found", "file")


def test_a_restore_says_where_the_replaced_file_went(shell: Shell, tmp_path: Path):
    shell.remember("Ana drinks tea")
    copy = tmp_path / "copy.db"
    assert shell("backup", str(copy)).code == 0
    shell.remember("Ana drinks coffee")
    told = shell("restore", str(copy), "--replace").out.splitlines()[-1]
    [aside] = shell.home.glob("memory.db.replaced-*[0-9]")
    assert f"the previous store is now {aside};" in told
    assert (
        "replaced" not in shell("restore", str(copy), "--store", f"sqlite://{tmp_path}/new.db", "--json").json
    )


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("kv", "list"), "no keys"),
        (("backends", "list"), "no backends"),
        (("webhook", "list"), "no webhooks"),
        (("dream", "--dry-run"), "1 memory: nothing to do"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_empty_says_so(shell: Shell, typed: tuple[str, ...], said: str):
    shell.remember("Ana drinks tea")
    assert shell(*typed).out.splitlines()[0] == said
