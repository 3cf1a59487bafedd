"""LangGraph's stores, for real: the one in memory and the one in Postgres."""

from pathlib import Path
from urllib.parse import quote

import pytest

from tests.postgres.crash import serving
from tests.vendors.environments import examined, judged, keeps_every_promise
from tests.vendors.inside.judge import claims

pytestmark = pytest.mark.products


def test_the_store_in_memory_keeps_every_promise() -> None:
    keeps_every_promise(examined("langgraph", "langgraph://"))


def test_the_store_in_postgres_keeps_every_promise(tmp_path: Path) -> None:
    with serving("langgraph") as (_, server):
        url = f"langgraph://{tmp_path}/books.db?postgres={quote(server.dsn, safe='')}"
        keeps_every_promise(examined("langgraph", url))


@pytest.mark.parametrize("claim", claims("langgraph"))
def test_langgraph(claim: str) -> None:
    assert judged("langgraph", "langgraph")[claim] is None
