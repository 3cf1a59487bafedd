"""Beside its vector, a text has the direction of each of its tokens."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memorywire_minilm
from memorywire.model.errors import InvalidRequest
from memorywire.search.embed import open_embedder

TEXTS = [
    "Ana is allergic to peanuts",
    "",
    "don't! [SEP] naïve café, web-24 at 10.0.3.14:8080",
    "word " * 400,
    "мир и труд",
]


@cache
def loaded(kernel: str | None = None, tokens: bool = True) -> memorywire_minilm.Model:
    return memorywire_minilm.load(kernel, tokens=tokens)


@pytest.mark.parametrize("kernel", memorywire_minilm.kernels())
def test_every_kernel_gives_the_same_tokens(kernel: str) -> None:
    tokens = [reading.tokens for reading in loaded(kernel).embed(TEXTS)]
    assert tokens == [reading.tokens for reading in loaded("numpy").embed(TEXTS)]
    assert [len(one) // memorywire_minilm.TOKEN for one in tokens][:2] == [5, 0]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_each_token_has_a_word(text: str) -> None:
    [reading] = loaded().embed([text])
    assert len(reading.words) * memorywire_minilm.TOKEN == len(reading.tokens)


def test_a_word_in_pieces_is_the_word_of_each_piece() -> None:
    [reading] = loaded().embed(["Embeddings, please"])
    assert reading.words == [*["embeddings"] * 4, ",", "please"]


def test_what_is_begun_has_the_same_tokens() -> None:
    [begun], [embedded] = loaded().begin(TEXTS[:1])(), loaded().embed(TEXTS[:1])
    assert (begun, begun.tokens, begun.words) == (embedded, embedded.tokens, embedded.words)


def test_a_text_that_cannot_be_read_and_a_task_have_no_tokens() -> None:
    [unread] = loaded().embed(["мир и труд"])
    [task] = memorywire_minilm.load(tasks=True).embed(["Suggest a dinner"])
    assert (unread.tokens, task.tokens, loaded(tokens=False).embed(TEXTS[:1])[0].tokens) == (b"", b"", b"")


@pytest.mark.parametrize("query", ["tokens=maybe", "tokens=off&tokens=off", "token=off", "threads=", "&"])
def test_unknown_options_of_the_embedder_are_refused(query: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        open_embedder(f"minilm?{query}")
    assert caught.value.field == "embedder"
