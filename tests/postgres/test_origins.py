"""The recall log of Postgres finds recalls by session, run and trace."""

from tests.engine.stage import play
from tests.http.test_origins import ask_for_two_runs


def test_postgres_finds_recalls_as_the_others_do(schema: str) -> None:
    play(schema, ask_for_two_runs)
