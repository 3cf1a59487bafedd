"""`memorywire audit` shows the ledger, proves it, and says by its exit code when it cannot."""

import json
from pathlib import Path

import apsw
import pytest

from memorywire_server.commands.operator import format_tokens
from tests.cli.shell import Inside, Shell
from tests.journal.books import a_ledger, write_entries

ALL = ("--agent", "assistant")


@pytest.fixture
def shell(tmp_path: Path) -> Inside:
    return Inside(tmp_path / "home")


@pytest.fixture
def kept(shell: Shell) -> Path:
    """A ledger of 30 entries in the default place."""
    shell.home.mkdir()
    path = shell.home / "memory.db"
    db = a_ledger(path)
    write_entries(db, 30)
    db.close()
    return path


def tampered(path: Path, statement: str) -> None:
    db = apsw.Connection(str(path))
    db.execute("DROP TRIGGER ledger_stays; DROP TRIGGER ledger_keeps; PRAGMA foreign_keys = OFF")
    db.execute(statement)
    db.close()


def test_the_log_is_shown_newest_first_and_paged(shell: Shell, kept: Path):
    first = shell("audit", "log", "--limit", "12", "--json", *ALL).json
    assert [entry["seq"] for entry in first["entries"]] == list(range(30, 18, -1))
    rest = shell("audit", "log", "--before", str(first["next"]), "--limit", "50", "--json", *ALL).json
    assert [entry["seq"] for entry in rest["entries"]] == list(range(18, 0, -1))
    assert rest["next"] is None
    assert "c30" in shell("audit", "log", *ALL).out
    assert [e["seq"] for e in shell("audit", "log", "--memory", "m7", "--json", *ALL).json["entries"]] == [7]
    assert [e["seq"] for e in shell("audit", "log", "--subject", "c9", "--json", *ALL).json["entries"]] == [9]
    assert shell("audit", "log", "--json").json["entries"] == []
    assert len(shell("audit", "log", "--json", "--all-agents").json["entries"]) == 20


def test_a_sound_ledger_is_proven_and_its_exposure_told(shell: Shell, kept: Path):
    answer = shell("audit", "verify", "--json").json
    assert (answer["ok"], answer["entries"], answer["exposed"], answer["key"]) == (True, 30, 30, None)
    note = shell("audit", "checkpoint").out
    answer = shell("audit", "verify", "--json").json
    assert (answer["ok"], answer["sealed"], answer["exposed"]) == (True, 30, 0)
    assert note.startswith(f"{answer['origin']}\n30\n")
    assert answer["key"] in shell("audit", "verify").out


@pytest.mark.parametrize(
    ("statement", "entry"),
    [
        ("UPDATE ledger SET body = replace(body, 'cli', 'eve') WHERE seq = 11", 11),
        ("DELETE FROM ledger WHERE seq = 20", 20),
        ("DELETE FROM ledger WHERE seq > 28", 29),
    ],
)
def test_a_broken_ledger_exits_with_1_and_names_the_entry(
    shell: Shell, kept: Path, tmp_path: Path, statement: str, entry: int
):
    saved = tmp_path / "checkpoint.txt"
    saved.write_text(shell("audit", "checkpoint").out, encoding="utf-8")
    assert shell("audit", "verify", "--checkpoint", str(saved)).code == 0
    tampered(kept, statement)
    done = shell("audit", "verify", "--checkpoint", str(saved), "--json")
    assert done.code == 1
    assert entry in (done.json["fault"]["entry"], done.json["fault"]["until"])
    words = shell("audit", "verify")
    assert words.code == 1
    assert f"{entry}" in words.out


def test_proofs_and_exports_are_verified_without_the_ledger(shell: Shell, kept: Path, tmp_path: Path):
    proof, part, whole = (str(tmp_path / name) for name in ("proof", "part", "whole"))
    assert shell("audit", "prove", "17", "--output", proof).code == 0
    assert shell("audit", "export", "--output", part, "--memory", "m3", *ALL).code == 0
    assert shell("audit", "export", "--whole", "--output", whole).code == 0
    key = shell("audit", "checkpoint", "--json").json["key"]
    kept.unlink()
    for file, entries in ((proof, 1), (part, 1), (whole, 30)):
        answer = shell("audit", "verify", "--export", file, "--key", key, "--json").json
        assert (answer["ok"], answer["entries"]) == (True, entries)
    lines = Path(whole).read_text(encoding="utf-8")
    Path(whole).write_text(lines.replace('"c12', '"c99'), encoding="utf-8")
    done = shell("audit", "verify", "--export", whole, "--json")
    assert (done.code, done.json["fault"]["entry"]) == (1, 12)


def test_an_export_to_standard_output_is_lines_of_json(shell: Shell, kept: Path):
    lines = shell("audit", "export", "--whole").out.splitlines()
    assert json.loads(lines[0])["entries"] == 30
    assert len(lines) == 32


def test_a_rotated_key_vouches_for_the_old_checkpoints(shell: Shell, kept: Path):
    before = shell("audit", "checkpoint", "--json").json["key"]
    after = shell("audit", "checkpoint", "--rotate-key", "--json").json["key"]
    assert before != after
    for key in (before, after):
        assert shell("audit", "verify", "--key", key).code == 0
    other = shell("audit", "verify", "--key", before.replace(before[-5], "A" if before[-5] != "A" else "B"))
    assert other.code == 2


def test_where_there_is_no_ledger_nothing_is_created(shell: Shell):
    done = shell("audit", "verify", "--json")
    assert (done.code, done.problem["code"]) == (3, "not_found")
    assert not (shell.home / "memory.db").exists()


def test_a_database_without_a_ledger_has_none_and_one_that_lost_it_is_broken(shell: Shell, kept: Path):
    other = shell.home / "other.db"
    apsw.Connection(str(other)).execute("CREATE TABLE something (x)")
    for verb in (["log"], ["verify"], ["checkpoint"], ["export"], ["prove", "1"]):
        done = shell("audit", *verb, "--json", "--store", f"sqlite://{other}")
        assert (done.code, done.problem["code"]) == (3, "not_found")
    assert shell("audit", "checkpoint").code == 0
    apsw.Connection(str(kept)).execute("PRAGMA foreign_keys = OFF; DROP TABLE ledger_salt; DROP TABLE ledger")
    done = shell("audit", "verify", "--json")
    assert (done.code, done.json["fault"]["entry"]) == (1, 1)


def test_a_checkpoint_that_is_none_is_refused(shell: Shell, kept: Path, tmp_path: Path):
    wrong = tmp_path / "wrong"
    wrong.write_text("not a note\n", encoding="utf-8")
    done = shell("audit", "verify", "--checkpoint", str(wrong), "--json")
    assert (done.code, done.problem["field"]) == (2, "checkpoint")


def test_what_the_command_remembers_and_recalls_is_in_a_ledger_that_is_proven(tmp_path: Path):
    shell = Shell(tmp_path / "home")
    receipt = shell.remember("Ana prefers green tea to coffee")
    shell("recall", "what does Ana drink?")
    entries = shell("audit", "log", "--json", "--memory", receipt["id"]).json["entries"]
    assert [entry["operation"] for entry in entries] == ["recall", "remember"]
    assert "green tea" not in json.dumps(entries)
    assert shell("audit", "verify", "--json").json["ok"]


def test_a_memory_that_was_changed_behind_the_ledgers_back_is_named(tmp_path: Path):
    shell = Inside(tmp_path / "home")
    receipt = shell.remember(
        "Ana prefers green tea",
        "--metadata",
        '{"weight": 0.25, "n": 1.0}',
        "--tag",
        "tea",
        "--confidence",
        "0.3",
    )
    shell.remember("Ben drives a red car")
    assert shell("audit", "verify", "--contents", "--json").json["changed"] == []
    db = apsw.Connection(str(shell.home / "memory.db"))
    db.execute(
        "UPDATE version SET content = replace(content, 'green', 'black') WHERE id = ?", (receipt["id"],)
    )
    assert db.changes() == 1
    db.close()
    done = shell("audit", "verify", "--contents", "--json")
    assert (done.code, done.json["changed"], done.json["fault"]) == (1, [receipt["id"]], None)


def test_what_is_said_about_operators_is_signed_when_the_verb_ends(shell: Shell):
    shell("operator", "add", "ana", "--role", "reader")
    assert "newer than the last checkpoint" not in shell("audit", "verify").out
    assert shell("audit", "verify").code == 0


def test_a_token_that_has_ended_is_not_counted_among_those_that_let_in(shell: Shell):
    shell("operator", "add", "ana", "--role", "reader", "--expires", "7d")
    (ana,) = shell("operator", "list", "--json").json["operators"]
    ends = ana["tokens"][0]["expires_at"]
    assert " 1 until 20" in shell("operator", "list").out
    assert format_tokens(ana["tokens"], ends - 1).startswith("1 until")
    assert format_tokens(ana["tokens"], ends) == "ended"
    assert format_tokens([*ana["tokens"], {"expires_at": None, "revoked_at": None}], ends) == "1"


def test_revoking_an_operator_twice_is_told_and_written_down_once(shell: Shell):
    shell("operator", "add", "ana", "--role", "reader")
    assert shell("operator", "revoke", "ana").out == "revoked ana\n"
    again = shell("operator", "revoke", "ana")
    assert (again.code, again.out) == (0, "ana was revoked already\n")
    written = shell("audit", "log", "--operation", "operator", "--agent", "*", "--json").json["entries"]
    assert sorted(entry["kind"] for entry in written) == ["added", "revoked"]


def test_a_name_that_no_entry_has_is_told_which_there_are(shell: Shell):
    shell.remember("Ana drinks tea")
    shell("recall", "tea")
    told = shell("audit", "log", "--operation", "rekall").out
    assert "no operation rekall; there are: recall, remember" in told
    assert "there are" not in shell("audit", "log", "--operation", "recall", "--kind", "committed").out
    listed = shell("audit", "log").out
    assert "verdict match" in listed
    assert "{" not in listed


def test_a_file_that_is_no_export_is_not_called_a_broken_ledger(shell: Shell, tmp_path: Path):
    notes = tmp_path / "notes.txt"
    notes.write_text("tea\n", encoding="utf-8")
    done = shell("audit", "verify", "--export", str(notes))
    assert (done.code, done.out) == (1, "not a complete export of a ledger: line 1 is not JSON\n")


def test_signed_hits_are_verified_from_a_file_with_the_key_alone(shell, tmp_path):
    shell.remember("Ana likes green tea")
    answer = shell("recall", "green tea", "--sign", "--json").json
    key = shell("audit", "checkpoint", "--json").json["key"]
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(answer), encoding="utf-8")
    good = shell("audit", "verify-hit", str(file), "--key", key)
    assert (good.code, good.out.startswith("signed: ")) == (0, True)
    answer["results"][0]["content"] = "Ana likes coffee"
    file.write_text(json.dumps(answer["results"][0]), encoding="utf-8")
    bad = shell("audit", "verify-hit", str(file), "--key", key, "--json")
    assert (bad.code, bad.json["hits"][0]["ok"]) == (1, False)
    refused = shell("audit", "verify-hit", str(file), "--key", "no key", "--json")
    assert refused.problem["field"] == "key"
