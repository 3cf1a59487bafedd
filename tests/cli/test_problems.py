"""Whatever goes wrong ends in a problem and the right exit code, never in a traceback."""

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import COMMAND, Shell

WRONG_USAGE = [
    ("no-such-verb",),
    ("recall", "--no-such-option", "x"),
    ("remember", "x", "--type", "gossip"),
    ("remember", "x", "--confidence", "much"),
    ("remember", "x", "--metadata", "{not json"),
    ("remember", "x", "--metadata", '{"a": 1, "a": 2}'),
    ("remember", "x", "--metadata", '{"a": NaN}'),
    ("remember", "x", "--expires-at", "soon"),
    ("remember", "x", "--structured"),
    ("recall", "x", "--min-relevance", "some"),
    ("merge", "only-one"),
    ("completion", "powershell"),
    ("recall", "x", "--config", "no-such-file.toml"),
]

WRONG_REQUESTS = [
    (("remember", ""), "content"),
    (("remember", "x", "--confidence", "1.5"), "confidence"),
    (("remember", "x", "--if-version", "1"), "id"),
    (("remember", "x", "--expires-at", "2001-01-01"), "expires_at"),
    (("recall", ""), "query"),
    (("recall", "x", "--filter", '{"source": {"like": "c"}}'), "filter.source.like"),
    (("forget",), "ids"),
    (("call", "remember", '{"type": "semantic", "content": "x", "tgs": []}'), "tgs"),
    (("call", "gossip", "{}"), "operation"),
    (("call", "remember", '{"content": "x", "content": "y"}'), "content"),
    (("forget", "x", "--filter", "null"), "filter"),
    (("forget", "x", "--filter", "[]"), "filter"),
    (("list", "--filter", "null"), "filter"),
    (("recall", "x", "--rank", "false"), "rank"),
    (("remember", "x", "--metadata", "[]"), "metadata"),
    (("remember", "x", "--type", "gossip"), "type"),
    (("list", "--store", "nowhere"), "store"),
    (("list", "--store", "gopher://hole"), "store"),
]

REFUSALS = [
    (("get", "nothing"), "not_found"),
    (("history", "nothing"), "not_found"),
    (("undo", "nothing"), "not_found"),
    (("merge", "nothing", "either"), "not_found"),
    (("remember", "x", "--supersedes", "nothing"), "not_found"),
    (("remember", "x", "--derived-from", "nothing"), "not_found"),
    (("remember", "x", "--privacy-intent", '{"verdict": "refuse"}'), "refused_by_policy"),
    (("review", "show", "nothing"), "not_found"),
    (("why", "nothing"), "not_found"),
    (("remember", "x", "--id", "x1", "--if-version", "3"), "conflict"),
]


@pytest.mark.parametrize("typed", WRONG_USAGE, ids=" ".join)
def test_wrong_usage_exits_with_2(shell: Shell, typed: tuple[str, ...]):
    done = shell(*typed)
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert done.out == ""


@pytest.mark.parametrize(("typed", "field"), WRONG_REQUESTS, ids=lambda part: str(part))
def test_a_wrong_request_exits_with_2_and_names_the_field(shell: Shell, typed: tuple[str, ...], field: str):
    done = shell(*typed, "--json")
    assert (done.code, done.problem["field"]) == (2, field)


@pytest.mark.parametrize(("typed", "code"), REFUSALS, ids=lambda part: str(part))
def test_a_refusal_exits_with_3(shell: Shell, typed: tuple[str, ...], code: str):
    done = shell(*typed, "--json")
    assert (done.code, done.problem["code"]) == (3, code)


def test_a_conflict_exits_with_3(shell: Shell):
    shell.remember("Ana drinks tea", "--id", "tea")
    done = shell("remember", "Ana drinks coffee", "--id", "tea", "--json")
    assert (done.code, done.problem["code"], done.problem["field"]) == (3, "conflict", "id")


def test_a_used_idempotency_key_exits_with_3(shell: Shell):
    shell.remember("Ana drinks tea", "--idempotency-key", "once")
    done = shell("remember", "Ana drinks coffee", "--idempotency-key", "once", "--json")
    assert (done.code, done.problem["code"]) == (3, "idempotency_conflict")


def test_a_file_that_is_no_database_exits_with_4(shell: Shell, tmp_path: Path):
    (tmp_path / "letter.txt").write_text("Dear Ana, " * 100, encoding="utf-8")
    done = shell("list", "--store", f"sqlite://{tmp_path}/letter.txt", "--json")
    assert done.code == 4
    assert done.problem["code"].startswith("store_")


def test_a_folder_that_cannot_be_made_exits_with_4(shell: Shell, tmp_path: Path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert shell("remember", "tea", "--store", f"sqlite://{tmp_path}/file/memory.db").code == 4


def test_an_embedder_that_does_not_answer_exits_with_4(shell: Shell):
    done = shell(
        "remember", "x", "--json", MEMORYWIRE_EMBEDDER="openai+http://127.0.0.1:9/v1?model=m&dimension=8"
    )
    assert (done.code, done.problem["code"]) == (4, "embedder_failed")


def test_a_problem_reads_as_a_sentence_with_its_fix(shell: Shell):
    done = shell("call", "remember", '{"contnt": "x", "type": "semantic"}')
    assert done.err.splitlines()[0].endswith("(field: contnt)")
    assert done.err.splitlines()[1].startswith("  fix: ")


def test_bytes_that_are_not_utf_8_are_refused(shell: Shell):
    piped = shell("remember", "-", "--json", stdin=b"caf\xe9")
    assert (piped.code, piped.problem["field"]) == (2, "content")
    typed = shell("remember", os.fsdecode(b"caf\xe9"), "--json")
    assert (typed.code, typed.problem["field"]) == (2, "content")
    raw = shell("call", "remember", "-", stdin=b'{"content": "caf\xe9", "type": "semantic"}')
    assert raw.code == 2
    assert shell("list", "--json").json["total"] == 0


def test_a_nul_byte_and_ten_megabytes_are_refused(shell: Shell):
    assert shell("remember", "-", "--json", stdin=b"a\x00b").problem["field"] == "content"
    assert shell("remember", "-", "--json", stdin=b"x" * 10_000_000).problem["field"] == "content"
    assert shell("list", "--json").json["total"] == 0


def test_json_that_is_no_request_is_refused(shell: Shell):
    for payload in (b"[]", b"null", b"{", b"[" * 100_000, b'{"k": 1e999}'):
        done = shell("call", "recall", "-", "--json", stdin=payload)
        assert (done.code, done.out) == (2, ""), payload[:20]


def test_a_memory_cannot_steer_the_terminal(shell: Shell):
    receipt = shell.remember("calm \x1b[2J\x1b]0;owned\x07 words")
    shown = shell("list").out + shell("get", receipt["id"]).out + shell("history", receipt["id"]).out
    assert "calm" in shown
    assert "\x1b" not in shown


def test_a_terminal_without_the_letters_is_no_failure(shell: Shell):
    shell.remember("東京 🗼 café")
    done = shell("list", PYTHONIOENCODING="ascii")
    assert done.code == 0
    assert shell("list", "--json", PYTHONIOENCODING="ascii").json["items"][0]["content"] == "東京 🗼 café"


def test_a_misspelt_verb_is_told_the_nearest(shell: Shell):
    assert "'recall'" in shell("recal", "x").err


def test_an_answer_that_cannot_be_written_exits_with_4(shell: Shell):
    shell.remember("Ana drinks tea")
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(COMMAND)} list > /dev/full"],
        capture_output=True,
        text=True,
        env=shell.environment(),
    )
    assert (done.returncode, done.stderr) == (
        4,
        "error: the answer could not be written: No space left on device\n",
    )


def test_the_demo_takes_no_store(shell: Shell):
    done = shell("demo", "--store", "memory://")
    assert (done.code, "--store" in done.err) == (2, True)


def test_ctrl_c_ends_a_wait_for_the_network_at_once(shell: Shell):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"openai+http://127.0.0.1:{silent.getsockname()[1]}/v1?model=m&dimension=8"
        with subprocess.Popen(
            [*COMMAND, "remember", "x"],
            stderr=subprocess.PIPE,
            text=True,
            env=shell.environment(MEMORYWIRE_EMBEDDER=endpoint),
        ) as process:
            connection, _ = silent.accept()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate()
            connection.close()
    assert (process.returncode, err.strip()) == (130, "stopped; nothing more was done")


def test_taking_memories_out_of_a_store_that_is_not_there_is_no_success(shell: Shell, tmp_path: Path):
    there, away = f"sqlite://{tmp_path}/there.db", f"sqlite://{tmp_path}/away.db"
    shell.remember("Ana drinks tea", "--store", there)
    for words in (("migrate", away, there), ("export", str(tmp_path / "all.jsonl"), "--store", away)):
        done = shell(*words, "--json")
        assert (done.code, done.problem["code"], done.problem["field"]) == (3, "not_found", "store")
    assert not (tmp_path / "all.jsonl").exists()
    assert not (tmp_path / "away.db").exists()
    assert shell("migrate", there, away).code == 0
    assert shell("export", str(tmp_path / "all.jsonl"), "--store", away).code == 0


def test_a_store_is_not_moved_onto_itself(shell: Shell, tmp_path: Path):
    there = f"sqlite://{tmp_path}/there.db"
    shell.remember("Ana drinks tea", "--store", there)
    done = shell("migrate", there, f"sqlite://{tmp_path}/./there.db", "--json")
    assert (done.code, done.problem["detail"]) == (2, "SRC and DST are the same store")


def test_the_way_back_from_an_import_can_be_typed_as_it_is_shown(shell: Shell, tmp_path: Path):
    store, notes = ("--store", f"sqlite://{tmp_path}/other.db"), tmp_path / "notes.md"
    notes.write_text("- Ana drinks tea\n- Ben drinks coffee\n", encoding="utf-8")
    moved = ("migrate", store[1], f"sqlite://{tmp_path}/third.db")
    shown = [shell(*words).out for words in (("import", str(notes), *store), moved)]
    for one in shown:
        command = one.partition("undo with: memorywire ")[2].split()
        assert shell(*command).out.startswith("undone: 2 memories ended")


def test_a_file_that_the_system_refuses_is_named(shell: Shell, tmp_path: Path):
    shell.remember("Ana drinks tea")
    done = shell("export", str(tmp_path / "no-such-folder" / "all.jsonl"))
    assert (done.code, "cannot write" in done.err, "fix:" in done.err) == (4, True, True)


def test_an_option_before_its_command_is_told_where_it_belongs(shell: Shell):
    done = shell("--agent", "ana", "list")
    assert (done.code, "put --agent after the command" in done.err) == (2, True)
    assert shell("list", "--agent", "ana").code == 0


def test_json_that_is_none_is_not_kept_as_text_unless_it_is_called_so(shell: Shell):
    done = shell("kv", "set", "settings", '{"theme": dark}', "--json")
    assert (done.code, done.problem["field"], "--text" in done.problem["fix"]) == (2, "value", True)
    assert shell("kv", "get", "settings").code == 3
    assert shell("kv", "set", "settings", '{"theme": dark}', "--text").code == 0
    assert shell("kv", "set", "note", "a plain word").code == 0


def test_a_filter_that_may_have_meant_a_field_is_told(shell: Shell) -> None:
    shell.remember("Ana drinks tea", "--source", "wiki")
    doubt = "did you mean the field"
    for verb in (("recall", "tea"), ("list",), ("forget", "--yes")):
        told = shell(*verb, "--filter", '{"not": {"sorce": "wiki"}, "user": "ana", "tags": "x"}')
        assert [line.rpartition(" ")[2] for line in told.err.splitlines() if doubt in line] == [
            "source?",
            "user_id?",
        ]
    plain = shell("list", "--filter", '{"source": "wiki", "colour": "red", "metadata.sorce": "x"}')
    assert doubt not in plain.err
    assert shell("list", "--json", "--filter", '{"sorce": "wiki"}').err == ""


def test_what_there_is_to_choose_from_is_no_error(shell: Shell) -> None:
    done = shell("policy")
    assert (done.code, done.err) == (2, "")
    assert done.out.startswith("Usage: memorywire policy")


@pytest.mark.parametrize(
    ("typed", "error"),
    [
        (("remember", "x", "--id", "tea", "--if-version", "0"), "--if-version is too small (limit 1)"),
        (("remember", "x", "--if-version", "1"), "--id is required"),
        (("remember", "x", "--session", ""), "--session must not be empty"),
        (("remember", "x", "--agent", ""), "--agent must not be empty"),
        (("remember", "x", "--tag", ""), "--tag must not be empty"),
        (("remember", "x", "--supersedes", "none"), "no live memory none to supersede (--supersedes)"),
        (("remember", " "), "CONTENT must not be blank"),
        (("recall", "x", "--filter", '{"a": {"b": 1}}'), "a.b in --filter is not an operator"),
        (("recall", "x", "--dedup", "drop", "--dedup-threshold", "4"), "--dedup-threshold is too large"),
        (("forget",), "name IDs, or give --filter"),
        (("expire",), "give at least one condition: --older-than-days"),
        (("expire", "--older-than-days", "0"), "--older-than-days is too small"),
        (("merge", "none", "tea"), "(CANONICAL)"),
        (("kv", "set", "a", "b", "--if-version", "7"), "a is at version 0, not 7 (--if-version)"),
        (("undo", "none"), "no change none here (CHANGE)\n  fix: see: memorywire changes"),
        (("context", "--messages", "tea"), "PROMPT is not JSON"),
        (("context", "--messages", "[]"), "PROMPT is not a list of messages\n  fix: with --messages give"),
        (("review", "approve", "none"), "there is no such proposal (PROPOSAL)"),
        (
            ("operator", "add", "ana", "--role", "admin", "--expires", "1"),
            "that time is in the past (--expires)",
        ),
        (("import", "none.txt"), "there is no file none.txt (FILE)"),
        (("reembed", "--to", "none-such"), "(--to)"),
        (("conformance", "none:"), "the store is not a URL"),
    ],
)
def test_an_error_names_what_was_typed_and_not_the_field(shell: Shell, typed: tuple[str, ...], error: str):
    shell.remember("Ana drinks tea", "--id", "tea")
    done = shell(*typed)
    assert done.code in (2, 3)
    assert error in done.err
    assert "field:" not in done.err


def test_a_fix_names_the_option_too(shell: Shell):
    shell.remember("Ana drinks tea", "--id", "tea")
    assert "fix: pass --if-version 1 to" in shell("remember", "Ana drinks coffee", "--id", "tea").err
    assert "the memory `--id` only" in shell("remember", "x", "--id", "tea", "--if-version", "0").err


def test_json_problems_have_the_fields_of_the_wire(shell: Shell):
    done = shell("remember", "x", "--id", "tea", "--if-version", "0", "--json")
    assert (done.problem["field"], done.problem["detail"]) == (
        "if_version",
        "if_version is too small (limit 1)",
    )
