"""One real server for all tests of this folder; without one they fail, they are not skipped."""

import os
from collections.abc import Iterator

import psycopg
import pytest

from tests.postgres.crash import serving
from tests.postgres.desk import Server


def running(name: str) -> Iterator[Server]:
    """The server that was given, or one of its own for the tests of this name."""
    given = os.environ.get("MEMORYWIRE_TEST_PG")
    if given:
        yield Server(given)
        return
    with serving(name) as (_, own):
        yield own


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    yield from running("tests")


@pytest.fixture
def schema(server: Server) -> Iterator[str]:
    """The URL of a schema that is not there yet, and is gone afterwards."""
    yield from schema_of(server, f"t{os.urandom(6).hex()}")


@pytest.fixture(scope="session")
def shared(server: Server) -> Iterator[str]:
    """The URL of a schema for tests that make up agents of their own."""
    yield from schema_of(server, f"shared{os.urandom(6).hex()}")


def schema_of(server: Server, name: str) -> Iterator[str]:
    yield server.url(name)
    with psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
