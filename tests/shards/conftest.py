"""Two real servers, and a directory of shards on them."""

import os
from collections.abc import Iterator

import psycopg
import pytest

from tests.postgres.crash import serving
from tests.postgres.desk import Server


@pytest.fixture(scope="session")
def servers() -> Iterator[tuple[Server, Server]]:
    """Of their own, whatever server other tests were given: replication goes from one to the other."""
    with serving("shard-a") as (_, one), serving("shard-b") as (_, other):
        yield one, other


@pytest.fixture
def urls(servers: tuple[Server, Server]) -> Iterator[tuple[str, str, str]]:
    """Of a directory and of two shards, each on a server of its own."""
    name = f"s{os.urandom(5).hex()}"
    one, other = servers
    yield one.url(f"{name}_map"), one.url(name), other.url(name)
    for server in servers:
        with psycopg.connect(server.dsn, autocommit=True) as db:
            for schema in (f"{name}_map", name):
                db.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
