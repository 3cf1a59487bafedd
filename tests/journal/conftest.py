"""A server of their own for journals that live in Postgres."""

import os
from collections.abc import Iterator

import pytest

from tests.postgres.conftest import running, schema_of
from tests.postgres.desk import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    yield from running("journal")


@pytest.fixture
def schema(server: Server) -> Iterator[str]:
    """The URL of a schema that is not there yet, and is gone afterwards."""
    yield from schema_of(server, f"j{os.urandom(6).hex()}")
