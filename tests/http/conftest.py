"""One server for tests that only ask; those that break things start their own."""

from collections.abc import Iterator

import pytest

from tests.http.server import Client, Server, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Open to the one local user."""
    with serving(f"sqlite://{tmp_path_factory.mktemp('http')}/memory.db") as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Server) -> Client:
    return server.client
