"""Short-term memory on Postgres."""

from tests.dreaming.test_short_term import tell_week
from tests.engine.stage import play


def test_postgres_promotes_and_archives_as_the_others_do(schema: str) -> None:
    play(schema, tell_week)
