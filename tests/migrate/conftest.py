"""A real Postgres to move memories to and from."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres.conftest import running, schema_of
from tests.postgres.desk import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    yield from running("migrate")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where keys and journals are kept that have no place beside their store."""
    monkeypatch.setenv("MEMORYWIRE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def schema(server: Server, home: Path) -> Iterator[str]:
    """The URL of a schema that is not there yet, and is gone afterwards."""
    yield from schema_of(server, f"m{os.urandom(6).hex()}")
