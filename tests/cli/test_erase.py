"""`memorywire erase`: whatever is kept of a person goes, and nothing of anybody else."""

from pathlib import Path

import pytest

from tests.cli.shell import Inside, Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """What is kept of ana: live, forgotten, held, rejected, replaced, under a key; and a memory of ben."""
    typed = Inside(tmp_path / "home")
    typed.remember("anaword likes fish", "--user", "ana", "--agent", "b")
    typed.remember("anaword was forgotten", "--user", "ana", "--agent", "b", "--id", "gone")
    typed("forget", "gone", "--agent", "b")
    for content in ("anaword was rejected", "anaword waits"):
        typed.remember(content, "--user", "ana", "--source", "web:forum", "--id", content.split()[-1])
    typed("review", "reject", typed("review", "list", "--json").json["items"][0]["id"])
    typed.remember("anaword lived here", "--user", "ana", "--id", "home")
    typed.remember("anaword lives there", "--user", "ana", "--id", "home", "--if-version", "1")
    typed("kv", "set", "colour", "anaword", "--of", "user", "--user", "ana")
    typed.remember("benword likes meat", "--user", "ben", "--agent", "b")
    return typed


def _on_disk(shell: Shell, word: str) -> bool:
    return any(word.encode() in path.read_bytes() for path in shell.home.iterdir())


def test_everything_of_a_person_leaves_the_disk_and_nothing_of_another(shell: Shell):
    assert _on_disk(shell, "anaword")
    looked = shell("erase", "ana", "--dry-run", "--json").json
    assert (looked["erased"], _on_disk(shell, "anaword")) == (6, True)
    done = shell("erase", "ana", "--yes", "--reason", "they asked").out
    assert done.splitlines() == [
        "erased 6 of ana:",
        "  2 of agent b",
        "  3 of agent default",
        "  1 of agent kv:user",
    ]
    assert not _on_disk(shell, "anaword")
    assert _on_disk(shell, "benword")
    assert shell("audit", "verify").code == 0
    again = shell("erase", "ana", "--yes")
    assert (again.code, again.out) == (3, "no memories of ana\n")


def test_an_erase_asks_first_and_can_be_of_one_agent(shell: Shell):
    unasked = shell("erase", "ana", "--agent", "b")
    assert (unasked.code, _on_disk(shell, "likes fish")) == (2, True)
    assert shell("erase", "ana", "--agent", "b", "--yes", "--json").json["erased"] == 2
    assert not _on_disk(shell, "likes fish")
    assert _on_disk(shell, "anaword lives there")


ANA = "ana@example.com"


@pytest.fixture
def named(tmp_path: Path) -> Shell:
    """A store that names one user wherever a user can be named, and another user beside her."""
    typed = Inside(tmp_path / "home")
    for number in range(30):
        typed.remember(f"fact {number}", "--user", ANA if number % 3 else "ben", "--agent", f"a{number % 2}")
    typed.remember("tea", "--user", ANA, "--id", "tea", "--idempotency-key", f"{ANA}:1")
    typed("forget", "tea", "--user", ANA, "--reason", f"{ANA} asked")
    typed.remember("waits", "--user", ANA, "--source", "web:forum")
    typed.remember("rejected", "--user", ANA, "--source", "web:forum")
    held = typed("review", "list", "--json").json["items"]
    typed("review", "reject", held[0]["id"], "--reason", f"{ANA} says no")
    typed("kv", "set", "colour", "green", "--of", "user", "--user", ANA)
    typed("recall", "what is a fact?", "--user", ANA, "--agent", "a1")
    typed("recall", f"what does {ANA} like?", "--agent", "a1")
    return typed


def test_no_byte_of_an_erased_users_id_stays_and_the_ledger_is_still_proven(named: Shell):
    entries = named("audit", "log", "--user", ANA, "--all-agents", "--limit", "500", "--json").json["entries"]
    assert len(entries) > 20
    assert {entry["user"] for entry in entries} == {ANA}
    assert named("erase", ANA, "--yes").code == 0
    assert [path.name for path in named.home.iterdir() if ANA.encode() in path.read_bytes()] == []
    assert named("audit", "verify").code == 0
    left = named("audit", "log", "--all-agents", "--limit", "500", "--json").json["entries"]
    assert {entry["seq"] for entry in entries} < {entry["seq"] for entry in left}
    assert {entry.get("user") for entry in left} == {None, "ben"}
    again = named("erase", ANA, "--yes")
    assert (again.code, _on_disk(named, ANA), _on_disk(named, "ben")) == (3, False, True)


def test_a_hard_delete_of_the_last_memory_takes_the_id_along(tmp_path: Path):
    typed = Inside(tmp_path / "home")
    typed.remember("one", "--user", ANA, "--id", "m1")
    typed.remember("two", "--user", ANA, "--id", "m2")
    typed("forget", "m1", "--hard", "--yes")
    assert typed("list", "--user", ANA, "--json").json["items"][0]["id"] == "m2"
    typed("forget", "m2", "--hard", "--yes")
    assert not _on_disk(typed, ANA)
    assert typed("audit", "verify").code == 0


def test_a_user_who_only_asked_is_erased_too(tmp_path: Path):
    typed = Inside(tmp_path / "home")
    typed.remember("one", "--user", "ben")
    typed("recall", "what is one?", "--user", ANA)
    assert _on_disk(typed, ANA)
    typed("erase", ANA, "--yes")
    assert not _on_disk(typed, ANA)


@pytest.mark.parametrize("of", ["agent", "tenant"])
def test_a_key_that_no_erase_would_find_is_not_said_to_be_a_users(tmp_path: Path, of: str):
    typed = Inside(tmp_path / "home")
    refused = typed("kv", "set", "phone", "4711", "--of", of, "--user", "ana", "--json")
    assert (refused.code, refused.problem["field"]) == (2, "user")
    assert "--of user" in refused.problem["fix"]
    assert typed("kv", "list", "--of", of).out == "no keys\n"
    assert typed("kv", "set", "phone", "4711", "--of", of, MEMORYWIRE_USER="ana").code == 0
