"""Who waits for events is woken by what other processes commit; when nothing is heard, it looks."""

import asyncio
import subprocess
import sys
from typing import Any

import psycopg
import pytest

from memorywire.app import Governance, open_container
from memorywire.client import events
from memorywire.client.memory import Memory
from memorywire.model.clock import system_clock
from memorywire_postgres import journal as listening
from memorywire_postgres.database import Connection, fetch
from memorywire_postgres.location import locate
from memorywire_server.background import WebhookSender
from tests.postgres.desk import opened, run

# A process of its own remembers something.
_OTHER = """
import sys
from memorywire.sync import Memory
with Memory("ana", sys.argv[1], policy="open") as memory:
    memory.remember("Ana prefers green tea")
    print(memory.remember("Ana lives in Lisbon").change_id)
"""
_LISTENING = "FROM pg_stat_activity WHERE query LIKE 'LISTEN %%' AND query LIKE %s"


def _other(url: str) -> str:
    """The last change that another process made."""
    command = [sys.executable, "-c", _OTHER, url]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def _cut(url: str) -> None:
    """End the connection that listens, once there is one."""
    location = locate(url)
    with psycopg.connect(location.dsn, autocommit=True) as db:
        while not db.execute(
            f"SELECT pg_terminate_backend(pid) {_LISTENING}", [f"%{location.schema}%"]
        ).fetchall():
            continue


async def _hears(url: str, *, cut: bool = False) -> None:
    """Whoever follows the events here hears of the last change of another process."""
    async with Memory("ana", url, policy="open") as memory:
        stream = memory.events(after=0)
        waiting = asyncio.create_task(anext(stream))
        if cut:
            await asyncio.to_thread(_cut, url)
        last, heard = await asyncio.to_thread(_other, url), {(await waiting).subject}
        while last not in heard:
            heard.add((await anext(stream)).subject)
        await stream.aclose()


def test_a_commit_of_another_process_wakes_who_listens(schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "PAUSE", 3600.0)  # nobody would live to see it by looking
    monkeypatch.setattr(listening, "SELDOM", 3600.0)
    run(_hears(schema))


def test_without_its_connection_a_listener_looks(schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "AGAIN", 3600.0)
    run(_hears(schema, cut=True))


def test_a_courier_without_addresses_looks_once_for_each_word(
    schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was heard wakes nobody twice: a server at rest asks the database nothing."""
    monkeypatch.setattr(events, "PAUSE", 3600.0)
    monkeypatch.setattr(listening, "SELDOM", 3600.0)

    async def rest() -> None:
        container = await open_container(
            stores=[schema], embedder="minilm", embedder_key=None, clock=system_clock, governance=Governance()
        )
        assert container.journal is not None
        journal, looks, read = container.journal, [], container.journal.backend.read

        async def counted(work: Any) -> Any:
            looks.append(work)
            return await read(work)

        monkeypatch.setattr(journal.backend, "read", counted)
        feed = events.Feed(container)
        telling = asyncio.create_task(WebhookSender(journal, feed, system_clock, first_pause_ms=1).run())
        await feed.pause(0)  # until it listens
        await asyncio.to_thread(_other, schema)
        rests = 0
        while rests < 100:  # long enough for a great many looks, once it has heard of the first
            rests += len(looks) > 1
            await asyncio.sleep(0.001)
        telling.cancel()
        await asyncio.wait([telling])
        assert len(looks) <= feed.heard + 1
        await container.close()

    run(rest())


def test_work_that_is_cancelled_stays_so_when_its_connection_is_lost(shared: str) -> None:
    """Or whoever waits for its end, as a server that closes does, would wait for ever."""

    async def main() -> None:
        async with opened(shared) as store:
            at_work = asyncio.Event()

            async def lose(db: Connection) -> None:
                await fetch(db, "SELECT 1")
                with psycopg.connect(store.database.location.dsn, autocommit=True) as other:
                    other.execute("SELECT pg_terminate_backend(%s)", [db.info.backend_pid])
                at_work.set()
                await asyncio.sleep(3600)

            working = asyncio.create_task(store.database.write("default", lose))
            await at_work.wait()
            working.cancel()
            with pytest.raises(asyncio.CancelledError):
                await working

    run(main())
