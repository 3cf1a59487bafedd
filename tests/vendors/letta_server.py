"""A real Letta server for the time being: on a Postgres from a wheel, with an embedder on the loopback."""

import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from time import sleep

import psycopg

from tests.postgres.crash import serving, started, stopped
from tests.vendors.environments import python_of
from tests.vendors.inside.speaking import DIMENSION, a_service

# Its wheel holds no migrations: the tables are made of its own classes, which do not number messages.
_TABLES = """
import asyncio
import letta.orm
from letta.server.db import engine
from sqlalchemy import text

async def made():
    async with engine.begin() as connection:
        await connection.run_sync(letta.orm.Base.metadata.create_all)
        await connection.execute(text("CREATE SEQUENCE message_number"))
        numbered = "ALTER TABLE messages ALTER COLUMN sequence_id SET DEFAULT nextval('message_number')"
        await connection.execute(text(numbered))

asyncio.run(made())
"""


@contextmanager
def a_letta_server() -> Iterator[str]:
    """The URL of a store on it, with `%s` where the folder of its books goes."""
    with serving("letta") as (folder, server), a_service() as embedder:
        database = _listening(folder, server.dsn)
        environment = {
            **os.environ,
            # Without the word TLS is demanded, and without a pool every statement connects again.
            "LETTA_PG_URI": f"{database}?sslmode=disable",
            "LETTA_DISABLE_SQLALCHEMY_POOLING": "false",
            "OPENAI_API_KEY": "none",
            "OPENAI_API_BASE": embedder,
            "DO_NOT_TRACK": "1",
            "DD_TRACE_ENABLED": "false",
            "HOME": str(folder),
        }
        python, port = Path(python_of("letta")), str(_free_port())
        subprocess.run([python, "-c", _TABLES], env=environment, check=True, stdout=subprocess.DEVNULL)
        command = [python.with_name("letta"), "server", "--host", "127.0.0.1", "--port", port]
        with subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL) as letta:
            try:
                _wait_for(f"http://127.0.0.1:{port}/v1/health/", letta)
                yield f"letta://127.0.0.1:{port}%s?endpoint={embedder}&dimension={DIMENSION}"
            finally:
                letta.terminate()


def _listening(folder: Path, dsn: str) -> str:
    """The server in this folder with a door that Letta knows how to use, and a database for it."""
    port = _free_port()
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute("CREATE DATABASE letta")
        db.execute("ALTER SYSTEM SET listen_addresses = '127.0.0.1'")
        db.execute(f"ALTER SYSTEM SET port = {port}")
    stopped(folder, "fast")
    started(folder)
    url = f"postgresql://postgres:none@127.0.0.1:{port}/letta"
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE EXTENSION vector")
    return url


def _free_port() -> int:
    with socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            with urllib.request.urlopen(address):
                return
        except (urllib.error.URLError, ConnectionError):
            sleep(0.5)
    raise AssertionError(f"the server ended with {process.returncode} before it answered")
