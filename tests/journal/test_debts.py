"""A change that a store missed is owed before it is answered, repaid in order, given up only by a person."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memorywire.model.answers import Status
from memorywire.model.errors import EmbedderFailed, NotFound
from memorywire.model.record import Scope
from tests.cli.shell import Shell
from tests.engine.stage import HandClock
from tests.gates.source import ROOT
from tests.journal.stores import Fickle, client, contents, entries, installed, kinds, run
from tests.sqlite.desk import until
from tests.sqlite.governed import Signature

MINUTE = 60_000


def test_what_a_store_misses_is_deferred_and_owed(tmp_path: Path):
    async def story() -> None:
        store = Fickle()
        async with client(store, tmp_path) as memory:
            store.away = True
            receipt = await memory.remember("the kettle is blue")
            assert receipt.status is Status.DEFERRED
            assert [outcome.error for outcome in receipt.outcomes] == ["nobody answers"]
            (debt,) = await memory.debts()
            assert (debt.store, debt.change.id, debt.tries) == ("fickle", receipt.change_id, 1)
            assert (await memory.health())["stores"][0]["debts"] == 1
            assert (await memory.list()).items == ()

    run(story())
    ((kind, details),) = entries(tmp_path, "kind", "details")
    assert (kind, details["deferred"]) == ("deferred", ["fickle"])


def test_a_store_that_is_there_is_owed_nothing(tmp_path: Path):
    async def story() -> None:
        async with client(Fickle(), tmp_path) as memory:
            assert (await memory.remember("the kettle is blue")).status is Status.COMMITTED
            assert await memory.debts() == ()

    run(story())
    assert kinds(tmp_path) == ["committed"]


def test_debts_are_repaid_in_order_before_anything_new(tmp_path: Path):
    async def story() -> None:
        store, clock = Fickle(), HandClock()
        async with client(store, tmp_path, clock) as memory:
            store.away = True
            owed = [(await memory.remember(f"fact {number}")).change_id for number in range(3)]
            store.away = False
            clock.now += 5 * MINUTE
            new = await memory.remember("fact 3")
            assert new.status is Status.COMMITTED
            assert store.written == [*owed, new.change_id]
            assert await memory.debts() == ()

    run(story())
    assert kinds(tmp_path) == ["deferred"] * 3 + ["paid"] * 3 + ["committed"]


def test_while_the_first_debt_waits_later_changes_queue_behind_it(tmp_path: Path):
    async def story() -> None:
        store, clock = Fickle(), HandClock()
        async with client(store, tmp_path, clock) as memory:
            store.away = True
            await memory.remember("first")
            store.away = False  # but the next try is not due yet
            second = await memory.remember("second")
            assert second.status is Status.DEFERRED
            assert store.written == []

    run(story())


def test_the_waits_between_tries_grow(tmp_path: Path):
    async def story() -> list[int]:
        store, clock = Fickle(), HandClock()
        waits = []
        async with client(store, tmp_path, clock) as memory:
            store.away = True
            await memory.remember("the kettle is blue")
            for _ in range(8):
                (debt,) = await memory.debts()
                waits.append(debt.due_at - clock.now)
                clock.now = debt.due_at
                await memory.pay_debts()
        return waits

    assert run(story()) == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, MINUTE, MINUTE]


def test_an_open_client_repays_by_itself(tmp_path: Path):
    async def story() -> None:
        store, clock = Fickle(), HandClock()
        async with client(store, tmp_path, clock) as memory:
            store.away = True
            await memory.remember("the kettle is blue")
            clock.now += 5 * MINUTE
            store.away = False

            async def paid() -> bool:
                return await memory.debts() == ()

            await until(paid)
            assert contents((await memory.list()).items) == ["the kettle is blue"]

    run(story())
    assert kinds(tmp_path) == ["deferred", "paid"]


def test_an_embedder_that_fails_costs_a_try_and_not_the_promise(tmp_path: Path):
    class Mute(Signature):
        mute = False

        async def embed(self, texts: list[str]) -> list[bytes]:
            if self.mute:
                raise EmbedderFailed("no model")
            return await super().embed(texts)

    async def story() -> None:
        store, embedder = Fickle(), Mute()
        async with client(store, tmp_path, embedder=embedder) as memory:
            store.away = True
            await memory.remember("the kettle is blue")
            store.away, embedder.mute = False, True
            assert not await memory.pay_debts()
            assert [debt.error for debt in await memory.debts()] == ["no model"]
            embedder.mute = False
            assert await memory.pay_debts()
            assert len((await memory.list()).items) == 1

    run(story())


def test_what_the_store_refuses_by_then_lapses_and_is_written_down(tmp_path: Path):
    async def story() -> None:
        store = Fickle()
        async with client(store, tmp_path) as memory:
            kept = await memory.remember("the kettle is blue")
            store.away = True
            await memory.forget(kept.id)
            store.away = False
            # Somebody else forgets it in the store itself.
            scope = Scope(agent="agent")
            (record,) = await store.get(scope, [kept.id])
            from memorywire_testing.samples import a_change, ending

            await store.write(a_change(scope, ending(record)))
            assert await memory.pay_debts()
            assert await memory.debts() == ()

    run(story())
    assert kinds(tmp_path) == ["committed", "deferred", "lapsed"]


def test_two_processes_that_repay_at_once_write_once_and_say_so_once(tmp_path: Path):
    async def story() -> None:
        store = Fickle()
        async with client(store, tmp_path) as first, client(store, tmp_path) as second:
            store.away = True
            await first.remember("the kettle is blue")
            store.away = False
            await asyncio.gather(first.pay_debts(), second.pay_debts())
            assert len((await first.list()).items) == 1

    run(story())
    assert kinds(tmp_path) == ["deferred", "paid"]


def test_a_person_gives_a_debt_up_and_the_ledger_says_why(tmp_path: Path):
    async def story() -> str | None:
        store = Fickle()
        async with client(store, tmp_path, caller="person:ana") as memory:
            store.away = True
            receipt = await memory.remember("the kettle is blue")
            with pytest.raises(NotFound):
                await memory.write_off("no such change", why="a slip")
            await memory.write_off(receipt.change_id or "", why="the store was sold")
            store.away = False
            assert await memory.pay_debts()
            assert store.written == []
            return receipt.change_id

    change = run(story())
    kind, actor, subject, details = entries(tmp_path, "kind", "actor", "subject", "details")[-1]
    assert (kind, actor, subject) == ("written_off", "person:ana", change)
    assert details["why"] == "the store was sold"


_OWE_AND_DIE = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.journal.stores import Fickle, client

class Deadly(Fickle):
    async def write(self, change):
        if sys.argv[2] == "after":
            await super().write(change)
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    async with client(Deadly(), Path(sys.argv[1])) as memory:
        await memory.remember("the kettle is blue", id="kettle")

asyncio.run(main())
"""


def test_killed_between_owing_and_writing_it_is_written_by_the_next(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", _OWE_AND_DIE, str(tmp_path), "before"],
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'packages/memorywire/src'}:{ROOT}"},
        cwd=ROOT,
    )
    assert done.returncode == -signal.SIGKILL

    async def story() -> None:
        store, clock = Fickle(), HandClock()
        async with client(store, tmp_path, clock) as memory:
            assert len(await memory.debts()) == 1
            assert store.written == []  # it may be on its way still
        clock.now += MINUTE
        async with client(store, tmp_path, clock) as memory:
            assert await memory.debts() == ()
            assert (await memory.get("kettle")).content == "the kettle is blue"

    run(story())
    assert kinds(tmp_path) == ["paid"]


def test_killed_between_writing_and_saying_so_it_is_not_written_twice(tmp_path: Path):
    async def story() -> None:
        store, clock = Fickle(), HandClock()
        async with client(store, tmp_path, clock) as memory:
            store.away = True
            receipt = await memory.remember("the kettle is blue")
            store.away = False
            (debt,) = await memory.debts()
            await store.write(debt.change)  # and then the process dies: the journal knows nothing of it
            assert await memory.pay_debts()
            assert [version.number for version in await memory.history(receipt.id)] == [1]

    run(story())
    assert kinds(tmp_path) == ["deferred", "paid"]


def test_the_command_lists_pays_and_gives_up(tmp_path: Path, shell: Shell):
    journal = f"sqlite://{tmp_path}/journal.db"  # of both: it is one store, here or away
    here = {"MEMORYWIRE_STORE": "fickle://here", "MEMORYWIRE_JOURNAL": journal, **installed(tmp_path)}
    away = {**here, "MEMORYWIRE_STORE": "fickle://away"}
    assert "nothing is pending" in shell("debts", **away).out
    deferred = [shell("remember", f"fact {number}", "--json", **away).json for number in range(2)]
    assert [receipt["status"] for receipt in deferred] == ["deferred", "deferred"]
    first, second = [receipt["change_id"] for receipt in deferred]
    listed = shell("debts", "--json", **away).json["debts"]
    assert [(debt["store"], debt["change_id"]) for debt in listed] == [("fickle", first), ("fickle", second)]
    assert "2 changes are not written yet" in shell("doctor", **away).out
    unpaid = shell("debts", "pay", "--json", **away)
    assert (unpaid.code, unpaid.json["paid"], len(unpaid.json["debts"])) == (4, 0, 2)
    assert shell("debts", "write-off", second, **away).code == 2
    assert shell("debts", "write-off", "--why", "a slip", **away).code == 2
    another = shell("debts", "write-off", second, "sqlite", "--why", "it was sold", "--json", **away)
    assert another.problem["code"] == "not_found"
    given_up = shell("debts", "write-off", second, "fickle", "--why", "it was sold", "--json", **away).json
    assert given_up["written_off"]["change_id"] == second
    paid = shell("debts", "pay", "--json", **here)
    assert (paid.code, paid.json) == (0, {"paid": 1, "debts": []})
