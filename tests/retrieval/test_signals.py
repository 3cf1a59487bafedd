"""What `explain` shows is told in the documents, signal by signal."""

import re
from pathlib import Path

import pytest

from memorywire.model.clock import DAY_MS
from tests.engine.stage import STORES, play

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "recall.md"
SIGNALS = PAGE.read_text(encoding="utf-8").partition("| signal |")[2]
TOLD = {
    name for row in re.findall(r"^\| (`.*?`) \|", SIGNALS, re.M) for name in re.findall(r"`([^`]+)`", row)
}


async def a_conversation(memory, clock):
    """Two sessions about a boat, told by two people and an assistant, a question, and some facts."""
    turns = [
        ("one", "user", "Mel", "I bought a red boat in the harbour of Porto"),
        ("one", "assistant", None, "A red boat! What did the boat cost?"),
        ("one", "user", "Mel", "Nine thousand"),
        ("two", "user", "Caro", "I bought a blue boat in the harbour of Faro last week, and a trailer"),
    ]
    for at, (session, role, speaker, text) in enumerate(turns):
        metadata = {"role": role} | ({} if speaker is None else {"speaker": speaker})
        occurred = clock.now - 14 * DAY_MS + at * (1000 if session == "one" else DAY_MS)
        await memory.remember(
            text, type="episodic", session_id=session, metadata=metadata, occurred_at=occurred
        )
    await memory.remember("Is the boat for sale?", session_id="three", metadata={"speaker": "Ida"})
    await memory.remember("The boat is in the shed", occurred_at=clock.now - 90 * DAY_MS)
    await memory.remember("The boat is in the yard of Rita", occurred_at=clock.now - 2 * DAY_MS)
    await memory.remember("The trailer of the boat is in the yard of Rita", confidence=0.1)
    await memory.remember("The boat: " + " ".join(f"plank {n} of row {n}" for n in range(60)))
    await memory.remember("The boat of Rita lives in the yard", kind="identity", slot="home")
    clock.pass_days(1)
    await memory.remember("The boat lives on the lawn", kind="identity", slot="home")
    await memory.expire({"confidence_below": 0.5}, action="demote")


@pytest.mark.parametrize("url", STORES)
def test_every_signal_that_is_shown_is_told_of(url):
    async def story(memory, clock):
        await a_conversation(memory, clock)
        shown = set()
        for asked, options in [
            ("where is the boat?", {}),
            ("The boat is in the shed!", {}),
            ("what did Mel buy two weeks ago?", {}),
            ("could you tell me which boat Caro bought in the harbour?", {}),
            ("why did Ben want a boat?", {}),
            ("what did you recommend for the boat?", {}),
            ("where is the boat?", {"rank": {"frequency": 1}, "hops": 2}),
            ("where is the boat?", {"fusion": "legs"}),
        ]:
            found = await memory.recall(asked, k=20, min_relevance="off", explain=True, **options)
            shown |= {name for hit in found for name in hit.signals}
        return {re.sub("^rank in .*", "rank in ...", name) for name in shown}

    shown = play(url, story)
    assert shown <= TOLD
    assert TOLD - shown <= {"revised"}  # other tests write facts for this
