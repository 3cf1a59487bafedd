"""No definition runs code, passes for another or uses up the machine: it is refused when it is written."""

import asyncio
import importlib
import sys
from pathlib import Path

import pytest
from transitions import Machine

from memorywire import Memory
from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire.procedures.parse import check
from tests.engine.stage import STORES, play
from tests.procedures.hostile import CALL, PAYLOADS, SHARED, TRAP
from tests.procedures.samples import refund, refused, way

_TOLD_OF = ("import", "exec", "compile", "open", "os.system", "os.exec", "os.fork", "subprocess.Popen")


class Watch:
    """Hears of every import, file and process of this interpreter while it listens."""

    def __init__(self) -> None:
        self.listening = False
        self.heard: list[str] = []
        sys.addaudithook(self._hear)  # for good: Python has no way to take a hook back

    def _hear(self, event: str, arguments: object) -> None:
        if self.listening and event in _TOLD_OF:
            self.heard.append(f"{event} {arguments}")


@pytest.fixture(scope="module")
def ears() -> Watch:
    return Watch()


@pytest.fixture
def watch(ears: Watch) -> Watch:
    ears.heard.clear()
    return ears


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the trap writes when something imports it."""
    left = tmp_path / "sprung"
    (tmp_path / f"{TRAP}.py").write_text(
        f"import pathlib\npathlib.Path({str(left)!r}).touch()\ndef spring():\n    return True\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, TRAP, raising=False)
    return left


def test_the_corpus_is_as_large_as_it_should_be():
    assert len(PAYLOADS) >= 60


@pytest.mark.parametrize("content", PAYLOADS.values(), ids=PAYLOADS)
def test_a_hostile_definition_is_refused_and_nothing_happens(content, watch: Watch, mark: Path):
    check(refund())
    before = set(sys.modules)
    watch.listening = True
    try:
        refused(content)
    finally:
        watch.listening = False
    assert watch.heard == []
    assert set(sys.modules) == before
    assert not mark.exists()


def test_control_the_machine_of_others_springs_the_trap_and_the_watch_hears_it(watch: Watch, mark: Path):
    document = way(conditions=CALL)
    machine = Machine(
        states=["asked", "paid"], initial="asked", transitions=document["transitions"], auto_transitions=False
    )
    watch.listening = True
    try:
        machine.pay()
    finally:
        watch.listening = False
    assert mark.exists()
    assert TRAP in sys.modules
    assert any(TRAP in event for event in watch.heard)


@pytest.mark.parametrize("url", STORES)
def test_no_door_lets_a_hostile_definition_in(url):
    async def story(memory: Memory, clock: object) -> tuple[list[str], int]:
        passed = []
        for name in PAYLOADS.keys() - SHARED:
            content = PAYLOADS[name]
            try:
                await memory.remember(content, type="procedural")
                passed.append(name)
            except InvalidRequest:
                continue
        many = await memory.remember_many(
            [{"content": content, "type": "procedural"} for content in (way(before=CALL), refund())]
        )
        assert [isinstance(result, MemorywireError) for result in many] == [True, False]
        return passed, (await memory.list()).total

    assert play(url, story) == ([], 1)


def test_halves_that_spell_a_hostile_definition_are_not_merged():
    async def story(memory: Memory, clock: object) -> None:
        left = await memory.remember('{"name": "x", "states": ["a"], "before":', type="procedural")
        right = await memory.remember('"os.system"}', type="procedural")
        with pytest.raises(InvalidRequest) as caught:
            await memory.merge(left.id, [right.id], strategy="merge_content")
        assert caught.value.field == "content.before"
        tail = await memory.remember("and then some words", type="procedural")
        await memory.merge(left.id, [tail.id], strategy="merge_content")  # control: words are joined

    play("memory://", story)


@pytest.mark.parametrize("notes", [{"steps": ["build", "ship"]}, {"py/object": "os.system"}])
def test_an_object_that_defines_no_machine_is_notes_that_nobody_runs(notes: dict[str, object]):
    async def story(memory: Memory, clock: object) -> None:
        kept = await memory.remember(notes, type="procedural")
        with pytest.raises(InvalidRequest):
            await memory.procedure(kept.id)

    play("memory://", story)


def test_a_definition_in_a_text_cannot_be_joined_with_words():
    async def story(memory: Memory, clock: object) -> None:
        machine = await memory.remember(
            '{"name":"m","initial":"a","states":["a"],"transitions":[]}', type="procedural"
        )
        words = await memory.remember("then rest", type="procedural")
        with pytest.raises(InvalidRequest, match="cannot be merged"):
            await memory.merge(machine.id, [words.id], strategy="merge_content")

    play("memory://", story)


def test_a_secret_that_is_a_name_is_refused_and_one_in_the_metadata_is_taken_out():
    key = "AKIA" + "Q7ZJ4TWK3MNB2XYC"

    async def story(memory: Memory, clock: object) -> None:
        with pytest.raises(InvalidRequest) as caught:
            await memory.remember(refund(states=["asked", "paid", "closed", key]), type="procedural")
        assert (caught.value.field, key in str(caught.value.problem())) == ("content.states[3]", False)
        kept = await memory.remember(refund(metadata={"key": key}), type="procedural")
        assert key not in str((await memory.get(kept.id)).content)

    play("memory://", story)


def test_the_same_text_is_harmless_as_a_fact():
    async def story() -> None:
        async with Memory("agent", ["memory://"]) as memory:
            await memory.remember('{"before": "os.system"}', type="semantic")

    asyncio.run(story())
