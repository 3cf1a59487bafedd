"""Taking a decision back, as it is typed."""

from tests.cli.shell import Shell


def test_a_decision_is_taken_back_and_made_again(shell: Shell):
    held = shell.remember("Ana likes tea", "--approval-required")["proposal_id"]
    shell("review", "approve", held)
    assert shell("list", "--json").json["total"] == 1
    done = shell("review", "reopen", held, "--reason", "too soon", "--json")
    assert done.json["state"] == "pending"
    assert shell("list", "--json").json["total"] == 0
    assert [item["id"] for item in shell("review", "list", "--json").json["items"]] == [held]
    assert shell("review", "reopen", held, "--json").problem["code"] == "conflict"
    assert shell("review", "approve", held, "--json").json["state"] == "approved"
