"""Requirements that a conversation in JSON cannot show: files, failures, the form of ids."""

import asyncio
import uuid
from pathlib import Path
from typing import Any

import pytest

from memorywire import Memory
from memorywire.model.answers import Remembered, Status
from memorywire.model.errors import StoreError

from .schemas import faults

FACT = {"agent_id": "agent", "type": "semantic", "content": "The vault opens with xylophone quagmire."}


async def _told(url: str, *steps: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    async with Memory(stores=[url]) as memory:
        return [await memory.call(operation, payload) for operation, payload in steps]


def test_minted_ids_are_uuids_of_version_7() -> None:
    """Proves ID-1."""
    note = {"agent_id": "agent", "type": "semantic"}
    receipts = asyncio.run(
        _told("memory://", *(("remember", note | {"content": f"note {n}"}) for n in range(20)))
    )
    ids = [receipt["id"] for receipt in receipts]
    assert {uuid.UUID(id).version for id in ids} == {7}
    assert ids == sorted(ids)


@pytest.mark.parametrize("url", ["memory://", "sqlite://"])
def test_capabilities_say_what_is_wired(url: str) -> None:
    """Proves CP-3."""
    (answer,) = asyncio.run(_told(url, ("capabilities", {})))
    assert faults("capabilities.response", answer) == []
    assert [store["name"] for store in answer["stores"]] == [url.removesuffix("://")]
    assert {"remember", "recall", "forget", "merge", "expire"} <= set(answer["operations"])
    assert answer["types"] == ["semantic", "episodic", "procedural", "emotional"]
    assert set(answer["features"]) == set(answer["stores"][0]["features"])


def _bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())


def test_nothing_of_an_erased_memory_stays_in_the_files(tmp_path: Path) -> None:
    """Proves FG-8."""
    url = f"sqlite:///{tmp_path}/memories.db"
    secret = FACT | {"id": "m1", "metadata": {"hint": "marzipan"}, "tags": ["kumquat"]}
    asyncio.run(_told(url, ("remember", secret), ("recall", {"agent_id": "agent", "query": "the vault"})))
    traces = (b"xylophone", b"quagmire", b"marzipan", b"kumquat")
    assert all(trace in _bytes(tmp_path) for trace in traces)
    asyncio.run(_told(url, ("forget", {"agent_id": "agent", "ids": ["m1"], "hard_delete": True})))
    assert not any(trace in _bytes(tmp_path) for trace in traces)


def test_a_store_that_cannot_answer_gives_a_problem_and_no_receipt(tmp_path: Path) -> None:
    """Proves RP-4."""
    (tmp_path / "in_the_way").write_text("a file where a folder should be")
    with pytest.raises(StoreError) as caught:
        asyncio.run(_told(f"sqlite:///{tmp_path}/in_the_way/memories.db", ("remember", FACT)))
    assert faults("problem", caught.value.problem()) == []


def test_a_change_that_no_store_could_take_is_deferred_and_delivered_later(tmp_path: Path) -> None:
    """Proves RP-5."""
    journal = f"sqlite://{tmp_path}/journal.db"

    async def remember() -> Remembered:
        away = ["http://127.0.0.1:9#a", "http://127.0.0.1:9/other#b"]
        async with Memory("agent", away, journal=journal) as memory:
            return await memory.remember("the vault opens at nine")

    async def deliver(id: str) -> object:
        back = [f"markdown://{tmp_path}/a#a", f"markdown://{tmp_path}/b#b"]
        async with Memory("agent", back, journal=journal) as memory:
            assert await memory.pay_debts()
            assert await memory.debts() == ()
            return (await memory.get(id)).content

    receipt = asyncio.run(remember())
    assert (receipt.status, receipt.stores, receipt.degraded) == (Status.DEFERRED, (), ("a", "b"))
    assert all(outcome.error for outcome in receipt.outcomes)
    assert asyncio.run(deliver(receipt.id)) == "the vault opens at nine"
