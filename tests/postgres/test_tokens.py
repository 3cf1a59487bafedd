"""In Postgres, too, the best candidates are compared with the query word by word."""

import asyncio

import pytest

from memorywire.search.embed import open_embedder
from memorywire.sync import Memory
from memorywire_postgres.reembed import reembed
from tests.postgres.desk import rows
from tests.retrieval.test_late import NOTES, QUERIES, hits_of


def fill(memory: Memory) -> list[str]:
    told = memory.remember_many([{"content": note, "id": f"n{at}"} for at, note in enumerate(NOTES)])
    return [one.id for one in told]


@pytest.mark.parametrize("query", QUERIES)
def test_postgres_and_the_reference_match_words_alike(schema: str, query: str) -> None:
    answers = []
    for url in ("memory://", schema):
        with Memory("a", [url]) as memory:
            fill(memory)
            answers.append([hits_of(memory, query) for _ in range(3)])  # from the tables, then from memory
    [[expected, *_], found] = answers
    for hits in found:
        assert [(text, words) for text, _, words in hits] == [(text, words) for text, _, words in expected]
        assert [score for _, score, _ in hits] == pytest.approx([score for _, score, _ in expected])


def test_an_erased_memory_leaves_no_tokens_in_postgres(schema: str) -> None:
    with Memory("a", [schema]) as memory:
        ids = fill(memory)
        memory.forget(ids[0], hard_delete=True)
        left = rows(schema, "SELECT id, tokens IS NULL, tokens_next IS NULL FROM version ORDER BY id")
        assert left[0] == (ids[0], True, True)
        assert [has_none for _, has_none, _ in left[1:]] == [False] * (len(NOTES) - 1)


def test_reembed_adds_the_tokens_that_are_missing_in_postgres(schema: str) -> None:
    with Memory("a", [schema], embedder="minilm?tokens=off") as memory:
        fill(memory)
    embedder = open_embedder("minilm")

    async def add() -> int:
        return await reembed(schema, space=embedder.space, embed=embedder.embed, on_progress=lambda *_: None)

    assert asyncio.run(add()) == len(NOTES)
    assert asyncio.run(add()) == 0
    with Memory("a", [schema]) as memory:
        assert all(words is not None for _, _, words in hits_of(memory, QUERIES[0]))
