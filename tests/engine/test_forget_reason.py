"""The reason of a forget is kept without secrets, whether it is carried out or waits for a person."""

import asyncio
from pathlib import Path

import pytest

from memorywire import Memory

TOKEN = "ghp_" + "a8F3kLm29QzXw7RtYv5BnC1dEs4HjP6uIo0G"


@pytest.mark.parametrize("policy", ["open", "balanced"])
def test_a_secret_in_the_reason_of_a_forget_is_not_kept(tmp_path: Path, policy: str) -> None:
    async def run() -> bool:
        async with Memory("agent", f"sqlite:///{tmp_path}/m.db", policy=policy, caller="agent:ana") as memory:
            await memory.remember("Ana likes tea.")
            receipt = await memory.forget(filter={"type": "semantic"}, reason=f"token {TOKEN} leaked")
        return receipt.pending_approval

    assert asyncio.run(run()) is (policy == "balanced")
    assert not [file for file in tmp_path.iterdir() if TOKEN.encode() in file.read_bytes()]
