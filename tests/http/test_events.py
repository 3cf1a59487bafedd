"""Events: what was committed is told in order, without content, from any place, to those it concerns."""

import asyncio
import json
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Any

import pytest

from memorywire import Memory
from memorywire.client.events import Feed
from memorywire_server.http.endpoint import Limits
from tests.http.server import Client, Server, serving


class Stream:
    """An open stream, event by event."""

    def __init__(self, client: Client, after: int | None = None, **headers: str) -> None:
        self._connection = client.connect()
        said = {**client.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if client.token:
            said["Authorization"] = f"Bearer {client.token}"
        self._connection.request(
            "GET", "/v0/events" + ("" if after is None else f"?after={after}"), headers=said
        )
        self.reply: HTTPResponse = self._connection.getresponse()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Until the server ends the stream."""
        event: dict[str, Any] = {}
        for line in self.reply:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "data":
                yield {**json.loads(value), "told": event}
            elif name in ("id", "event"):
                event = {**event, name: value}

    def take(self, count: int) -> list[dict[str, Any]]:
        told = iter(self)
        return [next(told) for _ in range(count)]

    def close(self) -> None:
        self._connection.close()


def test_changes_are_told_in_order_and_without_content(client: Client):
    stream = Stream(client, after=0)
    assert stream.reply.getheader("content-type", "").startswith("text/event-stream")
    receipts = [client.remember(f"the sealed word number {number}", tags=["hidden"]) for number in range(3)]
    client.post("/v0/recall", {"agent_id": "a", "query": "sealed word"})
    gone = client.post("/v0/forget", {"agent_id": "a", "ids": [receipts[0]["id"]]}).json
    told = stream.take(4)
    stream.close()
    assert [event["subject"] for event in told] == [one["change_id"] for one in (*receipts, gone)]
    assert [event["operation"] for event in told] == ["remember"] * 3 + ["forget"]
    assert told[0]["memories"] == told[3]["memories"] == [receipts[0]["id"]]
    assert told[0]["told"] == {"id": str(told[0]["id"]), "event": "committed"}
    assert "sealed word" not in json.dumps(told)
    assert "hidden" not in json.dumps(told)


def test_a_stream_goes_on_where_it_broke_off(client: Client):
    receipts = [client.remember(f"event {number} of five", agent="resuming") for number in range(5)]
    first = Stream(client, after=0)
    seen = next(event for event in first if event["subject"] == receipts[1]["change_id"])
    first.close()
    by_header = Stream(client, Last_Event_ID=str(seen["id"]))
    by_query = Stream(client, after=seen["id"])
    wanted = [one["change_id"] for one in receipts[2:]]
    assert [event["subject"] for event in by_header.take(3)] == wanted
    assert [event["subject"] for event in by_query.take(3)] == wanted
    by_header.close()
    by_query.close()


def test_without_a_place_only_what_is_new_is_told(client: Client):
    client.remember("long past", agent="past")
    stream = Stream(client)
    stream.reply.readline()  # the stream has begun
    receipt = client.remember("just now", agent="present")
    assert stream.take(1)[0]["subject"] == receipt["change_id"]
    stream.close()


@pytest.mark.parametrize("query", ["after=x", "after=-1", "before=1", "after=" + "9" * 30])
def test_a_place_that_is_none_is_refused(client: Client, query: str):
    assert client.send("GET", f"/v0/events?{query}").status == 422


def test_each_hears_only_of_their_own(tmp_path):
    with serving(f"sqlite://{tmp_path}/memory.db") as server:
        acme, umbrella = (server.operator(name, tenants=[name]) for name in ("acme", "umbrella"))
        limited = server.operator("limited", "reader", tenants=["acme"], agents=["mine"])
        mine = acme.remember("of acme", agent="mine")
        other = acme.remember("of acme, too", agent="other")
        umbrella.remember("of umbrella", agent="mine")
        last = acme.remember("the last", agent="mine")
        streams = [Stream(client, after=0) for client in (acme, limited)]
        assert [event["subject"] for event in streams[0].take(3)] == [
            one["change_id"] for one in (mine, other, last)
        ]
        assert [event["subject"] for event in streams[1].take(2)] == [
            one["change_id"] for one in (mine, last)
        ]
        for stream in streams:
            stream.close()


def test_a_revoked_token_ends_its_streams():
    with serving() as server:
        client = server.operator("listener", "reader")
        stream = Stream(client, after=0)
        stream.reply.readline()
        server.run(server.registry.revoke("listener"))
        assert [event for event in stream if event["operation"] != "operator"] == []  # it ends


def test_the_end_of_the_server_ends_the_streams(tmp_path):
    with serving(f"sqlite://{tmp_path}/memory.db") as server:
        stream = Stream(server.client, after=0)
        stream.reply.readline()
        server.end()
        assert list(stream) == []


def test_there_is_an_end_to_how_many_listen():
    with serving(limits=Limits(streams=1, rate=1e6)) as server:
        first = Stream(server.client)
        first.reply.readline()
        second = Stream(server.client)
        assert (second.reply.status, second.reply.getheader("retry-after")) == (503, "5")
        assert server.client.get("/v0/capabilities").status == 200
        first.close()


def test_a_program_hears_the_same_without_a_server(server: Server):
    receipt = server.client.remember("for the feed", agent="feed")

    async def heard() -> str | None:
        async for event in Feed(server.container).listen(0, tenant="default", agents=("feed",)):
            return event.subject
        return None

    assert server.run(heard()) == receipt["change_id"]


def test_an_agents_memory_in_python_tells_of_itself(tmp_path):
    async def story() -> tuple[list[str | None], list[str | None]]:
        async with Memory("ana", f"sqlite://{tmp_path}/memory.db", policy="open") as memory:
            first = await memory.remember("Ana prefers green tea")
            async with Memory("ben", f"sqlite://{tmp_path}/memory.db", policy="open") as other:
                await other.remember("Ben prefers coffee")
            second = await memory.forget(first.id)
            heard: list[str | None] = []
            async for event in memory.events(after=0):
                heard.append(event.subject)
                if event.subject == second.change_id:
                    return heard, [first.change_id, second.change_id]
        raise AssertionError("a stream of events has no end")

    heard, expected = asyncio.run(story())
    assert heard == expected


def test_held_changes_and_decisions_are_told():
    with serving(policy="balanced") as server:
        held = server.client.remember("wait for me", approval_required=True)
        server.client.post("/v0/decide", {"proposal_ids": [held["proposal_id"]], "verb": "approve"})
        stream = Stream(server.client, after=0)
        told = stream.take(3)
        stream.close()
        assert [event["kind"] for event in told] == ["staged", "committed", "approved"]
        assert "wait for me" not in json.dumps(told)
