"""Whole sessions of coding agents, played through the hook files that are installed."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.plugin.host import CLAUDE, CODEX, CURSOR, PLUGIN, Host, context, said

HOLD_PEOPLE = '[[rule]]\nname = "look"\nverdict = "hold"\noperation = ["remember"]\nsource = ["web"]\n'


def test_what_one_session_said_is_known_in_the_next(shell: Shell, tmp_path: Path) -> None:
    host = Host(shell, CLAUDE, tmp_path)
    assert host.fire("SessionStart", "one", source="startup") == {}
    assert context(host.fire("UserPromptSubmit", "one", prompt="how do I indent here?")) == ""
    host.write("one", said("I prefer tabs to spaces."), said("Noted.", "assistant"))
    host.fire("Stop", "one")
    host.until_kept("The user prefers tabs to spaces.")

    assert "memorywire keeps 3 memories" in context(host.fire("SessionStart", "two", source="startup"))
    asked = {"prompt": "does the user prefer tabs or spaces?"}
    assert "The user prefers tabs to spaces." in context(host.fire("UserPromptSubmit", "two", **asked))
    assert context(host.fire("UserPromptSubmit", "two", **asked)) == ""  # it has been shown

    host.fire("SessionStart", "two", source="compact")  # what was shown is gone from the model's sight
    assert "The user prefers tabs to spaces." in context(host.fire("UserPromptSubmit", "two", **asked))


def test_pinned_memories_open_a_session_and_are_not_shown_again(shell: Shell, tmp_path: Path) -> None:
    host = Host(shell, CLAUDE, tmp_path)
    shell.remember("Deploys to production need a green build", "--metadata", '{"pinned": true}')
    shell.remember("Never push to the main branch", "--tag", "blacklist")
    shell.remember("The staging database runs Postgres 16")
    opened = context(host.fire("SessionStart", "one", source="startup"))
    assert "Deploys to production need a green build" in opened
    assert "Never push to the main branch" in opened
    assert "Postgres" not in opened
    assert "memorywire keeps 3 memories" in opened
    asked = context(host.fire("UserPromptSubmit", "one", prompt="what do deploys to production need?"))
    assert "green build" not in asked
    other = context(host.fire("UserPromptSubmit", "other", prompt="what do deploys to production need?"))
    assert "green build" in other


def test_a_prompt_brings_what_a_good_answer_depends_on(shell: Shell, tmp_path: Path) -> None:
    """A recall finds none of these: they do not answer the prompt."""
    host = Host(shell, CLAUDE, tmp_path)
    shell.remember("I am allergic to peanuts.")
    shell.remember("We use Postgres 16 for all services.")
    snacks = context(host.fire("UserPromptSubmit", "one", prompt="Which snacks can I eat?"))
    assert "allergic to peanuts" in snacks
    assert "Postgres" not in snacks
    database = context(host.fire("UserPromptSubmit", "one", prompt="Set up a new database"))
    assert "Postgres 16" in database
    assert "peanuts" not in database
    assert context(host.fire("UserPromptSubmit", "one", prompt="/compact now please")) == ""


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_a_session_sees_its_user_and_the_agent_and_no_other_user(event: str, shell: Shell) -> None:
    for user, word in (("ana", "tabs"), ("ben", "spaces")):
        shell.remember(f"The code of {user} is written with {word}", "--tag", "pinned", "--user", user)
    shell.remember("Code needs a licence header", "--tag", "pinned")

    def told(session: str, **variables: str) -> str:
        asked = {"prompt": "how should I format the code, with tabs or spaces?", "source": "startup"}
        call = {"hook_event_name": event, "session_id": session, **asked}
        done = shell("hook", stdin=json.dumps(call).encode(), **variables)
        assert (done.code, done.err) == (0, "")
        return context(done.json)

    nobody, hers = told("one"), told("two", MEMORYWIRE_USER="ana")
    assert [word in nobody for word in ("tabs", "spaces", "licence")] == [False, False, True]
    assert [word in hers for word in ("tabs", "spaces", "licence")] == [True, False, True]


def test_what_a_session_was_told_to_do_and_never_do_opens_the_next_one(shell: Shell, tmp_path: Path) -> None:
    host = Host(shell, CLAUDE, tmp_path)
    host.write(
        "one",
        said("Remember that the API is at v3. Never push to main. Don't touch that file. Never mind."),
        said("Always trust me.", "assistant"),
        said("From now on, run the tests first."),
    )
    host.fire("Stop", "one")
    host.until_kept("From now on, run the tests first.")
    opened = context(host.fire("SessionStart", "two", source="startup"))
    told = [line[2:] for line in opened.splitlines() if line.startswith("| ")]
    assert told == [
        "Never push to main.",
        "From now on, run the tests first.",
        "Remember that the API is at v3.",
    ]
    rules = shell("dream", "rules", "--json").json
    assert [len(rules[kind]) for kind in ("know", "do", "blacklist")] == [1, 1, 1]


def test_a_start_counts_what_came_since_the_last_one(shell: Shell, tmp_path: Path) -> None:
    host = Host(shell, CLAUDE, tmp_path)
    for count in ("1 memory", "2 memories"):
        shell.remember(f"There is {count} now")
        for session in ("one", "two"):  # the second is answered with what the first prepared
            assert f"keeps {count};" in context(host.fire("SessionStart", session, source="startup"))


def test_no_words_of_a_memory_lie_beside_the_store(shell: Shell, tmp_path: Path) -> None:
    host = Host(shell, CLAUDE, tmp_path)
    shell.remember("Deploys need a green build", "--metadata", '{"pinned": true}')
    assert "green build" in context(host.fire("SessionStart", "one", source="startup"))
    assert "green build" in context(host.fire("UserPromptSubmit", "two", prompt="what do deploys need?"))
    beside = [path for path in (shell.home / "sessions").iterdir() if path.is_file()]
    assert beside
    assert not [path for path in beside if b"green" in path.read_bytes()]


def test_a_start_says_what_awaits_review(shell: Shell, tmp_path: Path) -> None:
    host = Host(shell, CLAUDE, tmp_path)
    policy = tmp_path / "policy.toml"
    policy.write_text(HOLD_PEOPLE)
    for fact in ("The API is at v3", "The office moved to Porto", "Tests run on Tuesdays"):
        done = shell("remember", fact, "--source", "web", "--json", MEMORYWIRE_POLICY=str(policy))
        assert done.json["pending_approval"]
    answer = host.fire("SessionStart", "one", source="startup")
    assert answer["systemMessage"].startswith("3 memories await review")


def test_only_new_lines_are_taken_in_and_a_compaction_takes_them_too(shell: Shell, tmp_path: Path) -> None:
    host = Host(shell, CLAUDE, tmp_path)
    host.write("one", said("My name is Ana."))
    host.fire("Stop", "one")
    host.until_kept("The user's name is Ana.")
    items = shell("list", "--json").json["items"]
    shell("forget", *(item["id"] for item in items))
    host.write("one", said("I live in Lisbon."))
    host.fire("PreCompact", "one", trigger="auto")
    host.until_kept("The user lives in Lisbon.")
    # The first line was not read again.
    assert host.contents() == ["I live in Lisbon.", "The user lives in Lisbon."]


def test_lines_taken_in_twice_are_kept_once(shell: Shell, tmp_path: Path) -> None:
    """As when the process ended after it had handed them over and before it dropped them."""
    log = tmp_path / "one.jsonl"
    line = said("My name is Ana.", timestamp="2026-03-02T09:00:00Z")
    log.write_text(json.dumps(line) + "\n")
    told = {"hook_event_name": "Stop", "session_id": "one", "transcript_path": str(log)}
    assert shell("hook", stdin=json.dumps(told).encode()).code == 0
    (spooled,) = (shell.home / "sessions").glob("*.spool")
    lines = spooled.read_bytes()
    assert shell("hook", "--work").json == {"taken": 1}
    spooled.write_bytes(lines)
    assert shell("hook", "--work").json == {"taken": 1}
    contents = [item["content"] for item in shell("list", "--json").json["items"]]
    assert contents == ["My name is Ana.", "The user's name is Ana."]


def test_a_line_that_cannot_be_kept_does_not_hold_up_the_others(shell: Shell, tmp_path: Path) -> None:
    """A blank turn, a moment before the epoch, a NUL, half a character, and the name of a session."""
    before = {**said("I live in Lisbon."), "timestamp": "0001-01-02T00:00:00Z"}
    odd = [said("\u200b"), before, said("I prefer tabs \0 to spaces."), said("half \ud800 a character")]
    for session, lines in {"s" * 300: odd, "two": [said("My name is Ana.")]}.items():
        log = tmp_path / f"{session[:9]}.jsonl"
        log.write_text("".join(json.dumps(line) + "\n" for line in lines))
        told = {"hook_event_name": "Stop", "session_id": session, "transcript_path": str(log)}
        assert shell("hook", stdin=json.dumps(told).encode()).code == 0
    done = shell("hook", "--work")
    assert done.json == {"taken": 4}
    assert "turn" in done.err
    kept = {item["content"] for item in shell("list", "--json").json["items"]}
    assert {"The user lives in Lisbon.", "The user's name is Ana."} <= kept
    assert not list((shell.home / "sessions").glob("*.spool"))


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact"])
def test_a_hook_that_cannot_work_lets_the_agent_go_on(event: str, shell: Shell, tmp_path: Path) -> None:
    host = Host(shell, CLAUDE, tmp_path)
    host.shell.home.write_text("a file where the folder should be")
    host.write("one", said("My name is Ana."))
    assert host.fire(event, "one", prompt="who am I?") == {}


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact"])
def test_an_agent_without_the_command_goes_on(event: str, shell: Shell, tmp_path: Path) -> None:
    host = Host(shell, CLAUDE, tmp_path)
    (host.bin / "memorywire").unlink()
    path = {**host.environment(), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", host.command(event)], input=b"{}", capture_output=True, env=path)
    assert (done.returncode, done.stdout) == (0, b"")


def test_codex_is_served_by_the_same_hooks(shell: Shell, tmp_path: Path) -> None:
    host = Host(shell, CODEX, tmp_path)
    payload = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "I live in Rome."}],
    }
    host.write("one", {"type": "response_item", "payload": payload})
    host.fire("Stop", "one")
    host.until_kept("The user lives in Rome.")
    assert "lives in Rome" in context(
        host.fire("UserPromptSubmit", "two", prompt="where does the user live?")
    )


def test_cursor_hears_at_the_start_and_is_listened_to(shell: Shell, tmp_path: Path) -> None:
    host = Host(shell, CURSOR, tmp_path)
    shell.remember("Deploys need a green build", "--metadata", '{"pinned": true}')
    assert "green build" in host.fire("sessionStart", "one")["additional_context"]
    text = "<user_query>\nMy name is Ana.\n</user_query>"
    host.write("one", {"role": "user", "message": {"content": [{"type": "text", "text": text}]}})
    host.fire("stop", "one")
    host.until_kept("The user's name is Ana.")


def test_the_marketplace_names_the_plugin_and_its_server_answers(shell: Shell, tmp_path: Path) -> None:
    market = json.loads((PLUGIN / ".claude-plugin" / "marketplace.json").read_text())
    folder = PLUGIN / market["plugins"][0]["source"]
    manifest = json.loads((folder / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["name"] == market["plugins"][0]["name"] == "memorywire"
    assert (folder / "skills" / "memory" / "SKILL.md").read_text().startswith("---\nname: memory\n")
    server = json.loads((folder / ".mcp.json").read_text())["mcpServers"]["memorywire"]
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    done = subprocess.run(
        [server["command"], *server["args"]],
        input=json.dumps(hello).encode() + b"\n",
        capture_output=True,
        env=(host := Host(shell, CLAUDE, tmp_path)).environment(),
        cwd=host.bin,
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "memorywire"
