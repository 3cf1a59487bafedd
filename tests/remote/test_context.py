"""Contexts and profiles of a server, by its client."""

from memorywire.client.remote import BlockingClient
from tests.http.server import serving


def test_a_server_gives_contexts_and_profiles() -> None:
    fact = "The user is allergic to peanuts."
    with serving() as far, BlockingClient(far.client.url, "assistant", user_id="ana") as memory:
        memory.remember(fact, kind="constraint", slot="allergy")
        block = memory.context("Which snacks can I eat?")
        assert [line.content for line in block] == [fact]
        assert fact in block.text
        [slot] = memory.profile()
        assert (slot.slot, slot.values[0].content) == ("allergy", fact)
