"""Conversations over real HTTP, read by a model that is another server: accepted at once, read later."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Shell
from tests.http.server import Client, at
from tests.http.test_command import started
from tests.layer.endpoint import Model, serving

_ADD = {"agent_id": "a", "messages": [{"role": "user", "content": "I am Ana, from Lisbon."}]}
_ASK = {"agent_id": "a", "query": "where is Ana from?"}
_ASK_FACTS = {**_ASK, "sources": ["fact"]}
_HOLD = 'profile = "open"\n[[rule]]\nname = "look"\nverdict = "hold"\nsource = ["extractor:*"]\n'


class Reading(Shell):
    """A home where a model reads conversations."""

    def __init__(self, home: Path, model: Model, dialect: str, policy: str = "open") -> None:
        super().__init__(home)
        self._given = {
            "MEMORYWIRE_EXTRACTOR": f"{dialect}+http://127.0.0.1:{model.port}/v1?model=small",
            "MEMORYWIRE_EXTRACTOR_KEY": "sk-test",
            "MEMORYWIRE_POLICY": policy,
        }

    def environment(self, **variables: str) -> dict[str, str]:
        return super().environment(**self._given, **variables)


def _polled(client: Client, event: str, status: str) -> dict[str, Any]:
    while True:
        told: dict[str, Any] = client.get(at("layer", "events", event)).json
        if told["status"] != "pending":
            assert told["status"] == status, told
            return told
        time.sleep(0.05)


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_server_that_is_killed_after_it_accepted_reads_when_it_is_back(
    dialect: str, tmp_path: Path
) -> None:
    with serving(Model(facts=["Ana is from Lisbon."], status=503)) as model:
        shell = Reading(tmp_path, model, dialect)
        with started(shell) as (client, process):
            added = client.post("/v0/layer/add", _ADD)
            assert (added.status, added.json["status"]) == (202, "pending")
            assert client.post("/v0/layer/recall", _ASK_FACTS).json["facts"] == []
            process.kill()
        model.status = 200
        with started(shell) as (client, _):
            told = _polled(client, added.json["event_id"], "done")
            (fact,) = client.post("/v0/layer/recall", _ASK_FACTS).json["facts"]
            assert (fact["memory"], [fact["id"]]) == ("Ana is from Lisbon.", told["memories"])


def test_what_a_model_read_waits_for_a_person_where_the_policy_says_so(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(_HOLD, encoding="utf-8")
    with serving(Model(facts=["Ana is from Lisbon."])) as model:
        shell = Reading(tmp_path, model, "openai", str(policy))
        with started(shell) as (client, _):
            added = client.post("/v0/layer/add", _ADD).json
            told = _polled(client, added["event_id"], "done")
            assert (told["memories"], len(told["held"])) == ([], 1)
            assert client.post("/v0/layer/recall", _ASK_FACTS).json["facts"] == []
            decided = client.post("/v0/decide", {"proposal_ids": told["held"], "verb": "approve"})
            assert decided.status == 200
            (fact,) = client.post("/v0/layer/recall", _ASK_FACTS).json["facts"]
            assert fact["memory"] == "Ana is from Lisbon."
