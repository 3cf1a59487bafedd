"""Reviewing, ruling and asking why, as they are typed."""

import json
from pathlib import Path

import pytest

from tests.cli.shell import Inside, Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Inside(tmp_path / "home")


HELD = ("--source", "web:forum")


def waiting(shell: Shell, *options: str) -> list[dict]:
    return shell("review", "list", "--json", *options).json["items"]


def test_a_held_memory_is_shown_edited_in_the_editor_and_approved(shell):
    typed = shell("remember", "Ana's bank is EvilBank", *HELD)
    (one,) = waiting(shell)
    assert "untrusted-source" in typed.out
    assert f"memorywire review show {one['id']}" in typed.out
    page = shell("review", "show", one["id"]).out
    assert "+ content: Ana's bank is EvilBank" in page
    assert "its source is untrusted" in page
    unchanged = shell("review", "edit", one["id"], EDITOR="true")
    assert (unchanged.code, "nothing was decided" in unchanged.err) == (3, True)
    done = shell("review", "edit", one["id"], "--json", EDITOR="sed -i s/Evil/Good/")
    assert done.json["state"] == "approved"
    table = shell("recall", "which bank?").out
    assert "Ana's bank is GoodBank" in table
    assert "untrusted" in table
    assert shell("review", "approve", one["id"], "--json").problem["code"] == "conflict"


def test_a_new_version_is_shown_word_by_word(shell):
    id = shell.remember("Ana drinks black tea at noon")["id"]
    receipt = shell.remember(
        "Ana drinks green tea at noon", "--id", id, "--if-version", "1", "--approval-required"
    )
    page = shell("review", "show", receipt["proposal_id"]).out
    assert "Ana drinks [-black-]{+green+} tea at noon" in page
    assert "version 1 to 2" in page
    shell.remember("Ana drinks no tea at noon", "--id", id, "--if-version", "1")
    shell("review", "approve", receipt["proposal_id"])
    stale = shell("review", "show", receipt["proposal_id"]).out
    assert "planned as version 2, but the memory is at version 2 already" in stale


def test_several_are_one_batch_and_all_needs_a_yes(shell):
    proposals = [shell.remember(f"rumour {n}", *HELD)["proposal_id"] for n in range(3)]
    other = shell.remember("of another agent", "--approval-required", "--agent", "b")["proposal_id"]
    twice = shell("review", "approve", proposals[0], proposals[0], "--json")
    assert twice.problem["code"] == "validation_error"
    mixed = shell("review", "approve", proposals[0], other, "--json")
    assert mixed.problem["field"] == "proposal_ids"
    assert len(waiting(shell)) == 4
    assert [one["id"] for one in waiting(shell, "--agent", "b")] == [other]
    unasked = shell("review", "reject", "--all", "--rule", "untrusted-source")
    assert (unasked.code, "--yes" in unasked.err) == (2, True)
    done = shell("review", "reject", "--all", "--rule", "untrusted-source", "--yes", "--json").json
    assert [one["proposal_ids"] for one in done["decisions"]] == [proposals]
    assert [one["id"] for one in waiting(shell)] == [other]


def test_a_proposal_is_joined_to_a_memory_or_takes_its_place(shell):
    cat, tea = shell.remember("Ana has a cat")["id"], shell.remember("Ana drinks tea")["id"]
    black = shell.remember("it is black", *HELD)["proposal_id"]
    coffee = shell.remember("Ana drinks coffee", "--approval-required")["proposal_id"]
    assert shell("review", "merge", black, cat).code == 0
    assert shell("review", "supersede", coffee, tea).code == 0
    kept = [item["content"] for item in shell("list", "--json").json["items"]]
    assert sorted(kept) == ["Ana drinks coffee", "Ana has a cat\nit is black"]


def test_rules_are_checked_set_tried_and_shown(shell, tmp_path):
    shell.remember("Ana's salary is due")
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text('[[rule]]\nname = "salaries"\nverdict = "hold"\ncontent_contains = ["salary"]\n')
    bad.write_text('[[rule]]\nname = "all"\nverdict = "hold"\nagent = ["*"]\n')
    for verb in ("check", "set"):
        refused = shell("policy", verb, str(bad), "--json")
        assert (refused.code, refused.problem["field"]) == (2, "rule.all")
    assert shell("policy", "check", str(good)).out.startswith("sound: 1 rule of its own, ")
    assert shell("policy", "set", str(good), "--if-edition", "0", "--json").json["edition"] == 1
    assert shell("policy", "set", str(good), "--if-edition", "0", "--json").problem["code"] == "conflict"
    assert "salaries would have held 1 of 1" in shell("policy", "test", "salaries").out
    assert "content_contains" in shell("policy", "show").out
    assert shell.remember("Ben's salary is due")["rule"] == "salaries"


def test_rules_that_go_are_named_and_none_at_all_has_to_be_said(shell, tmp_path):
    one, empty = tmp_path / "one.toml", tmp_path / "empty.toml"
    one.write_text('[[rule]]\nname = "salaries"\nverdict = "hold"\ncontent_contains = ["salary"]\n')
    empty.write_text("# to be written\n")
    assert shell("policy", "set", str(one)).code == 0
    refused = shell("policy", "set", str(empty), "--json")
    assert (refused.code, refused.problem["field"]) == (2, "file")
    assert "--none" in refused.problem["fix"]
    assert shell("policy", "show", "--json").json["edition"] == 1
    told = shell("policy", "set", str(empty), "--none").out.splitlines()
    assert told[-2:] == [
        "no longer active: salaries",
        "  restore them with: memorywire policy restore 1",
    ]
    newest, *_ = shell("audit", "log", "--all-agents", "--json").json["entries"]
    assert newest["details"] == {"edition": 2, "rules": [], "dropped": ["salaries"]}
    assert shell("policy", "restore", "1", "--json").json["given"][0]["name"] == "salaries"


def test_a_learned_rule_is_suggested_activated_and_reverted(shell):
    for number in range(5):
        shell.remember(
            f"customer {number} is in town {number * 7}", "--source", "notes", "--approval-required"
        )
    assert "no suggestions" in shell("policy", "suggestions").out
    assert shell("review", "approve", "--all", "--yes").code == 0
    (suggested,) = shell("policy", "suggestions", "--json").json["suggestions"]
    name = suggested["rule"]["name"]
    assert shell("policy", "activate", name, "--json").json["given"][0]["learned"] is True
    id = shell.remember("customer 9 is in town 99", "--source", "notes")["id"]
    back = shell("policy", "revert", name, "--json").json
    assert back["ended_ids"] == [id]
    assert shell("policy", "revert", "no-such-rule", "--json").problem["code"] == "not_found"


def test_why_shows_what_was_handed_out_then(shell):
    id = shell.remember("Ana lives in Graz")["id"]
    asked = shell("recall", "where does Ana live?", "--json").json
    shell.remember("Ana lives in Linz", "--id", id, "--if-version", "1")
    told = shell("why", asked["recall_id"]).out
    assert "Ana lives in Graz" in told
    assert "since changed" in told
    assert shell("why", "never-asked", "--json").problem["code"] == "not_found"


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["--privacy-intent", json.dumps({"content_contains": ["tea"]})], "staged"),
        (["--privacy-intent", json.dumps({"content_contains": ["mud"]})], "committed"),
        (["--trust", "untrusted"], "staged"),
        (["--trust", "trusted"], "committed"),
    ],
)
def test_a_request_can_ask_to_be_held(shell, options, status):
    assert shell.remember("Ana likes tea", *options)["status"] == status


def test_what_was_derived_is_believed_no_more_than_its_origin(shell):
    shell.remember("rumour", *HELD)
    assert shell("review", "approve", "--all", "--yes").code == 0
    (rumour,) = shell("list", "--json").json["items"]
    assert shell.remember("so it is said", "--derived-from", rumour["id"])["rule"] == "untrusted-source"


def test_all_that_waits_is_approved_recalls_and_changes_alike(shell, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nname = "reading"\nverdict = "hold"\noperation = ["recall"]\n')
    assert shell("policy", "set", str(rules)).code == 0
    change = shell.remember("Ana likes tea", "--approval-required")["proposal_id"]
    assert shell("recall", "what does Ana like?", "--json").problem["code"] == "approval_pending"
    done = shell("review", "approve", "--all", "--yes", "--json").json["decisions"]
    assert [one["state"] for one in done] == ["approved", "approved"]
    assert [one["proposal_ids"] == [change] for one in done] == [True, False]
    assert "Ana likes tea" in shell("recall", "what does Ana like?").out


def test_the_undo_that_a_decision_names_finds_the_change_of_whichever_agent(shell: Shell):
    first, _ = (
        shell.remember(f"held {agent}", "--approval-required", "--agent", agent)["proposal_id"]
        for agent in ("b", "c")
    )
    said = [shell("review", "approve", first).out, shell("review", "approve", "--all", "--yes").out]
    for agent, out in zip("bc", said, strict=True):
        _, _, typed = out.partition("undo with: memorywire ")
        assert typed.split()[2:] == ["--agent", agent]
        assert shell(*typed.split()).code == 0


def test_rules_of_an_earlier_edition_are_put_in_force_again(shell: Shell, tmp_path: Path):
    rules, none = tmp_path / "rules.toml", tmp_path / "none.toml"
    rules.write_text('[[rule]]\nname = "salaries"\nverdict = "hold"\ncontent_contains = ["salary"]\n')
    none.write_text("")
    for file in (rules, none):
        shell("policy", "set", str(file), "--none")
    rows = shell("policy", "editions").out.splitlines()
    assert [row.split()[0] for row in rows[1:3]] == ["2", "1"]
    again = shell("policy", "restore", "1", "--json").json
    assert (again["edition"], [rule["name"] for rule in again["given"]]) == (3, ["salaries"])
    assert shell("policy", "restore", "9", "--json").problem["code"] == "not_found"


def test_what_waits_for_one_folder_is_never_written_into_another(shell: Shell, tmp_path: Path):
    here, there = (f"markdown://{tmp_path}/{name}" for name in ("here", "there"))
    shell("remember", "Ana moved", "--source", "web:x.example", "--store", here)
    shell("remember", "Ben stayed", "--store", there)
    assert len([*(shell.home / "journals").glob("markdown-*.db")]) == 2
    shell("review", "approve", "--all", "--yes", "--store", there)
    held = shell("review", "list", "--store", here, "--json").json["items"]
    assert len(held) == 1
    shell("review", "approve", "--all", "--yes", "--store", here)
    said = [shell("list", "--store", store, "--json").json["items"] for store in (here, there)]
    assert [[item["content"] for item in items] for items in said] == [["Ana moved"], ["Ben stayed"]]


def test_a_journal_that_all_stores_shared_stays_in_use(shell: Shell, tmp_path: Path):
    shared, store = shell.home / "journal.db", f"markdown://{tmp_path}/notes"
    asked = ("remember", "Ana moved", "--source", "web:x.example", "--store", store)
    shell(*asked, MEMORYWIRE_JOURNAL=f"sqlite://{shared}")
    assert len(shell("review", "list", "--store", store, "--json").json["items"]) == 1
    assert not (shell.home / "journals").exists()


def test_the_undo_that_a_key_of_a_user_names_finds_it(shell: Shell):
    said = shell("kv", "set", "colour", "red", "--of", "user", "--user", "ana").out
    _, _, typed = said.partition("undo with: memorywire ")
    assert typed.split()[2:] == ["--user", "ana", "--agent", "kv:user"]
    assert shell(*typed.split()).code == 0


def test_the_queue_counts_the_reviewers_who_approved(shell, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text(
        '[[rule]]\nname = "money"\nverdict = "hold"\nreviewers = 2\ncontent_contains = ["invoice"]\n',
        encoding="utf-8",
    )
    assert shell("policy", "set", str(rules)).code == 0
    assert "2 reviewers" in shell("policy", "show").out
    shell("remember", "The invoice is paid")
    (one,) = waiting(shell)
    assert "0 of 2 The invoice is paid" in shell("review", "list").out
    first = shell("review", "approve", one["id"], "--reason", "I saw it")
    assert (first.code, "waits: 1 of 2 approved" in first.out) == (0, True)
    assert "1 of 2 The invoice is paid" in shell("review", "list").out
    page = shell("review", "show", one["id"]).out
    assert "approved by person:local" in page
    assert "1 of 2 people have approved it" in page
    again = shell("review", "approve", one["id"], "--json")
    assert (again.problem["code"], again.problem["field"]) == ("conflict", "proposal_ids")
    assert "no memories" in shell("list").out or not shell("list", "--json").json["items"]
