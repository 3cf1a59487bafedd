"""A text is embedded once, in this run and the next, and never across embedding spaces."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing

import pytest

from memorywire.model.errors import InvalidRequest
from memorywire.model.space import Space
from memorywire_evals.run import CachedEmbedder


class Counting:
    """An embedder of a space, that remembers what it was asked."""

    def __init__(self, model: str = "letters") -> None:
        self.space = Space(model=model, revision="1", dimension=1)
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.asked += texts
        return [f"{self.space.model}:{text}".encode() for text in texts]

    async def close(self) -> None:
        self.asked = []


def _embed(embedder: CachedEmbedder, *texts: str) -> list[bytes]:
    return asyncio.run(embedder.embed(texts))


def test_vectors_come_in_the_order_asked_and_each_text_is_embedded_once():
    inner = Counting()
    embedder = CachedEmbedder(inner)
    assert _embed(embedder, "b", "a", "b") == [b"letters:b", b"letters:a", b"letters:b"]
    assert _embed(embedder, "a", "c") == [b"letters:a", b"letters:c"]
    assert inner.asked == ["b", "a", "c"]
    assert (embedder.hits, embedder.misses) == (2, 3)


def test_a_later_run_finds_them_in_the_file(tmp_path):
    path = tmp_path / "folder" / "vectors.db"
    _embed(first := CachedEmbedder(Counting(), path), "a")
    asyncio.run(first.release())
    again = Counting()
    assert _embed(CachedEmbedder(again, path), "a") == [b"letters:a"]
    assert again.asked == []


def test_another_space_has_vectors_of_its_own(tmp_path):
    path = tmp_path / "vectors.db"
    _embed(CachedEmbedder(Counting(), path), "a")
    assert _embed(CachedEmbedder(Counting("other"), path), "a") == [b"other:a"]


def test_closing_a_memory_leaves_the_embedder_to_the_next(tmp_path):
    inner = Counting()
    embedder = CachedEmbedder(inner)
    _embed(embedder, "a")
    asyncio.run(embedder.close())
    assert inner.asked == ["a"]
    assert _embed(embedder, "a", "b") == [b"letters:a", b"letters:b"]


def test_a_file_of_something_else_is_refused_and_left_as_it_is(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text('{"id": "m1", "memory": "Ana drinks green tea"}\n', encoding="utf-8")
    with pytest.raises(InvalidRequest, match="cannot be used for embedded texts") as refused:
        CachedEmbedder(Counting(), file)
    assert refused.value.field == "cache"
    assert "green tea" in file.read_text(encoding="utf-8")


class Weary(Counting):
    """Gives up after so many calls."""

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        if self.asked:
            raise RuntimeError("enough")
        return await super().embed(texts)


def test_of_very_many_texts_those_that_were_embedded_before_a_cut_are_kept(tmp_path):
    texts = [str(number) for number in range(2_000)]
    first = CachedEmbedder(weary := Weary(), tmp_path / "vectors.db")
    with pytest.raises(RuntimeError, match="enough"):
        _embed(first, *texts)
    done = set(weary.asked)
    asyncio.run(first.release())
    again = Counting()
    assert len(_embed(CachedEmbedder(again, tmp_path / "vectors.db"), *texts)) == 2_000
    assert set(again.asked) == set(texts) - done != set(texts)


def test_a_run_reads_what_is_embedded_while_another_writes(tmp_path):
    path = tmp_path / "vectors.db"
    _embed(CachedEmbedder(Counting(), path), "a")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM vector")
        again = Counting()
        assert _embed(CachedEmbedder(again, path), "a") == [b"letters:a"]
        assert again.asked == []
        other.execute("ROLLBACK")
