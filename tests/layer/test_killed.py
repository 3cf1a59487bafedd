"""A process that is killed while it reads a conversation loses nothing of it, and keeps nothing twice."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.app import Reading
from memorywire.model.layer import EventState
from tests.engine.quick import Quick
from tests.engine.stage import HandClock
from tests.gates.source import ROOT
from tests.layer.endpoint import Model, serving

_READER = """
import asyncio, os, signal, sys
from memorywire import Memory
from memorywire.app import Reading
from memorywire.model.layer import EventState
from tests.engine.quick import Quick
from tests.engine.stage import NOON

url, policy, extractor, infer, calls = sys.argv[1:]

class Deadly:
    left = int(calls)
    def __call__(self):
        Deadly.left -= 1
        if not Deadly.left:
            os.kill(os.getpid(), signal.SIGKILL)
        return NOON

async def main():
    reading = Reading(extractor=extractor)
    async with Memory("a", [url], embedder=Quick(), policy=policy, clock=Deadly(), reading=reading) as memory:
        said = [{"role": role, "content": "ok"} for role in ("user", "assistant", "user")]
        event = await memory.layer.add(said, infer=infer == "infer")
        print(event.id, flush=True)
        while (await memory.layer.event(event.id)).state is EventState.PENDING:
            await asyncio.sleep(0.01)

asyncio.run(main())
"""
_HOLD = 'profile = "open"\n[[rule]]\nname = "look"\nverdict = "hold"\noperation = ["remember"]\n'


@dataclass
class Moody(Model):
    """Never says a thing in the same words twice."""

    def body(self, path: str) -> bytes:
        number = len(self.asked)
        self.facts = [f"{said} (answer {number})" for said in ("Her name is Ana", "Ana is from Lisbon")]
        return super().body(path)


@dataclass(frozen=True)
class Room:
    """A folder in which processes read conversations; what comes of it is kept, or held for a person."""

    folder: Path
    policy: Path
    extractor: str

    def killed(self, calls: int, infer: str) -> tuple[int, str]:
        """How a process ended that is killed at that look at the clock, and which event it told of."""
        given = [self.url(calls), str(self.policy), self.extractor, infer, str(calls)]
        command = [sys.executable, "-c", _READER, *given]
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, cwd=ROOT)
        return ended.returncode, ended.stdout.strip()

    def url(self, calls: int) -> str:
        return f"sqlite://{self.folder}/{calls}.db"

    async def later(self, calls: int, event_id: str) -> tuple[EventState | None, list[str]]:
        """What there is in a process that comes a day later, once a person has agreed to everything."""
        clock = HandClock()
        clock.pass_days(1)
        options = {"embedder": Quick(), "policy": str(self.policy), "clock": clock}
        reading = Reading(extractor=self.extractor)
        async with Memory("a", [self.url(calls)], reading=reading, **options) as memory:
            await memory.layer.work()
            waiting = [proposal.id for proposal in (await memory.proposals()).items]
            if waiting:
                await memory.decide(waiting, "approve")
            found = sorted(str(record.content) for record in await memory.list())
            return (await memory.layer.event(event_id)).state if event_id else None, found


@pytest.fixture(params=["kept", "held"])
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Room]:
    policy = tmp_path / "policy.toml"
    policy.write_text(_HOLD if request.param == "held" else 'profile = "open"\n', encoding="utf-8")
    with serving(Moody()) as model:
        yield Room(tmp_path, policy, f"openai+http://127.0.0.1:{model.port}/v1?model=small")


def test_killed_at_any_look_at_the_clock_every_fact_is_there_once(room: Room) -> None:
    ends, told = [], 0
    for calls in range(6, 21, 3):
        ended, event = room.killed(calls, "infer")
        ends.append(ended)
        if not event:
            continue  # nobody was told that it was accepted
        told += 1
        state, found = asyncio.run(room.later(calls, event))
        assert state is EventState.DONE
        facts = [said for said in found if said != "ok"]
        assert (len(facts), len({said.rpartition("(")[2] for said in facts})) == (2, 1)
        assert found.count("ok") == 3
    assert -9 in ends
    assert told > 2


def test_killed_at_any_look_at_the_clock_all_turns_are_there_once_or_none_was_accepted(room: Room) -> None:
    counts = []
    for calls in range(5, 15, 3):
        ended, _ = room.killed(calls, "verbatim")
        _, found = asyncio.run(room.later(calls, ""))
        assert found in ([], ["ok"] * 3)
        counts.append((ended, len(found)))
    assert (-9, 3) in counts
