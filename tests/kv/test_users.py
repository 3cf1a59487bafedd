"""The memory of one user: its keys are asked for by whose they are, through every door."""

import pytest

from memorywire.client.remote import BlockingClient
from memorywire.model.errors import InvalidRequest
from memorywire.sync import Memory
from tests.engine.quick import Quick
from tests.http.server import serving


def _says_whose(memory: "Memory | BlockingClient") -> None:
    for asked in (
        lambda: memory.kv.set("phone", 4711),
        lambda: memory.kv.get("phone"),
        lambda: memory.kv.list(),
        lambda: memory.kv.set_many({"phone": 4711}),
    ):
        with pytest.raises(InvalidRequest, match="memory of one user") as refused:
            asked()
        assert refused.value.field == "user_id"
        assert "kv.of('user', 'ana')" in str(refused.value.fix)
    memory.kv.of("user", "ana").set("phone", 4711)
    assert memory.kv.of("agent", "bot").get("phone") is None
    kept = memory.kv.of("user", "ana").get("phone")
    assert kept is not None
    assert kept.value == 4711


def test_the_memory_of_one_user_does_not_hand_out_the_keys_of_all() -> None:
    with Memory("bot", ["memory://"], user_id="ana", embedder=Quick()) as memory:
        _says_whose(memory)


def test_a_client_of_one_user_says_whose_keys_too() -> None:
    with serving() as server, BlockingClient(server.client.url, "bot", user_id="ana") as memory:
        _says_whose(memory)
