"""Options come before the environment, the environment before the file, the file before defaults."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from memorywire import __version__
from tests.cli.shell import Shell

READS = ["recall x", "list", "changes", "capabilities", "doctor", "version"]
WRITES = ["remember x", "forget nothing", "expire --type semantic"]


@pytest.mark.parametrize("typed", READS + WRITES)
def test_every_verb_answers_with_one_json_document(shell: Shell, typed: str):
    assert isinstance(shell(*typed.split(), "--json").json, dict)


def test_an_option_wins_over_the_environment_and_the_file(shell: Shell, tmp_path: Path):
    config = tmp_path / "settings.toml"
    config.write_text('agent = "from-file"\n', encoding="utf-8")
    asked = ("doctor", "--json", "--config", str(config))
    assert shell(*asked).json["settings"]["agent"] == "from-file"
    found = shell(*asked, MEMORYWIRE_AGENT="from-env").json["settings"]
    assert found["agent"] == "from-env"
    assert str(config) in found["sources"]
    said = ("x", "--config", str(config), "--agent", "typed")
    assert shell("remember", *said, MEMORYWIRE_AGENT="from-env").code == 0
    assert shell("list", "--json", "--agent", "typed").json["total"] == 1


def test_a_settings_file_with_an_unknown_key_is_refused(shell: Shell, tmp_path: Path):
    config = tmp_path / "settings.toml"
    config.write_text('agnet = "x"\n', encoding="utf-8")
    done = shell("list", "--config", str(config), "--json")
    assert (done.code, done.problem["field"]) == (2, "agnet")


def test_the_store_can_be_named_in_the_url(shell: Shell, tmp_path: Path):
    url = f"sqlite://{tmp_path}/elsewhere/own.db"
    shell.remember("Ana drinks tea", "--store", url)
    assert (tmp_path / "elsewhere" / "own.db").is_file()
    assert not shell.home.exists()
    assert shell("list", "--json", MEMORYWIRE_STORE=url).json["total"] == 1


def test_standard_input_is_read_for_a_dash_and_in_a_pipe(shell: Shell):
    assert shell("remember", "-", stdin="naïve café\n".encode()).code == 0
    assert shell("remember", stdin=b"second\n").code == 0
    assert [item["content"] for item in shell("list", "--json").json["items"]] == ["naïve café", "second"]
    assert shell("recall", "-", "--json", stdin=b"cafe").json["results"]


def test_the_mark_before_utf_8_is_no_content(shell: Shell):
    shell("remember", "-", stdin=b"\xef\xbb\xbfAna drinks tea\n")
    shell("import-lines", "-", stdin=b"\xef\xbb\xbfBen runs\n")
    assert [item["content"] for item in shell("list", "--json").json["items"]] == [
        "Ana drinks tea",
        "Ben runs",
    ]
    assert shell("call", "list", "-", stdin=b"\xef\xbb\xbf{}").json["total"] == 2


def test_a_call_without_a_payload_is_about_the_agent_of_the_settings(shell: Shell):
    shell.remember("Ana drinks tea", "--agent", "a")
    assert shell("call", "list", "--agent", "a").json["total"] == 1
    assert shell("call", "list").json["total"] == 0
    assert "operations" in shell("call", "capabilities").json


def test_the_next_command_is_about_the_same_memory(shell: Shell, tmp_path: Path):
    place = ("--store", f"sqlite://{tmp_path}/own.db", "--agent", "a b", "--user", "ana")
    shell("remember", "first", *place)
    receipt = shell("remember", "second", *place)
    assert shell(*shlex.split(receipt.out.split("undo with: memorywire ")[1])).code == 0
    shell("remember", "second", *place)
    page = shell("list", "--limit", "1", "--type", "semantic", "--filter", '{"user_id": "ana"}', *place)
    more = shell(*shlex.split(page.out.split("more with: memorywire ")[1]), "--json")
    assert [item["content"] for item in more.json["items"]] == ["second"]


def test_the_package_is_the_command_too(shell: Shell):
    done = subprocess.run(
        [sys.executable, "-m", "memorywire", "--version"],
        capture_output=True,
        text=True,
        env=shell.environment(),
    )
    assert done.stdout == f"memorywire {__version__}\n"


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_gives_a_script_for_the_shell(shell: Shell, name: str):
    assert "_MEMORYWIRE_COMPLETE" in shell("completion", name).out


def test_completion_knows_the_verbs(shell: Shell):
    done = shell(_MEMORYWIRE_COMPLETE="bash_complete", COMP_WORDS="memorywire re", COMP_CWORD="1")
    assert {"plain,remember", "plain,recall"} <= set(done.out.splitlines())
