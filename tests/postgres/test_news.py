"""Who waits for events is woken by what other processes commit; when nothing is heard, it looks."""

import asyncio
import subprocess
import sys

import psycopg
import pytest

from memorywire.facades import events
from memorywire.facades.memory import Memory
from memorywire.journal import listening
from memorywire.stores.postgres.location import locate
from tests.postgres.desk import run

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
