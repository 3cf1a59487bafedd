"""A key and a memory may say the same words: neither is taken for the other, whichever was first."""

from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.model.answers import Status
from memorywire.model.proposal import Verb
from tests.engine.stage import HandClock, one_rule
from tests.kv.stage import STORES, play

WORDS = "tea is at five"


async def _say_under_a_key(memory: Memory) -> str:
    kept = await memory.kv.set("tea", "held back")
    await memory.decide(kept.proposal_id or "", Verb.EDIT.value, edit={"content": WORDS})
    found = await memory.kv.get("tea")
    assert found is not None
    assert found.value == WORDS
    return found.id


@pytest.mark.parametrize("url", STORES)
def test_a_memory_that_says_what_a_key_says_is_kept_and_stays_when_the_key_goes(
    url: str, tmp_path: Path
) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        entry = await _say_under_a_key(memory)
        kept = await memory.remember(WORDS)
        again = await memory.remember(WORDS)
        await memory.kv.delete("tea")
        assert (kept.status, kept.id != entry) == (Status.COMMITTED, True)
        assert (again.status, again.id) == (Status.DUPLICATE, kept.id)
        assert [record.content for record in await memory.list()] == [WORDS]

    play(story, url, policy=one_rule(tmp_path, "hold", content_contains=["held"]))


@pytest.mark.parametrize("url", STORES)
def test_a_key_that_says_what_a_memory_says_is_not_taken_for_it_either_after_an_undo(
    url: str, tmp_path: Path
) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        first = await memory.remember(WORDS)
        entry = await _say_under_a_key(memory)
        changed = await memory.kv.set("tea", "at six")
        await memory.undo(changed.change_id or "")
        await memory.forget([first.id])
        kept = await memory.remember(WORDS)
        found = await memory.kv.get("tea")
        assert found is not None
        assert (found.id, found.value) == (entry, WORDS)
        assert (kept.status, kept.id in (first.id, entry)) == (Status.COMMITTED, False)

    play(story, url, policy=one_rule(tmp_path, "hold", content_contains=["held"]))
