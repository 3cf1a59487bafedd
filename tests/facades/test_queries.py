"""What is no query is refused by every face of a memory, and over HTTP, with one problem."""

from collections.abc import Iterator
from typing import Any

import pytest

from memorywire import Memory
from memorywire.model.errors import InvalidRequest
from tests.engine.quick import Quick
from tests.engine.stage import HandClock
from tests.http.server import Server, at, serving
from tests.kv.stage import play

NO_QUERIES = {
    "empty": "",
    "spaces": " \n\t",
    "without width": "\u200b\u200d\ufeff",
    "long": "x" * 8_193,
    "number": 5,
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(embedder=Quick()) as running:
        yield running


@pytest.mark.parametrize("query", NO_QUERIES.values(), ids=NO_QUERIES)
def test_what_is_no_query_is_the_same_problem_everywhere(query: Any, server: Server) -> None:
    async def asked(memory: Memory, clock: HandClock) -> list[dict[str, str]]:
        problems = []
        for ask in (memory.recall, memory.kv.search, memory.layer.recall, memory.harness.search):
            await ask("tea")
            with pytest.raises(InvalidRequest) as caught:
                await ask(query)
            problems.append(_what_is_wrong(caught.value.problem()))
        return problems

    first, *others = play(asked)
    assert first["field"] == "query"
    body = {"agent_id": "a", "query": query}
    for path, sent in (
        (at("recall"), body),
        (at("layer", "recall"), body),
        (at("kv-search", "agent", "a"), {"query": query}),
    ):
        others.append(_what_is_wrong(server.client.post(path, sent).json))
    assert others == [first] * 6


def _what_is_wrong(problem: dict[str, str]) -> dict[str, str]:
    """Without what to do about it, where each door points to its own words."""
    return {name: said for name, said in problem.items() if name != "fix"}
