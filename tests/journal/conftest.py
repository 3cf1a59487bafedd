"""The server of the Postgres tests, for journals that live there."""

from tests.postgres.conftest import schema, server

__all__ = ["schema", "server"]
