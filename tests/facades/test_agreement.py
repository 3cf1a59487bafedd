"""The faces of one memory agree: what one writes the others see as their contract says, whatever happened.

A machine does anything in any order through the wire, the keys, the layer, the items of a harness and the
OpenWOP host: it writes, holds, decides, redacts, expires, forgets, erases, supersedes, bars and begins runs.
After each step every face must show what it should and nothing else, and every run what stood when it began.
"""

import asyncio
import json
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from msgspec.structs import replace

from memorywire import Memory
from memorywire.client.harness import MemoryItem
from memorywire.client.harness import Status as Standing
from memorywire.journal.runs import Run
from memorywire.model.answers import Status
from memorywire.model.capabilities import host_over
from memorywire.model.errors import Conflict, SecretLeakage
from memorywire_openwop.adapter import Requester
from memorywire_openwop.entries import Draft, Listing, encode_entry
from memorywire_openwop.host import SESSION, Host
from tests.engine.quick import Quick
from tests.engine.stage import HandClock

A = TypeVar("A")

_TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
_HELD = "held"
_POLICY = f"""profile = "open"
[[rule]]
name = "look"
verdict = "hold"
operation = ["remember"]
content_contains = ["{_HELD}"]
"""
_WORDS = st.sampled_from(["tea", "coffee", "water", "juice", "milk"])
_CALLER = Requester(name="person:test", tenant="default")
_KEYS = st.sampled_from(["a", "b", "c"])
_SECONDS = st.sampled_from([None, 5, 20])


@dataclass
class Kept:
    """What should be there: its id, what it says, whose kind it is, until when, and whether it may answer."""

    id: str
    says: object
    kind: str
    key: str | None = None
    ends: int | None = None
    barred: bool = False


@dataclass
class World:
    """What every face should show; `runs` are with what stood when each began, as (id, words) and its end.

    `replaced` are the ids in whose place others stand, `read` the turns that facts were read from.
    """

    there: dict[str, Kept] = field(default_factory=dict)
    held: dict[str, Kept] = field(default_factory=dict)
    runs: list[tuple[Run, dict[tuple[str, str], int | None]]] = field(default_factory=list)
    replaced: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)

    def shown(self, now: int) -> list[Kept]:
        """What answers; anything else that is alive is only read by its key or its id."""
        return [one for one in self.alive(now) if not one.barred]

    def alive(self, now: int) -> list[Kept]:
        return [one for one in self.there.values() if one.ends is None or now < one.ends]


def _words(one: Kept) -> str:
    """What a face shows that knows only text."""
    return str(one.says) if one.key is None else json.dumps({one.key: one.says})


def _item(one: Kept) -> tuple[str, Standing]:
    """An item's content and status: of a value, its strings behind the key."""
    said = one.says["said"][0] if isinstance(one.says, dict) else one.says
    inner = ["said"] if isinstance(one.says, dict) else []
    words = " ".join([*([] if one.key is None else [one.key]), *inner, str(said)])
    return words, Standing.BLACKLISTED if one.barred else Standing.ACTIVE


class Faces(RuleBasedStateMachine):
    memories = Bundle("memories")
    proposals = Bundle("proposals")

    @initialize()
    def open(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder = TemporaryDirectory()
        policy = Path(self.folder.name) / "policy.toml"
        policy.write_text(_POLICY, encoding="utf-8")
        self.clock = HandClock()
        self.memory = Memory("bot", ["sqlite://"], embedder=Quick(), policy=str(policy), clock=self.clock)
        self.world = World()
        self.number = 0
        container = self.run(self.memory._open())
        assert container.journal is not None
        self.host = Host(container, container.journal, serves=host_over(container.capabilities))

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.run(self.memory.close())
            self.loop.close()
            self.folder.cleanup()

    def run(self, work: Awaitable[A]) -> A:
        async def waited() -> A:
            return await work

        return self.loop.run_until_complete(waited())

    def fresh(self, word: str) -> str:
        """Words that were never said before, so that nothing is a duplicate."""
        self.number += 1
        self.clock.now += 1
        return f"{word} number {self.number}"

    def keep(self, one: Kept) -> str:
        self.world.there = {
            id: old for id, old in self.world.there.items() if one.key is None or old.key != one.key
        }
        self.world.there[one.id] = one
        self.world.replaced.discard(one.id)
        return one.id

    def living(self, id: str) -> Kept | None:
        """What is there under an id, and not only waiting to be cleaned up."""
        return next((one for one in self.world.alive(self.clock.now) if one.id == id), None)

    @rule(target=memories, word=_WORDS, seconds=_SECONDS, secret=st.booleans())
    def remember(self, word: str, seconds: int | None, secret: bool) -> str:
        text = self.fresh(word)
        ends = None if seconds is None else self.clock.now + 1_000 * seconds
        options: dict[str, Any] = {} if ends is None else {"expires_at": ends}
        said = f"{text} {_TOKEN}" if secret else text
        receipt = self.run(self.memory.remember(said, **options))
        shown = str(self.run(self.memory.get(receipt.id)).content)
        assert shown == text or (secret and shown.startswith(f"{text} [REDACTED:"))
        return self.keep(Kept(receipt.id, shown, "note", ends=ends))

    @rule(target=memories, word=_WORDS, infer=st.booleans())
    def converse(self, word: str, infer: bool) -> str:
        text = self.fresh(word)
        said = f"I love {text}." if infer else f"we had {text}"
        event = self.run(self.memory.layer.add([{"role": "user", "content": said}], infer=infer))
        (id,) = event.memories
        for turn in event.turns if infer else ():
            self.keep(Kept(turn, said, "turn"))
            self.world.read.add(turn)
        shown = f"The user loves {text}." if infer else said
        return self.keep(Kept(id, shown, "fact" if infer else "turn"))

    @rule(target=memories, key=_KEYS, word=_WORDS, seconds=_SECONDS)
    def set(self, key: str, word: str, seconds: int | None) -> str:
        value = {"said": [self.fresh(word), None, 1.5]}
        kept = self.run(self.memory.kv.set(key, value, ttl=seconds, index="all"))
        return self.keep(Kept(kept.id, value, "entry", key=key, ends=kept.expires_at))

    @rule(target=memories, word=_WORDS, seconds=_SECONDS)
    def put(self, word: str, seconds: int | None) -> str:
        text = self.fresh(word)
        ends = None if seconds is None else self.clock.now + 1_000 * seconds
        entry = self.run(self.host.adapter(_CALLER).put("bot", Draft(content=text, expires_at=ends)))
        return self.keep(Kept(entry.id, text, "note", ends=ends))

    @rule(target=memories, word=_WORDS, secret=st.booleans(), barred=st.booleans())
    def write(self, word: str, secret: bool, barred: bool) -> str:
        text = self.fresh(word)
        status = Standing.BLACKLISTED if barred else Standing.ACTIVE
        said = MemoryItem(content=f"{text} {_TOKEN}" if secret else text, status=status)
        id = self.run(self.memory.harness.write(said))
        shown = str(self.run(self.memory.get(id)).content)
        assert shown == text or (secret and shown.startswith(f"{text} [REDACTED:"))
        return self.keep(Kept(id, shown, "note", barred=barred))

    @rule(id=memories, word=_WORDS, reword=st.booleans(), status=st.sampled_from(list(Standing)[::2]))
    def rewrite(self, id: str, word: str, reword: bool, status: Standing) -> None:
        """An item whoever wrote it; only what is under a key is changed by its key alone."""
        one, item = self.living(id), self.run(self.memory.harness.get(id))
        if one is None or item is None:
            assert item is None or item.status is Standing.SUPERSEDED
            return
        text = self.fresh(word) if reword else item.content
        barred = status is Standing.BLACKLISTED
        wanted = replace(item, content=text, status=status)
        if one.key is not None and (reword or (one.barred and not barred)):
            with pytest.raises(Conflict):
                self.run(self.memory.harness.write(wanted))
            return
        assert self.run(self.memory.harness.write(wanted)) == id
        one.says, one.barred = text if reword else one.says, barred

    @rule(target=memories, id=memories, word=_WORDS)
    def supersede(self, id: str, word: str) -> str:
        text = self.fresh(word)
        if self.living(id) is None:
            return "never was"
        new = self.run(self.memory.harness.write(MemoryItem(content=text, supersedes=id)))
        del self.world.there[id]
        self.world.replaced.add(id)
        return self.keep(Kept(new, text, "note"))

    @rule()
    def begin(self) -> None:
        run = self.run(self.host.start(_CALLER, SESSION, ["bot"]))
        stood = {(one.id, _words(one)): one.ends for one in self.world.shown(self.clock.now)}
        self.world.runs.append((run, stood))

    @rule(key=_KEYS)
    def refuse(self, key: str) -> None:
        """A key keeps its value as it is or not at all."""
        before = self.run(self.memory.kv.get(key))
        with pytest.raises(SecretLeakage):
            self.run(self.memory.kv.set(key, {"deep": [_TOKEN]}, index="all"))
        assert self.run(self.memory.kv.get(key)) == before

    @rule(
        target=proposals,
        word=_WORDS,
        way=st.sampled_from(["note", "entry", "turn", "item", "barred"]),
        key=_KEYS,
    )
    def hold(self, word: str, way: str, key: str) -> str:
        text = f"{_HELD} {self.fresh(word)}"
        if way in ("item", "barred"):
            held, kept = self._held_item(text, barred=way == "barred")
        elif way == "note":
            receipt = self.run(self.memory.remember(text))
            held, kept = receipt.proposal_id, Kept(receipt.id, text, way)
        elif way == "entry":
            receipt_ = self.run(self.memory.kv.set(key, text, index="all"))
            assert receipt_.status is Status.STAGED
            held, kept = receipt_.proposal_id, Kept(receipt_.id, text, way, key=key, ends=receipt_.expires_at)
        else:
            event = self.run(self.memory.layer.add([{"role": "user", "content": text}], infer=False))
            (held,) = event.held
            (id,) = self.run(self.memory.proposal(held)).proposal.touched
            kept = Kept(id, text, way)
        assert held is not None
        self.world.held[held] = kept
        return held

    def _held_item(self, text: str, *, barred: bool) -> tuple[str, Kept]:
        status = Standing.BLACKLISTED if barred else Standing.ACTIVE
        id = self.run(self.memory.harness.write(MemoryItem(content=text, status=status)))
        assert self.run(self.memory.harness.get(id)) is None
        waiting = self.run(self.memory.proposals(limit=100)).items
        (held,) = [proposal.id for proposal in waiting if id in proposal.touched]
        return held, Kept(id, text, "note", barred=barred)

    @rule(target=memories, held=consumes(proposals), approve=st.booleans())
    def decide(self, held: str, approve: bool) -> str:
        kept = self.world.held.pop(held)
        if not approve:
            self.run(self.memory.decide(held, "reject"))
            return "never was"
        try:
            self.run(self.memory.decide(held, "approve"))
        except Conflict:
            assert kept.kind == "entry"  # only a key may have moved on while its new value waited
            self.run(self.memory.decide(held, "reject"))
            return "moved on"
        return self.keep(kept)

    @rule(id=memories, way=st.sampled_from(["item", "soft", "hard"]))
    def forget(self, id: str, way: str) -> None:
        hard = way == "hard"
        if way == "item":
            self.run(self.memory.harness.delete(id))
        else:
            self.run(self.memory.forget(id, hard_delete=hard))
        self.world.there.pop(id, None)
        self.world.replaced -= {id} if hard else set()
        for _, stood in self.world.runs if hard else ():
            for name in [name for name in stood if name[0] == id]:
                del stood[name]

    @rule(key=_KEYS)
    def delete(self, key: str) -> None:
        self.run(self.memory.kv.delete(key))
        self.world.there = {
            id: one
            for id, one in self.world.there.items()
            if one.key != key or (one.ends is not None and one.ends <= self.clock.now)
        }

    @rule(seconds=st.sampled_from([1, 6, 30]))
    def wait(self, seconds: int) -> None:
        self.clock.now += 1_000 * seconds

    @invariant()
    def every_face_shows_what_it_should(self) -> None:
        if not hasattr(self, "memory"):
            return
        alive, answering = self.world.alive(self.clock.now), self.world.shown(self.clock.now)
        entries = {one.key: one.says for one in alive if one.kind == "entry"}
        others = {one.id: (one.says, one.kind) for one in answering if one.kind != "entry"}
        listed = {record.id for record in self.run(self.memory.list(limit=1000))}
        recalled = self.run(self.memory.recall("tea", k=1000, min_relevance="off"))
        assert listed == {one.id for one in answering}
        assert {hit.id for hit in recalled} == listed
        assert {entry.key: entry.value for entry in self.run(self.memory.kv.list())} == entries
        asked = self.run(self.memory.layer.recall("tea", top_k=50, min_relevance="off"))
        shown = {fact.id: (fact.memory, fact.kind.value) for fact in asked}
        assert shown.items() <= others.items()
        # A turn is left out beside a fact that was read from it.
        assert len(others) > 50 or others.keys() - shown.keys() <= self.world.read

    @invariant()
    def a_harness_has_every_item_and_finds_those_that_answer(self) -> None:
        if not hasattr(self, "memory"):
            return
        harness, now = self.memory.harness, self.clock.now

        async def every() -> list[MemoryItem]:
            return [item async for item in harness.all()]

        listed = self.run(every())
        items = {one.id: (one.content, one.status) for one in listed if one.status is not Standing.SUPERSEDED}
        assert items == {one.id: _item(one) for one in self.world.alive(now)}
        assert {one.id for one in listed if one.status is Standing.SUPERSEDED} == set(self.world.replaced)
        found = {one.item.id for one in self.run(harness.search("tea", k=100))}
        assert found == {one.id for one in self.world.shown(now)}
        for id in self.world.replaced:
            was = self.run(harness.get(id))
            assert was is not None
            assert was.status is Standing.SUPERSEDED

    @invariant()
    def the_host_shows_what_is_and_runs_see_what_was(self) -> None:
        if not hasattr(self, "host"):
            return
        now = self.clock.now
        answering = {(one.id, _words(one)) for one in self.world.shown(now)}
        assert self._listed(None) == answering
        for run, stood in self.world.runs:
            assert self._listed(run) == {name for name, ends in stood.items() if ends is None or now < ends}

    def _listed(self, run: Run | None) -> frozenset[tuple[str, str]]:
        found = self.run(self.host.adapter(_CALLER, run).list("bot", Listing(limit=500)))
        return frozenset((record.id, encode_entry(record)["content"]) for record in found)

    @invariant()
    def nothing_secret_is_shown_anywhere(self) -> None:
        if hasattr(self, "memory"):
            shown = [self.run(self.memory.list(limit=1000)), self.run(self.memory.audit_log(limit=1000))]
            assert _TOKEN not in repr(shown)


Faces.TestCase.settings = settings(
    max_examples=20,
    stateful_step_count=20,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestFaces = Faces.TestCase
