"""What a person at a terminal sees: a question before a filter acts, a bar, lines that fit."""

import os
import pty
import select
import subprocess
from pathlib import Path

import pytest
from click import unstyle

from memorywire.cli.terminal import count_columns, format_table
from tests.cli.shell import COMMAND, Shell


def at_a_terminal(
    shell: Shell, *arguments: str, typed: str = "", until: str = "", **variables: str
) -> tuple[int, str]:
    """The exit code and everything that appeared on an 80-column terminal; typed when `until` was seen."""
    ours, theirs = pty.openpty()
    environment = shell.environment(COLUMNS="80", TERM="xterm", **variables)
    with subprocess.Popen(
        ["setsid", "--ctty", "--wait", *COMMAND, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
    ) as process:
        os.close(theirs)
        seen = b""
        while until.encode() not in seen and (chunk := _read(ours)):
            seen += chunk
        os.write(ours, typed.encode())
        while chunk := _read_or_repeat(ours, typed):
            seen += chunk
    os.close(ours)
    return process.returncode, seen.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the other end has hung up
        return b""


def _read_or_repeat(terminal: int, typed: str) -> bytes:
    """What appears next; a ctrl-C that fell between the prompt and the wait for a key is typed again."""
    while typed == "\x03" and not select.select([terminal], [], [], 5)[0]:
        os.write(terminal, typed.encode())
    return _read(terminal)


@pytest.mark.parametrize(("typed", "left"), [("y\n", 0), ("n\n", 2)])
def test_a_filter_is_applied_when_the_person_agrees(shell: Shell, typed: str, left: int):
    shell.remember("Ana drinks tea", "--source", "chat")
    shell.remember("Ben drinks coffee", "--source", "chat")
    _, seen = at_a_terminal(shell, "forget", "--filter", '{"source": "chat"}', typed=typed)
    assert "forget 2 memories?" in seen
    assert shell("list", "--json").json["total"] == left


@pytest.mark.parametrize(("typed", "left"), [("y\n", 0), ("n\n", 2)])
def test_an_expire_is_done_when_the_person_agrees(shell: Shell, typed: str, left: int):
    shell.remember("Ana drinks tea")
    shell.remember("Ben drinks coffee")
    _, seen = at_a_terminal(shell, "expire", "--type", "semantic", typed=typed)
    assert "Ben drinks coffee" in seen
    assert "forget 2 memories?" in seen
    assert shell("list", "--json").json["total"] == left


def test_an_expire_that_is_sure_or_meets_nothing_asks_nobody(shell: Shell):
    shell.remember("Ana drinks tea")
    _, seen = at_a_terminal(shell, "expire", "--type", "episodic")
    assert "no memory matches" in seen
    _, seen = at_a_terminal(shell, "expire", "--type", "semantic", "--action", "archive", "--yes")
    assert "archived 1" in seen


def test_lines_fit_the_terminal_and_a_pipe_gets_everything(shell: Shell):
    shell.remember("word " * 60)
    _, seen = at_a_terminal(shell, "list")
    assert "…" in seen
    assert shell("list").out.count("word") == 60


def test_a_recall_shows_sixty_characters_of_content_and_the_whole_id(shell: Shell):
    said = "Ana prefers green tea to coffee, black tea to green, and water from the well to both"
    id = shell.remember(said)["id"]
    for typed in (("recall", "what does Ana like to drink?"), ("list",)):
        _, seen = at_a_terminal(shell, *typed)
        lines = seen.splitlines()
        assert any(said[:60] in line for line in lines)
        assert any(line.split()[:1] == [id] for line in lines)
        assert all(count_columns(unstyle(line)) <= 80 for line in lines)


def test_what_a_filter_would_take_is_shown_before_the_question(shell: Shell):
    for number in range(7):
        shell.remember(f"fact number {number}", "--source", "chat")
    _, seen = at_a_terminal(shell, "forget", "--filter", '{"source": "chat"}', typed="n\n")
    assert [f"fact number {number}" in seen for number in range(7)] == [True] * 5 + [False] * 2
    assert "and 2 more" in seen


def test_ctrl_c_at_the_question_exits_with_130(shell: Shell):
    shell.remember("Ana drinks tea", "--source", "chat")
    code, _ = at_a_terminal(shell, "forget", "--filter", '{"source": "chat"}', until="?", typed="\x03")
    assert code == 130
    assert shell("list", "--json").json["total"] == 1


def test_an_import_shows_its_progress_on_a_terminal_only(shell: Shell, tmp_path: Path):
    notes = tmp_path / "notes.txt"
    notes.write_text("Ana drinks tea\n", encoding="utf-8")
    _, seen = at_a_terminal(shell, "import-lines", str(notes))
    assert "100%" in seen
    assert shell("import-lines", str(notes)).err == ""


def test_a_closed_pipe_ends_quietly(shell: Shell):
    shell.remember("Ana drinks tea")
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {' '.join(COMMAND)} list --json | true"],
        capture_output=True,
        env=shell.environment(),
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_wide_characters_keep_the_columns_straight():
    lines = format_table(["A", "B"], [["東京", "x"], ["cafe\u0301", "y"]], elastic="A", width=None)
    assert {
        count_columns(line[: line.index(last)]) for line, last in zip(map(unstyle, lines), "Bxy", strict=True)
    } == {6}


def test_only_the_elastic_column_is_cut():
    lines = format_table(["ID", "CONTENT"], [["0123456789", "y" * 90]], elastic="CONTENT", width=40)
    assert lines[1].startswith("0123456789  yyy")
    assert count_columns(lines[1]) == 40


def test_a_recall_ends_with_the_command_that_says_why(shell: Shell):
    shell.remember("Ana drinks tea")
    code, seen = at_a_terminal(shell, "recall", "what does Ana drink?")
    assert code == 0
    last = seen.strip().splitlines()[-1]
    assert "(show this again with: memorywire why " in last
    assert "why" not in shell("recall", "what does Ana drink?").out


def test_who_is_to_type_lines_is_told_so(shell: Shell):
    code, seen = at_a_terminal(shell, "layer", "add", until="Ctrl-D", typed="\x04")
    assert "type one JSON object a line" in seen
    assert code == 2


@pytest.mark.parametrize(("typed", "left"), [("erase\n", 0), ("y\n", 1)])
def test_what_erases_for_good_asks_for_a_typed_word(shell: Shell, typed: str, left: int):
    id = shell.remember("Ana drinks tea", "--source", "chat")["id"]
    _, seen = at_a_terminal(shell, "forget", id, "--hard", typed=typed, until="good: ")
    assert "this cannot be undone" in seen
    assert shell("list", "--json").json["total"] == left
    assert "undo with" not in seen


def test_approving_an_erasure_asks_for_a_typed_word(shell: Shell, tmp_path: Path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'profile = "open"\n[[rule]]\nname = "e"\nverdict = "hold"\nerases = true\noperation = ["forget"]\n'
    )
    id = shell.remember("Ana drinks tea")["id"]
    held = shell("forget", id, "--hard", "--json", MEMORYWIRE_POLICY=str(policy)).json["proposal_id"]
    refused = shell("review", "approve", held, "--json")
    assert (refused.code, refused.problem["field"]) == (2, "confirm")
    assert "--confirm erase" in refused.problem["fix"]
    assert shell("review", "approve", "--all", "--yes", "--json").problem["field"] == "confirm"
    _, seen = at_a_terminal(shell, "review", "approve", held, typed="y\n", until="good: ")
    assert shell("list", "--json").json["total"] == 1
    _, seen = at_a_terminal(shell, "review", "approve", held, typed="erase\n", until="good: ")
    assert "approved 1" in seen
    assert "undo with" not in seen
    assert shell("list", "--json").json["total"] == 0


def test_a_link_to_the_console_is_shown_on_a_terminal_alone_and_only_without_operators(shell: Shell):
    serve = ("serve", "--port", "0", "--quiet")
    _, seen = at_a_terminal(shell, *serve, typed="\x03", until="/console")
    assert "/console/enter?key=" in seen
    assert shell("operator", "add", "ana", "--role", "reviewer").code == 0
    _, seen = at_a_terminal(shell, *serve, typed="\x03", until="/console")
    assert "/console" in seen
    assert "key=" not in seen
