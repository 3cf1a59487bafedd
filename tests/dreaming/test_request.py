"""A consolidation run as a request: in the SDK, over HTTP and in the console."""

from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.model.errors import InvalidRequest, Refused
from memorywire.sync import Memory as Blocking
from tests.engine.stage import STORES, HandClock, play
from tests.http.server import serving


@pytest.mark.parametrize("url", STORES)
def test_a_dream_gives_the_run_its_steps_and_the_rules_of_the_session(url: str):
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.remember("Ana lives in Graz.", id="graz")
        clock.pass_days(1)
        await memory.remember("Ana lives in Linz.", id="linz")
        await memory.remember("Always run the tests before you push", tags=["do"], id="rule")
        rehearsal = await memory.dream(dry_run=True)
        assert (rehearsal.result.value, rehearsal.run, len(rehearsal.steps)) == ("rehearsed", None, 1)
        assert (await memory.list()).total == 3
        run = await memory.dream()
        assert [step["ids"] for step in run.steps] == [["graz"]]
        assert [(rule.id, rule.content) for rule in run.rules.do] == [
            ("rule", "Always run the tests before you push")
        ]
        assert (run.rules.know, run.rules.blacklist) == ((), ())
        assert (await memory.list()).total == 2
        again = await memory.dream()
        assert (again.result.value, again.steps, again.rules) == ("calm", (), run.rules)
        await memory.undo(run.run or "")
        assert (await memory.get("graz")).content == "Ana lives in Graz."

    play(url, story)


def test_an_agent_does_not_dream_and_a_wrong_field_is_named(tmp_path: Path):
    url = f"sqlite://{tmp_path}/memory.db"
    with Blocking("agent", url, policy="open", caller="agent:agent") as memory, pytest.raises(Refused):
        memory.dream()
    with Blocking("agent", url, policy="open") as memory, pytest.raises(InvalidRequest) as refusal:
        memory.dream(dry_run="yes")
    assert refusal.value.field == "dry_run"


def test_over_http_only_who_manages_dreams():
    with serving() as server:
        admin = server.operator("boss", role="admin")
        for id, content in (("graz", "Ana lives in Graz."), ("linz", "Ana lives in Linz.")):
            payload = {"agent_id": "a", "type": "semantic", "content": content, "id": id}
            assert admin.post("/v0/remember", payload).status == 200
        for role in ("reader", "writer", "reviewer", "agent"):
            assert server.operator(role, role=role).post("/v0/dream", {"agent_id": "a"}).status == 403
        limited = server.operator("limited", role="admin", agents=("b",))
        assert limited.post("/v0/dream", {"agent_id": "a"}).status == 403
        refusal = admin.post("/v0/dream", {})
        assert (refusal.status, refusal.json["field"]) == (422, "agent_id")
        answer = admin.post("/v0/dream", {"agent_id": "a", "dry_run": True}).json
        assert answer["memories"] == 2
        assert answer["rules"] == {"know": [], "do": [], "blacklist": []}
