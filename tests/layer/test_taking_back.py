"""Who takes a fact back in a conversation, and which fact is meant."""

from collections.abc import Awaitable, Callable

import pytest

from memorywire import Memory
from memorywire.pipeline import reconcile
from tests.engine.stage import HandClock
from tests.kv.stage import play

Story = Callable[[Memory, HandClock], Awaitable[None]]


async def say(memory: Memory, *texts: str) -> tuple[tuple[str, ...], int]:
    """The contents of the facts that a conversation forgets, and the count of what waits for a person."""
    known = {one.id: str(one.content) for one in await memory.list(limit=100)}
    event = await memory.layer.add([{"role": "user", "content": text} for text in texts])
    kept = [(await memory.get(id)).content for id in event.turns]
    assert kept == list(texts)  # whatever is taken back, the words stay as they were said
    return tuple(known[id] for id in event.forgotten), len(event.held)


def take_back(before: list[str], words: str, forgotten: list[str], held: int) -> Story:
    """A story in which somebody takes a fact back, and exactly the expected facts end."""

    async def story(memory: Memory, clock: HandClock) -> None:
        for text in before:
            await memory.remember(text)
        assert await say(memory, words) == (tuple(forgotten), held)
        left = [str(one.content) for one in await memory.list(limit=100)]
        assert left == [text for text in before if text not in forgotten] + [words]

    return story


_TEA, _ANA = "The user likes tea.", "Ana likes green tea."
_PHONE, _HOME = "The user's phone number is 0655 320 118.", "The user lives in Graz."
_ADDRESS = "The user's address is 4 Mill Lane."
CASES = {
    "own": ([_TEA, _ANA], "Forget that I like tea.", [_TEA], 0),
    "only of another": ([_ANA], "Forget that I like tea.", [], 1),
    "slot": ([_HOME, _TEA], "Please forget my address.", [_HOME], 0),
    "question": ([_HOME, _TEA], "Please forget where I live.", [_HOME], 0),
    "several": ([_HOME, _ADDRESS.replace("address", "home")], "Please forget my address.", [], 1),
    "from memory": ([_PHONE, _TEA], "Delete my phone number from your memory.", [_PHONE], 0),
    "nothing meant": ([_TEA], "Delete my phone number from your memory.", [], 0),
}


@pytest.mark.parametrize("url", ["memory://", "sqlite://"])
@pytest.mark.parametrize("case", CASES)
def test_taking_back_ends_the_speakers_own_fact_and_no_other(case: str, url: str) -> None:
    play(take_back(*CASES[case]), url, policy="balanced")


def test_without_the_check_of_the_subject_somebody_elses_fact_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile, "_is_of_another", lambda record, target: False)
    with pytest.raises(AssertionError):
        play(take_back(*CASES["own"]))


def test_without_the_check_of_turns_the_words_that_take_back_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        metadata = {"layer": {"kind": "turn"}, "fact": {"kind": "preference", "subject": "user"}}
        await memory.remember("I like tea.", metadata=metadata)
        assert await say(memory, "Forget that I like tea.") == ((), 0)

    play(story)
    monkeypatch.setattr(reconcile, "_can_be_meant", lambda record: True)
    with pytest.raises(AssertionError):
        play(story)
