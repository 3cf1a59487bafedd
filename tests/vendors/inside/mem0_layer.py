"""The other contracts on the real mem0: keys, and conversations that mem0 reads itself."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from memorywire import Memory
from memorywire.model.answers import Status, Verdict
from memorywire.model.errors import SecretLeakage
from memorywire.model.layer import Event, EventState, Kind
from tests.vendors.inside.mem0 import _a_language_model

_SAID = [{"role": "user", "content": "I only drink gyokuro, the green one."}]
_HOLD = 'profile = "open"\n[[rule]]\nname = "look"\nverdict = "hold"\nsource = ["extractor:*"]\n'
_TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def _memory(folder: Path, address: str, policy: str = "open") -> Memory:
    llm = {"model": "scripted", "openai_base_url": address, "api_key": "none"}
    (folder / "mem0.json").write_text(json.dumps({"llm": {"provider": "openai", "config": llm}}))
    url = f"mem0://{folder}/kept?config={folder}/mem0.json"
    return Memory("agent", [url], user_id="ana", policy=policy, journal=f"sqlite://{folder}/journal.db")


async def _read(memory: Memory, said: Sequence[dict[str, str]]) -> Event:
    event = await memory.layer.add(said)
    assert event.state is EventState.PENDING
    while event.state is EventState.PENDING:
        await asyncio.sleep(0.01)
        event = await memory.layer.event(event.id)
    assert event.state is EventState.DONE, event.error
    return event


async def what_mem0_reads_out_of_a_conversation_is_remembered_under_our_id(folder: Path) -> None:
    with _a_language_model() as address:
        async with _memory(folder, address) as memory:
            assert (await memory.capabilities()).extracts
            event = await _read(memory, _SAID)
            found = await memory.layer.recall("what does Ana like to drink?")
            assert (found.verdict, [fact.memory for fact in found]) == (
                Verdict.MATCH,
                ["Ana likes green tea"],
            )
            assert ([fact.id for fact in found], found.facts[0].kind) == (list(event.memories), Kind.FACT)
            record = await memory.get(event.memories[0])
            assert (record.source, record.scope.user) == ("extractor:store", "ana")
            assert len((await memory.list()).items) == 1
            await _read(memory, _SAID)
            assert len((await memory.list()).items) == 1
            memory.user_id = "ben"
            assert (await memory.layer.recall("what does Ana like to drink?")).facts == ()


async def what_mem0_reads_waits_for_a_person_where_the_policy_says_so(folder: Path) -> None:
    policy = folder / "policy.toml"
    policy.write_text(_HOLD)
    with _a_language_model() as address:
        async with _memory(folder, address, str(policy)) as memory:
            event = await _read(memory, _SAID)
            assert (event.memories, len(event.held)) == ((), 1)
            assert (await memory.list()).items == ()
            await memory.decide(event.held, "approve")
            assert [record.content for record in await memory.list()] == ["Ana likes green tea"]


async def a_value_under_a_key_is_faithful_and_has_an_end(folder: Path) -> None:
    async with _memory(folder, "http://127.0.0.1:9") as memory:
        kv = memory.kv.of("agent", "agent")
        value = {"a": [1, None, 1.5, "ä"], "": {}}
        assert (await kv.set("k", value)).status is Status.COMMITTED
        await kv.set("k2", "Ana likes green tea", embed=True, ttl=60)
        (one, two) = (await kv.list()).entries
        assert (one.value, two.expires_at is None) == (value, False)
        assert [match.entry.key for match in await kv.search("green tea", top_k=1)] == ["k2"]
        try:
            await kv.set("k", _TOKEN)
        except SecretLeakage:
            pass
        else:
            raise AssertionError("a secret was kept")
        assert (await kv.incr("n", 2)).value == 2
        assert (await kv.incr("n", 2)).value == 4
        assert (await kv.delete("k")).existed
        assert await kv.get("k") is None
        await kv.set("k", 7)
        found = await kv.get("k")
        assert found is not None
        assert found.value == 7
