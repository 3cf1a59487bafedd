"""One real server for all tests of this folder; without one they fail, they are not skipped."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.gates.source import ROOT
from tests.postgres.desk import Server

SCRIPT = [sys.executable, str(ROOT / "scripts" / "postgres")]


def started(folder: Path) -> str:
    """The URL of the server in this folder."""
    done = subprocess.run([*SCRIPT, "start", str(folder)], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def stopped(folder: Path, how: str) -> None:
    subprocess.run([*SCRIPT, "stop", str(folder), how], check=True)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    given = os.environ.get("MEMORYWIRE_TEST_PG")
    if given:
        yield Server(given)
        return
    # Not below pytest's own folder, which only its owner may enter: the server runs as somebody else.
    folder = Path(f"/tmp/memorywire-pg-{os.getpid()}")
    url = started(folder)
    try:
        yield Server(url)
    finally:
        stopped(folder, "immediate")
        subprocess.run(["rm", "-rf", str(folder)], check=True)


@pytest.fixture
def schema(server: Server) -> Iterator[str]:
    """The URL of a schema that is not there yet, and is gone afterwards."""
    name = f"t{os.urandom(6).hex()}"
    yield server.url(name)
    with psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@pytest.fixture(scope="session")
def shared(server: Server) -> Iterator[str]:
    """The URL of a schema for tests that make up agents of their own."""
    yield server.url("shared")
    with psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute("DROP SCHEMA IF EXISTS shared CASCADE")
