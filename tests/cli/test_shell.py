"""What is typed in tests is what is typed anywhere: a fork answers as a process that was started does."""

import os
from pathlib import Path

import pytest

from tests.cli.shell import Shell, Started

TYPED = [
    (("--help",), b""),
    (("version",), b""),
    (("no-such-verb",), b""),
    (("recall", "x", "--no-such-option"), b""),
    (("get", "nothing", "--json"), b""),
    (("recall", "what does Ana drink?"), b""),
    (("list", "--json"), b""),
    (("call", "get", "-", "--json"), b'{"id": "tea"}'),
    (("call", "get"), b'{"id": "tea"}'),
    (("call", "get", "-", "--json"), b'{"id": "caf\xe9"}'),
    (("get", os.fsdecode(b"caf\xe9"), "--json"), b""),
    (("audit", "verify"), b""),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("home")
    Started(found).remember("Ana drinks green tea", "--id", "tea")
    return found


@pytest.mark.parametrize(("words", "stdin"), TYPED, ids=lambda part: str(part))
def test_a_fork_answers_as_a_process_that_was_started(home: Path, words: tuple[str, ...], stdin: bytes):
    forked, started = (kind(home)(*words, stdin=stdin) for kind in (Shell, Started))
    assert forked == started


def test_a_fork_has_the_folder_and_the_environment_of_whoever_types(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    here = ("--store", "sqlite:///./here.db", "--json")
    assert shell("remember", "Ana drinks tea", *here, MEMORYWIRE_AGENT="ana").code == 0
    assert (tmp_path / "here.db").exists()
    totals = [shell("list", *here, "--agent", name).json["total"] for name in ("ana", "ben")]
    assert totals == [1, 0]


def test_what_one_fork_sets_the_next_does_not_find(shell: Shell):
    assert "MEMORYWIRE_POLICY" not in shell.environment()
    held = shell("remember", "Ana drinks tea", "--json", MEMORYWIRE_POLICY="strict").json
    kept = shell("remember", "Ben drinks tea", "--json", MEMORYWIRE_POLICY="open").json
    assert (held["status"], kept["status"]) == ("staged", "committed")
