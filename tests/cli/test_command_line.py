"""Words that people type lead somewhere: sections, examples, aliases, id prefixes, hints, local times."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from memorywire.cli.command import ALIASES, COMMANDS, HINTS, SECTIONS, load_examples, memorywire
from tests.cli.shell import Shell, Started
from tests.cli.test_terminal import at_a_terminal


def _every_command(command: click.Command, path: str = "") -> list[str]:
    names = [path]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in COMMANDS if command is memorywire else command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            names += _every_command(inner, f"{path} {name}".strip())
    return names


def test_the_help_lists_commands_in_sections(shell: Shell):
    lines = shell("--help").out.splitlines()
    titles = [line.removesuffix(":") for line in lines if line.removesuffix(":") in SECTIONS]
    assert titles == list(SECTIONS)
    listed = [line.split()[0] for line in lines if re.match(r"  [a-z-]+ {2,}[A-Z]", line)]
    assert set(COMMANDS) <= set(listed)


def test_every_help_ends_with_an_example(shell: Shell):
    paths = _every_command(memorywire)
    assert [path for path in paths if path not in load_examples()] == []
    for path in ("", "remember", "kv set", "audit verify"):
        assert shell(*path.split(), "--help").out.rstrip().endswith(load_examples()[path][-1])


def test_every_example_has_valid_options():
    for path in _every_command(memorywire):
        for line in load_examples()[path]:
            typed = line.rpartition("|")[2].partition(">")[0].partition("#")[0]
            words = shlex.split(typed.strip().removeprefix('eval "$(').removesuffix(')"'))
            assert words[0] == "memorywire", line
            if words[1:2] == ["help"]:
                continue
            command: click.Command = memorywire
            rest = words[1:]
            while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
                inner = command.get_command(click.Context(command), rest[0])
                assert inner is not None, line
                command, rest = inner, rest[1:]
            known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
            assert {word for word in rest if re.match(r"-{1,2}[a-z]", word)} <= {*known, "--help"}, line


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_a_common_word_is_an_alias(shell: Shell, alias: str):
    assert f"memorywire {ALIASES[alias]}" in shell(alias, "--help").out


def test_aliases_do_what_their_commands_do(shell: Shell):
    assert shell("add", "Ana drinks tea").out.startswith("remembered ")
    assert "Ana drinks tea" in shell("search", "what does Ana drink?").out
    assert "Ana drinks tea" in shell("ls").out
    id = shell("ls", "--json").json["items"][0]["id"]
    assert "Ana drinks tea" in shell("show", id).out
    assert shell("rm", id).out.startswith("forgot 1")
    assert "forget" in shell("log").out


@pytest.mark.parametrize("word", sorted(HINTS))
def test_a_word_that_several_commands_answer_gets_a_hint(shell: Shell, word: str):
    done = shell(word)
    assert (done.code, HINTS[word] in done.err) == (2, True)


def test_help_shows_the_help_of_a_command(shell: Shell):
    assert shell("help").out == shell("--help").out
    assert shell("help", "kv", "set").out == shell("kv", "set", "--help").out
    assert shell("help", "recal").code == 2


def test_a_command_of_a_package_that_is_not_installed_names_the_package(shell: Shell, tmp_path: Path):
    # An empty folder instead of the installed packages: no entry point is found.
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.metadata as m\nm.entry_points = lambda **_: ()\n", encoding="utf-8"
    )
    path = f"{tmp_path}:{shell.environment()['PYTHONPATH']}"
    done = shell("eval", PYTHONPATH=path)
    assert done.code == 2
    assert "pip install ./packages/memorywire-evals" in done.err


def test_the_beginning_of_an_id_is_enough(shell: Shell):
    receipt = shell.remember("Ana drinks tea")
    short = receipt["id"][:24]
    assert shell("get", short, "--json").json["id"] == receipt["id"]
    assert shell("history", short, "--json").json["id"] == receipt["id"]
    assert shell("undo", receipt["change_id"][:24]).out.startswith(f"undid {receipt['change_id']}")


def test_the_beginning_of_several_ids_lists_them(shell: Shell):
    ids = [shell.remember(text)["id"] for text in ("Ana drinks tea", "Ben drinks coffee")]
    done = shell("forget", ids[0][:4], "--json")
    assert done.code == 2
    assert all(id in done.problem["detail"] for id in ids)
    assert len(shell("list", "--json").json["items"]) == 2


def test_an_id_that_a_caller_chose_is_never_completed(shell: Shell):
    shell.remember("Ana drinks tea", "--id", "m10")
    assert shell("forget", "m1").code == 3
    assert shell("get", "m10").code == 0


def test_the_beginning_of_a_proposal_id_is_enough(shell: Shell):
    held = shell.remember("Wire the money", "--source", "web:forum")
    proposal = held["proposal_id"]
    assert f"proposal {proposal}" in shell("review", "show", proposal[:24]).out
    assert shell("review", "reject", proposal[:24], "--json").json["proposal_ids"] == [proposal]


def test_undo_last_steps_back_through_the_changes(shell: Shell):
    first, second = shell.remember("Ana drinks tea"), shell.remember("Ben drinks coffee")
    assert shell("undo", "--last").out.startswith(f"undid {second['change_id']}")
    assert shell("undo", "--last").out.startswith(f"undid {first['change_id']}")
    assert shell("undo", "--last").code == 3
    assert shell("undo").code == 2
    assert shell("undo", "--last", first["change_id"]).code == 2


def test_changes_show_each_memory_before_and_after(shell: Shell):
    id = shell.remember("Ana drinks tea")["id"]
    shell.remember("Ana drinks coffee", "--id", id, "--if-version", "1")
    shell("forget", id)
    lines = [line.strip() for line in shell("changes").out.splitlines()]
    assert f'- {id}  "Ana drinks coffee" (forgotten)' in lines
    assert f'~ {id}  "Ana drinks tea" -> "Ana drinks coffee"' in lines
    assert f'+ {id}  "Ana drinks tea"' in lines


def test_agents_and_users_are_listed_with_counts(shell: Shell):
    shell.remember("Ana drinks tea", "--user", "ana")
    shell.remember("Ana lives in Porto", "--user", "ana")
    shell.remember("The shop opens at nine")
    shell.remember("Deploy on Tuesdays", "--agent", "ops")
    assert [(one["agent_id"], one["memories"]) for one in shell("agents", "--json").json["items"]] == [
        ("default", 3),
        ("ops", 1),
    ]
    assert shell("users", "--json").json == {
        "items": [{"user_id": "ana", "memories": 2}, {"user_id": None, "memories": 1}]
    }
    assert ["ana", "2"] in [line.split() for line in shell("users").out.splitlines()]
    assert ["ops", "1", "0"] in [line.split() for line in shell("agents").out.splitlines()]


@pytest.mark.parametrize(
    "words", ["recall tea", "list", "changes", "kv list", "kv search tea", "layer recall tea", "audit log"]
)
def test_a_number_of_results_is_limit_or_k_everywhere(shell: Shell, words: str):
    shell.remember("Ana drinks tea")
    for option in ("-k", "--limit"):
        done = shell(*words.split(), option, "1")
        assert (done.code, done.err) == (0, ""), done.err


def test_people_read_local_times_and_programs_read_utc(shell: Shell):
    id = shell.remember("Ana drinks tea")["id"]
    there = Started(shell.home)  # a process of its own reads TZ
    text = there("get", id, TZ="JST-9").out
    assert re.search(r"created_at +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d JST", text)
    assert isinstance(there("get", id, "--json", TZ="JST-9").json["created_at"], int)


def test_colours_are_for_terminals_and_no_color_removes_them(shell: Shell):
    shell.remember("Ana drinks tea")
    assert "\x1b[" not in shell("changes").out
    _, coloured = at_a_terminal(shell, "changes")
    assert "\x1b[32m" in coloured
    _, plain = at_a_terminal(shell, "changes", NO_COLOR="1")
    assert "\x1b[32m" not in plain


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["remember", "Ana", "likes", "tea"], "memorywire remember 'Ana likes tea'"),
        (
            ["remember", "--user", "ana", "Ana", "likes", "tea"],
            "memorywire remember --user ana 'Ana likes tea'",
        ),
        (["remember", "-5", "degrees"], "memorywire remember -- '-5 degrees'"),
        (["remember", "-5 things"], "memorywire remember -- '-5 things'"),
        (["recall", "what", "is", "-5", "-k", "3"], "memorywire recall -k 3 'what is -5'"),
        (["search", "green", "tea"], "memorywire recall 'green tea'"),
    ],
)
def test_unquoted_text_and_a_leading_dash_get_the_line_to_type(shell: Shell, words: list[str], line: str):
    done = shell(*words)
    assert done.code == 2
    assert done.err.splitlines()[-1] == f"  fix: type: {line}"
    assert shell(*shlex.split(line)[1:]).code == 0


def test_a_misspelt_option_is_not_taken_for_text(shell: Shell):
    done = shell("remember", "--tga", "x", "Ana drinks tea")
    assert done.code == 2
    assert "--tag" in done.err


_COUNTING = """
import sys
from memorywire.client import sync
calls, opened = [], []
call, enter = sync.Memory.call, sync.Memory.__enter__
def counted(self, operation, payload, *args, **kwargs):
    calls.append(operation)
    return call(self, operation, payload, *args, **kwargs)
def entered(self):
    opened.append(self)
    return enter(self)
sync.Memory.call, sync.Memory.__enter__ = counted, entered
import atexit
atexit.register(lambda: print(len(opened), *calls, file=sys.stderr))
from memorywire.cli import main
main()
"""


@pytest.mark.parametrize(
    ("words", "calls"),
    [
        (["remember", "Ana drinks tea"], "1 remember"),
        (["recall", "zebra crossing", "--explain"], "1 recall"),
        (["forget", "--filter", '{"type": "episodic"}', "--dry-run"], "1 forget"),
    ],
)
def test_a_command_opens_the_memory_once(shell: Shell, words: list[str], calls: str):
    done = subprocess.run(
        [sys.executable, "-c", _COUNTING, *words], capture_output=True, env=shell.environment(), text=True
    )
    assert done.stderr.splitlines()[-1].startswith(calls)
    assert words[0] != "remember" or done.stderr.splitlines()[-1] == calls
