"""A store, a ledger, a bundle and settings that release 0.1.0 wrote are read, verified and exported.

The samples hold three users and two tenants: live, replaced, forgotten and erased memories, a key, an
operator, a pending proposal and two rejected ones.
"""

import json
import lzma
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Inside

SAMPLES = Path(__file__).parent / "samples"
LIVE = {
    "Ana prefers oolong tea to coffee",
    "Ben is allergic to peanuts",
    "Deployments happen on Tuesdays",
}
PENDING = "The forum says the office moves in May"
ERASED = "badge number"


@pytest.fixture
def shell(tmp_path: Path) -> Inside:
    home = tmp_path / "home"
    home.mkdir()
    (home / "memory.db").write_bytes(lzma.decompress((SAMPLES / "memory.db.xz").read_bytes()))
    for name in ("memory.db-checkpoints", "memory.db-ledger.key", "memorywire.toml"):
        shutil.copy(SAMPLES / name, home / name)
    return Inside(home)


def run(shell: Inside, *arguments: str, **variables: str) -> Any:
    result = shell(*arguments, **variables)
    assert result.code == 0, result.err
    return result


def list_contents(shell: Inside, **variables: str) -> set[str]:
    items = run(shell, "list", "--json", **variables).json["items"]
    return {item["content"] for item in items if isinstance(item["content"], str)}


def test_memories_are_read_and_new_ones_are_added(shell: Inside) -> None:
    assert list_contents(shell) >= LIVE
    assert list_contents(shell, MEMORYWIRE_TENANT="acme") == {"Acme renews in March"}
    hits = run(shell, "recall", "what does Ana drink?", "--user", "ana", "--json").json["results"]
    assert hits[0]["content"] == "Ana prefers oolong tea to coffee"
    run(shell, "remember", "Ana moved to Lisbon", "--user", "ana")
    assert list_contents(shell) >= LIVE | {"Ana moved to Lisbon"}


def test_keys_keep_their_values(shell: Inside) -> None:
    assert "dark" in run(shell, "kv", "get", "theme").out


def test_the_ledger_verifies_and_goes_on(shell: Inside) -> None:
    assert "sound" in run(shell, "audit", "verify").out
    run(shell, "remember", "Ben moved to Porto", "--user", "ben")
    assert "sound" in run(shell, "audit", "verify").out
    assert run(shell, "doctor").code == 0


def test_an_export_of_the_ledger_verifies(shell: Inside) -> None:
    run(shell, "audit", "verify", "--export", str(SAMPLES / "ledger.jsonl"))


def test_a_pending_proposal_can_be_approved(shell: Inside) -> None:
    assert PENDING not in list_contents(shell)
    run(shell, "review", "approve", "--all", "--yes")
    assert PENDING in list_contents(shell)


def test_changes_can_be_undone(shell: Inside) -> None:
    change = next(
        change["id"]
        for change in run(shell, "changes", "--json").json["changes"]
        if change.get("reason") == "moved again"
    )
    run(shell, "undo", change)
    assert "The standup was moved to ten" in list_contents(shell)


def test_the_store_is_exported_and_the_erased_memory_is_not_in_it(shell: Inside, tmp_path: Path) -> None:
    target = tmp_path / "bundle.mwb"
    run(shell, "export", str(target), "--with-ledger")
    text = target.read_text(encoding="utf-8")
    assert all(content in text for content in LIVE)
    assert ERASED not in text


def test_a_bundle_is_imported_into_a_new_store(tmp_path: Path) -> None:
    shell = Inside(tmp_path / "other")
    run(shell, "import", str(SAMPLES / "bundle.mwb"), "--trusted")
    assert list_contents(shell, MEMORYWIRE_AGENT="support") >= LIVE


def list_changes(bundle: Path) -> list[tuple[str, str]]:
    """The id and operation of each change in a bundle, in order."""
    lines = map(json.loads, bundle.read_text(encoding="utf-8").splitlines())
    return [(line["id"], line["operation"]) for line in lines if line["kind"] == "change"]


def test_a_bundle_goes_round_with_its_changes_and_its_ledger(tmp_path: Path) -> None:
    shell, copy = Inside(tmp_path / "other"), tmp_path / "copy.mwb"
    answer = run(shell, "import", str(SAMPLES / "bundle.mwb"), "--trusted", "--json").json
    assert [ledger["entries"] for ledger in answer["ledgers"]] == [17]
    assert (answer["conflicts"], answer["problems"]) == (0, [])
    run(shell, "export", str(copy))
    assert list_changes(copy) == list_changes(SAMPLES / "bundle.mwb")
    again = run(shell, "import", str(SAMPLES / "bundle.mwb"), "--trusted", "--json").json
    assert (again["changes"], again["already"]) == (0, len(list_changes(copy)))


def test_a_bundle_that_was_altered_is_refused(tmp_path: Path) -> None:
    altered = tmp_path / "altered.mwb"
    text = (SAMPLES / "bundle.mwb").read_text(encoding="utf-8")
    altered.write_text(text.replace("green tea", "black tea"), encoding="utf-8")
    result = Inside(tmp_path / "other")("import", str(altered))
    assert (result.code, "digest does not match" in result.err) == (2, True)


def test_an_export_of_the_ledger_that_was_altered_is_refused(shell: Inside, tmp_path: Path) -> None:
    altered = tmp_path / "altered.jsonl"
    text = (SAMPLES / "ledger.jsonl").read_text(encoding="utf-8")
    altered.write_text(text.replace("remember", "remembe2", 1), encoding="utf-8")
    assert shell("audit", "verify", "--export", str(altered)).code != 0


def test_a_superseded_memory_is_in_the_history(shell: Inside) -> None:
    [memory] = [
        item
        for item in run(shell, "list", "--json").json["items"]
        if item["content"] == "Ana prefers oolong tea to coffee"
    ]
    [earlier] = memory["supersedes"]
    [version] = run(shell, "history", earlier, "--json").json["versions"]
    assert version["record"]["content"] == "Ana prefers green tea to coffee"
    assert version["reason"] == "superseded"


def test_settings_are_read(shell: Inside) -> None:
    assert "support" in run(shell, "doctor").out
