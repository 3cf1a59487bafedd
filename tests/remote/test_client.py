"""The typed client: what it answers is what the store next door answers."""

import asyncio
import os
import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from memorywire.cli.command import COMMANDS
from memorywire.client.remote import BlockingClient, Client
from memorywire.journal.acts import Act
from memorywire.model.change import Change, EndReason
from memorywire.model.errors import (
    CapabilityUnsupported,
    Conflict,
    InvalidRequest,
    MemorywireError,
    NotFound,
    StoreCorrupt,
    StoreUnavailable,
    Unauthenticated,
    UnknownOperation,
)
from memorywire.model.proposal import OutboxEntry
from memorywire.model.record import Scope
from memorywire.model.requests import Action, Strategy
from memorywire.sync import Memory as BlockingMemory
from tests.cli.shell import Shell
from tests.gates.source import ROOT
from tests.http.server import Server, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def test_every_verb_answers_as_memory_does(server: Server):
    with BlockingClient(server.client.url, "ana", user_id="u1") as memory:
        tea = memory.remember("Ana prefers green tea", tags=["drink"], metadata={"a": 1})
        cats = memory.remember("Ana has two cats", confidence=0.5)
        assert (tea.status.value, tea.version) == ("committed", 1)
        found = memory.recall("what tea does she like?", explain=True)
        assert found.verdict.value == "match"
        assert [hit.record.id for hit in found] == [tea.id]
        assert found.hits[0].record.scope.user == "u1"
        assert found.hits[0].signals
        record = memory.get(tea.id)
        assert (record.content, record.tags) == ("Ana prefers green tea", ("drink",))
        assert record.metadata["a"] == 1
        assert [one.id for one in memory.list()] == [tea.id, cats.id]
        assert memory.merge(tea.id, [cats.id]).strategy_used is Strategy.KEEP_CANONICAL
        assert memory.expire({"older_than_days": 9}, dry_run=True).action_taken is Action.FORGET
        gone = memory.forget(tea.id)
        assert gone.forgotten_ids == (tea.id,)
        assert gone.stores[0].count == 1
        assert gone.change_id is not None
        assert memory.undo(gone.change_id).restored_ids == (tea.id,)
        *_, first, second = memory.history(tea.id)
        assert (second.number, first.reason, second.reason) == (3, EndReason.FORGOTTEN, None)
        assert (first.ended_by, second.record and second.record.tags) == (gone.change_id, ("drink",))
        assert [change.operation for change in memory.changes(2)] == ["undo", "forget"]
        assert memory.changes()[1].scope == Scope(agent="ana", user="u1")
        (asked,) = memory.recalls().items
        assert (asked.recall_id, asked.scope.user) == (found.recall_id, "u1")
        (given,) = memory.why(found.recall_id).results
        assert (given.id, given.memory and given.memory.content) == (tea.id, "Ana prefers green tea")
        assert memory.call("capabilities", {})["spec"] == "v0"


def test_many_memories_go_in_each_with_its_receipt_or_problem(server: Server):
    asked = [
        "Bo has a dog",
        5,
        {"content": "Bo has a cat", "tag": []},
        "\ud800",
        "x" * 3_000_000,
        *map("Bo saw {}".format, range(40)),
    ]
    heard: list[int] = []
    with BlockingClient(server.client.url, "bo") as far, BlockingMemory("bo", "memory://") as near:
        told = [
            [one.problem() if isinstance(one, MemorywireError) else one.status for one in done]
            for done in (far.remember_many(asked, on_progress=heard.append), near.remember_many(asked))
        ]
        assert told[0] == told[1]
        assert (far.list().total, heard) == (41, [32, 45])


def test_what_waits_for_a_person_is_read_as_json(server: Server):
    with BlockingClient(server.client.url, "may") as memory:
        held = memory.remember("May likes tea", approval_required=True)
        with pytest.raises(CapabilityUnsupported) as caught:
            memory.proposals()
        assert caught.value.fix == 'use call("proposals", {...})'
        (waits,) = memory.call("proposals", {"agent_id": "may"})["items"]
        assert waits["id"] == held.proposal_id


def test_problems_are_the_errors_they_were(server: Server):
    with BlockingClient(server.client.url, "eve") as memory:
        with pytest.raises(NotFound):
            memory.get("nothing")
        with pytest.raises(InvalidRequest) as caught:
            memory.recall("tea", k=0)
        assert caught.value.field == "k"
        kept = memory.remember("Eve likes tea", id="e1")
        with pytest.raises(Conflict):
            memory.remember("Eve likes coffee", id=kept.id)
        with pytest.raises(UnknownOperation):
            memory.call("nonesuch", {})
        with pytest.raises(InvalidRequest):
            memory.call("../healthz", {})
        with pytest.raises(CapabilityUnsupported):
            memory.scan()


def test_a_token_opens_and_its_lack_does_not():
    with serving() as guarded:
        token = guarded.operator("ana").token
        with pytest.raises(Unauthenticated), BlockingClient(guarded.client.url) as memory:
            memory.recall("tea")
        with BlockingClient(guarded.client.url, token=token) as memory:
            assert not memory.recall("tea").hits


def test_an_address_says_which_tenant_a_token_of_several_asks_for(tmp_path: Path):
    with serving() as guarded:
        token = guarded.operator("both", tenants=("t1", "t2")).token
        url = guarded.client.url
        with BlockingClient(f"{url}?tenant=t1", token=token) as memory:
            memory.remember("Ana prefers tea")
            memory.kv.set("drink", "tea")
        with BlockingClient(f"{url}?tenant=t2", token=token, tenant="t1") as memory:
            assert [record.content for record in memory.list()][:1] == ["Ana prefers tea"]
        shell = Shell(tmp_path)
        said = {"MEMORYWIRE_URL": f"{url}?tenant=t2", "MEMORYWIRE_TOKEN": token or ""}
        assert "Ana" not in shell("list", **said).out
        assert shell("kv", "set", "drink", "coffee", "--of", "tenant", **said).code == 0
        assert "coffee" in shell("kv", "get", "drink", "--of", "tenant", **said).out
        assert shell("kv", "get", "drink", "--of", "tenant", "--tenant", "t1", **said).code == 3
        healthy = shell("doctor", "--url", said["MEMORYWIRE_URL"], "--json", **said)
        assert (healthy.code, healthy.json["server"]["ready"]) == (0, True)
        refused = shell("list", **{**said, "MEMORYWIRE_URL": url}, MEMORYWIRE_AGENT="a")
        assert (refused.code, "name a tenant of the token" in refused.err) == (3, True)


@pytest.mark.parametrize("url", [5, None, "", "localhost:8377", "ftp://host"])
def test_what_is_no_address_is_a_problem_before_anything_is_asked(url: Any):
    with pytest.raises(InvalidRequest, match="not the address of a memorywire"):
        BlockingClient(url, "ana")


def test_what_is_no_memorywire_is_said_to_be_none(server: Server):
    async def story() -> None:
        async with Client(f"{server.client.url}/docs") as memory:
            with pytest.raises((NotFound, StoreCorrupt)):
                await memory.recall("tea")
            await memory.close()
            with pytest.raises(StoreUnavailable):
                await memory.recall("tea")

    asyncio.run(story())


def test_the_command_line_asks_the_server_that_is_named(server: Server, tmp_path: Path):
    shell = Shell(tmp_path)
    said = {"MEMORYWIRE_URL": server.client.url, "MEMORYWIRE_AGENT": "cli"}
    kept = shell("remember", "Carla cycles to work", "--json", **said)
    assert kept.code == 0, kept.err
    found = shell("recall", "how does Carla travel?", "--json", **said)
    assert [hit["id"] for hit in found.json["results"]] == [kept.json["id"]]
    assert shell("list", **said).out.count("Carla cycles to work") == 1
    assert "memory.db" not in os.listdir(tmp_path)
    wrong = shell("get", "nothing", "--json", **said)
    assert (wrong.code, wrong.problem["code"]) == (3, "not_found")
    far = shell("scan", "--json", **said)
    assert (far.code, far.problem["code"]) == (3, "capability_unsupported")


NEEDS_THE_STORE = [
    *("audit export", "audit verify --contents", "audit checkpoint --rotate-key", "backends list"),
    *("backup {}/copy.db", "debts pay", "dream runs", "export {}/copy.mwb"),
    *("mcp", "operator list", "recover --source web:* --since 7d", "reembed --dry-run", "restore {}/copy.db"),
    *("scan", "webhook list"),
]


@pytest.mark.parametrize("typed", NEEDS_THE_STORE)
def test_a_verb_that_needs_the_store_does_not_take_the_one_next_to_it(
    server: Server, tmp_path: Path, typed: str
):
    shell, words = Shell(tmp_path / "home"), typed.format(tmp_path).split()
    done = shell(*words, "--json", MEMORYWIRE_URL=server.client.url)
    assert (done.code, done.problem["code"]) == (3, "capability_unsupported")
    assert done.problem["field"] == "store"
    assert not any(tmp_path.iterdir())
    near = shell(*words, "--json", "--store", "memory://", MEMORYWIRE_URL=server.client.url)
    assert "MEMORYWIRE_URL" not in near.err


def test_every_verb_has_its_place_in_the_table_of_what_a_server_can_be_asked():
    page = (ROOT / "docs" / "how-to" / "remote.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    known = {*COMMANDS, *(one.name for one in entry_points(group="memorywire.commands"))}
    assert sorted(verb for row in rows for verb in re.findall("`([a-z-]+)`", row)) == sorted(known)


def test_the_ledger_of_a_server_is_asked_on_the_command_line(tmp_path: Path):
    with serving(f"sqlite://{tmp_path}/far.db") as far:
        said = {"MEMORYWIRE_URL": far.client.url, "MEMORYWIRE_AGENT": "ana"}
        shell = Shell(tmp_path / "home")
        for tea in ("green", "black", "mint"):
            assert shell("remember", f"Ana likes {tea} tea", **said).code == 0
        newest, *_ = shell("audit", "log", "--json", **said).json["entries"]
        assert (newest["seq"], newest["agent"], newest["operation"]) == (3, "ana", "remember")
        [about] = shell("audit", "log", "--subject", newest["subject"], "--json", **said).json["entries"]
        assert about == newest
        assert shell("audit", "log", "--kind", "refused", "--json", **said).json["entries"] == []
        asked = ("audit", "log", "--limit", "1", "--operation", "remember", "--all-agents")
        further = shell(*asked, **said).out.splitlines()[-1].partition("memorywire ")[2].split()
        assert further == [
            *asked[:2],
            "--operation",
            "remember",
            "--all-agents",
            "--limit",
            "1",
            "--before",
            "3",
        ]
        kept = tmp_path / "kept.txt"
        kept.write_text(shell("audit", "checkpoint", **said).out, encoding="utf-8")
        sound = shell("audit", "verify", "--checkpoint", str(kept), "--json", **said).json
        assert (sound["ok"], sound["entries"], sound["exposed"], sound["unreadable"]) == (True, 3, 0, 0)
        proof = tmp_path / "proof.jsonl"
        assert shell("audit", "prove", "2", "--output", str(proof), **said).code == 0
        assert shell("audit", "verify", "--export", str(proof), "--key", sound["key"], **said).code == 0
        assert shell("audit", "prove", "9", "--json", **said).problem["code"] == "not_found"
        assert not (tmp_path / "home").exists()


def test_a_ledger_that_does_not_agree_with_what_was_kept_is_told_over_a_server(tmp_path: Path):
    with serving(f"sqlite://{tmp_path}/one.db") as one, BlockingClient(one.client.url) as memory:
        memory.remember("Ana likes tea")
        kept = memory.audit_checkpoint()
        assert memory.audit_verify(checkpoint=kept).report.ok
        for text in ("nothing of the kind", "origin\n5\nnothing\n"):
            with pytest.raises(InvalidRequest) as refused:
                memory.audit_verify(checkpoint=text)
            assert refused.value.field == "checkpoint"
    with serving(f"sqlite://{tmp_path}/two.db") as two, BlockingClient(two.client.url) as memory:
        memory.remember("Ana likes tea")
        found = memory.audit_verify(checkpoint=kept)
        assert not found.report.ok
        assert found.report.fault is not None


def test_where_mcp_is_served_is_said_without_the_token(tmp_path: Path):
    refused = Shell(tmp_path)("mcp", "--json", MEMORYWIRE_URL="https://mw_secret@far.example/?tenant=t1")
    assert "https://far.example/mcp (HTTP)" in refused.problem["fix"]
    assert "mw_secret" not in refused.err


def test_the_doctor_examines_the_server_that_is_named(server: Server, tmp_path: Path):
    shell = Shell(tmp_path / "home")
    address = server.client.url.replace("http://", "http://mw_secret@")
    done = shell("doctor", "--json", MEMORYWIRE_URL=server.client.url)
    assert (done.code, done.json["server"]["url"]) == (0, server.client.url)
    shown = shell("doctor", MEMORYWIRE_URL=address)
    assert (server.client.url in shown.out, "mw_secret" in shown.out + shown.err) == (True, False)
    near = shell("doctor", "--json", "--store", "memory://", MEMORYWIRE_URL=server.client.url)
    assert (near.code, near.json["stores"][0]["url"]) == (0, "memory://")
    refused = shell("doctor", "--json", MEMORYWIRE_URL="sqlite:///x.db")
    assert (refused.code, "not the address" in refused.problem["detail"]) == (2, True)


def test_a_server_is_not_told_what_time_it_is(server: Server, tmp_path: Path):
    asked = ("call", "list", '{"agent_id": "a"}', "--json")
    assert Shell(tmp_path)(*asked, MEMORYWIRE_URL=server.client.url).code == 0
    refused = Shell(tmp_path)(*asked, "--clock", "5", MEMORYWIRE_URL=server.client.url)
    assert (refused.code, refused.problem["field"]) == (3, "clock")


def test_the_server_is_asked_what_its_stores_are_owed(server: Server, tmp_path: Path):
    journal = server.container.journal
    assert journal is not None
    change = Change(id="owed-1", operation="forget", scope=Scope(agent="far"), at=1)
    server.run(journal.write(Act(outbox=(OutboxEntry(store="away", change=change, at=1),))))
    shell, said = Shell(tmp_path), {"MEMORYWIRE_URL": server.client.url}
    assert [debt["change_id"] for debt in shell("debts", "--json", **said).json["debts"]] == ["owed-1"]
    assert "owed-1" in shell("debts", **said).out
    assert shell("debts", "--json").json == {"debts": []}


def test_the_command_line_shows_its_token(tmp_path: Path):
    with serving() as guarded:
        token = guarded.operator("ana").token
        assert token is not None
        said = {"MEMORYWIRE_URL": guarded.client.url}
        shell = Shell(tmp_path)
        assert shell("recall", "tea", **said).code == 3
        assert shell("recall", "tea", **said, MEMORYWIRE_TOKEN=token).code == 0


def test_a_server_without_https_says_which_address_would_do(server: Server):
    away = server.client.url.replace("http://", "https://")
    with (
        BlockingClient(away, "ana") as memory,
        pytest.raises(StoreUnavailable, match="speak https") as refused,
    ):
        memory.list()
    assert "http://" in str(refused.value.fix)
