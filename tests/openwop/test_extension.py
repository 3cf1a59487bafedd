"""What this host adds to OpenWOP: it is named in the discovery document, and does what is claimed there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.openwop.stage import EXTENSION, Stage, good, hosting, refused


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with hosting(tmp_path_factory.mktemp("openwop"), testing=False) as running:
        yield running


def test_every_operation_of_the_extension_is_named_with_its_path(stage: Stage) -> None:
    document = good(stage.mine.get("/.well-known/openwop"))
    named = {name: value for name, value in document.items() if name.startswith("x-host-memorywire-memory-")}
    assert {name.rsplit("-", 1)[1]: (one["method"], one["path"]) for name, one in named.items()} == {
        "query": ("GET", f"{EXTENSION}/memory/{{memoryRef}}"),
        "adapter": ("POST", f"{EXTENSION}/runs/{{runId}}/memory/{{list|get|put|delete}}"),
        "search": ("POST", f"{EXTENSION}/runs/{{runId}}/memory/search"),
        "forget": ("POST", f"{EXTENSION}/memory/forget"),
    }
    assert document["memory"]["search"] == {"supported": True, "modes": ["semantic", "filter"]}
    assert document["memory"]["retention"]["forget"] is True
    refused(stage.mine.get("/v1/memory/any"), 404, "not_found")


def test_a_store_without_a_past_names_only_what_it_serves(tmp_path: Path) -> None:
    with hosting(tmp_path, store=f"markdown://{tmp_path}/notes", testing=False) as stage:
        document = good(stage.mine.get("/.well-known/openwop"))
        good(stage.mine.get(f"{EXTENSION}/memory/any"))
    named = {name.rsplit("-", 1)[1] for name in document if name.startswith("x-host-")}
    assert named == {"query", "forget"}


def test_a_search_answers_from_the_snapshot_of_the_run(stage: Stage) -> None:
    ref = stage.ref()
    first = stage.session(ref)
    tea = first.put(ref, "Ana drinks green tea for breakfast", tags=["food"])
    first.put(ref, "The office is closed on Sunday", tags=["work"])
    run = stage.session(ref)
    first.delete(ref, tea["id"])
    first.put(ref, "Ana drinks black coffee for breakfast", tags=["food"])
    question = {"query": "What does Ana drink for breakfast?"}
    assert good(run.ask("search", ref, **question))["entries"] == [tea]
    later = good(stage.session(ref).ask("search", ref, **question))["entries"]
    assert [one["content"] for one in later] == ["Ana drinks black coffee for breakfast"]
    assert good(run.ask("search", ref, query="How far is the moon?"))["entries"] == []


def test_a_search_by_filter_gives_what_matches_in_the_snapshot_newest_first(stage: Stage) -> None:
    ref = stage.ref()
    run = stage.session(ref)
    kept = [run.put(ref, f"Note {number} about gardens", tags=["garden"]) for number in range(3)]
    run.put(ref, "Ana has a cat", tags=["pets"])
    later = stage.session(ref)
    found = good(later.ask("search", ref, filter={"tags": "garden"}, limit=2))["entries"]
    assert found == [kept[2], kept[1]]
    both = good(later.ask("search", ref, filter={"tags": "pets"}, query="Which animal does Ana have?"))
    assert [one["content"] for one in both["entries"]] == ["Ana has a cat"]


def test_a_replay_is_refused_once_what_a_search_showed_is_erased(stage: Stage) -> None:
    ref = "chess-club"
    kept = stage.session(ref).put(ref, "Ben plays chess on Mondays")
    run = stage.session(ref)
    assert good(run.ask("search", ref, query="What does Ben play?"))["entries"] == [kept]
    run.complete()
    good(run.fork(), 201)
    good(stage.mine.post("/v0/forget", {"agent_id": ref, "ids": [kept["id"]], "hard_delete": True}))
    refused(run.fork(), 422, "replay_memory_snapshot_unavailable")


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": 7}, "query"),
        ({"filter": "tags"}, "filter"),
        ({"filter": {"tags": {"like": "x"}}}, "filter.tags.like"),
        ({"query": "x", "limit": 0}, "limit"),
    ],
)
def test_a_search_that_cannot_be_understood_is_refused(asked: dict[str, object], field: str, stage: Stage):
    ref = stage.ref()
    reply = stage.session(ref).ask("search", ref, **asked)
    refused(reply, 400, "validation_error")
    assert reply.json["details"]["field"] == field


def test_nothing_of_another_tenant_is_found(stage: Stage) -> None:
    theirs = stage.ref("umbrella")
    stage.session(theirs, client=stage.theirs).put(theirs, "The vault opens at nine")
    run = stage.session(theirs)
    assert good(run.ask("search", theirs, query="When does the vault open?"))["entries"] == []


def test_a_person_is_forgotten_by_subject_with_every_agent_of_the_tenant_and_no_other(stage: Stage) -> None:
    for agent in ("clerk", "cook"):
        stage.mine.remember("Eve likes cheese", agent=agent, user_id="eve")
    stage.mine.remember("Ben likes cheese", agent="cook", user_id="ben")
    stage.theirs.remember("Eve likes cheese", agent="clerk", user_id="eve")
    refused(stage.mine.post(f"{EXTENSION}/memory/forget", {}), 400, "validation_error")
    wider = stage.mine.post(f"{EXTENSION}/memory/forget", {"subject": "eve", "all": 1})
    refused(wider, 400, "validation_error")
    clerk = stage.server.operator("forget-clerk", role="writer", tenants=["acme"])
    refused(clerk.post(f"{EXTENSION}/memory/forget", {"subject": "eve"}), 403, "forbidden")
    planned = good(stage.mine.post(f"{EXTENSION}/memory/forget", {"subject": "eve", "dryRun": True}))
    assert (planned["forgotten"], planned["subjectRemoved"]) == (2, False)
    done = good(stage.mine.post(f"{EXTENSION}/memory/forget", {"subject": "eve"}))
    assert done == {"forgotten": 2, "waiting": 0, "subjectRemoved": True, "dryRun": False}
    assert stage.mine.get("/v0/memories", agent_id="clerk").json["total"] == 0
    assert stage.mine.get("/v0/memories", agent_id="cook").json["total"] == 1
    assert stage.theirs.get("/v0/memories", agent_id="clerk").json["total"] == 1


def test_an_entry_that_brings_an_id_and_a_time_gets_those_of_the_host(stage: Stage) -> None:
    ref = stage.ref()
    entry = {"id": "mine", "createdAt": "2001-01-01T00:00:00Z", "content": "Eve has a boat"}
    kept = good(stage.session(ref).ask("put", ref, entry=entry))["entry"]
    assert kept["id"] != "mine"
    assert kept["createdAt"] > "2020"
    assert stage.session(ref).list(ref) == [kept]


def test_an_expiry_survives_a_revision_that_does_not_name_it(stage: Stage) -> None:
    ref = "house-keeper"
    kept = stage.session(ref).put(ref, "The key is under the mat", expiresAt="2090-01-01T00:00:00.000Z")
    revision = {"content": "The key is with Ben", "id": kept["id"], "if_version": 1}
    assert stage.mine.remember(agent=ref, **revision)["version"] == 2
    (entry,) = stage.session(ref).list(ref)
    assert (entry["content"], entry["expiresAt"]) == ("The key is with Ben", kept["expiresAt"])
