"""Explains which word of a memory matched which word of a query; imported only for `explain`.

The ranker records the weight of each token of the query and the nearest token of the memory
(`measure_tokens`). The recall then maps tokens to words (`explain_words`). Numbers, identifiers and dates
have no weight in the word match and are compared by index terms, as are all words if there are no tokens.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from memorywire.model.answers import WordMatch
from memorywire.model.query import QueryTokens, Scored, TokenMatch
from memorywire.search.embed import Embedder
from memorywire.search.relevance import STEPS, WIDTH, WORD_FLOOR, is_compared_exactly, read_query_tokens
from memorywire.search.text import UNSPACED, find_language, index_word, split_words, terms, word_terms


def measure_tokens(
    query: QueryTokens, weights: Sequence[float], memories: Sequence[bytes | None]
) -> list[tuple[TokenMatch, ...]]:
    """Return for each memory the weight of each query token, as a share of all, and its nearest token.

    The products of weights and matches add up to the signal `words`. Empty if no tokens were compared.
    """
    return [_measure(query, weights, memory) if memory else () for memory in memories]


def _measure(query: QueryTokens, weights: Sequence[float], memory: bytes) -> tuple[TokenMatch, ...]:
    import numpy as np  # loaded for the first search

    total = sum(weights)
    if len(memory) % WIDTH or total <= 0:
        return ()
    matrix = np.frombuffer(query.matrix, np.int8).reshape(-1, WIDTH).astype(np.float32)
    products = matrix @ np.frombuffer(memory, np.int8).reshape(-1, WIDTH).astype(np.float32).T
    nearest = products.argmax(axis=1).tolist()
    matches = (products.max(axis=1).astype(np.float64) / (STEPS * STEPS)).tolist()
    return tuple(
        TokenMatch(query.words[at], weight / total, matches[at], nearest[at])
        for at, weight in enumerate(weights)
    )


async def explain_words(
    query: str, hits: Sequence[Scored], embedder: Embedder
) -> dict[str, tuple[WordMatch, ...]]:
    """Return the words of the query in order, with the match of each in a memory, by the memory's id.

    The texts are embedded again to get the words of their tokens.
    """
    compared = [hit.record for hit in hits if hit.tokens]
    vectors = await embedder.embed([record.meaning for record in compared]) if compared else []
    tokens = {record.id: read_query_tokens(vector) for record, vector in zip(compared, vectors, strict=True)}
    explained = {}
    for hit in hits:
        known = tokens.get(hit.record.id)
        by_tokens = [] if known is None else [*_join_tokens(hit.tokens, known.words)]
        is_left = is_compared_exactly if by_tokens else bool
        by_terms = _compare_terms(query, hit.record.meaning, is_left)
        explained[hit.record.id] = _sort_words(query, [*by_tokens, *by_terms])
    return explained


def _join_tokens(tokens: Sequence[TokenMatch], words: Sequence[str]) -> Iterator[WordMatch]:
    """Join the pieces of a word to one entry: their weights summed, their matches averaged by weight."""
    for word, group in groupby(tokens, key=lambda one: one.word):
        pieces = [one for one in group if one.weight > 0]
        if not pieces:
            continue
        weight = sum(one.weight for one in pieces)
        match = sum(one.weight * one.match for one in pieces) / weight
        best = max(pieces, key=lambda one: one.match)
        nearest = words[best.nearest] if best.nearest < len(words) else None
        yield WordMatch(word, weight, match, match >= WORD_FLOOR, nearest)


def _compare_terms(query: str, text: str, is_left: Callable[[str], bool]) -> Iterator[WordMatch]:
    """Return the query words that are compared by index terms, with the share of terms that was found."""
    known, memory_words = terms(text), split_words(text)
    words = [*dict.fromkeys(split_words(query))]
    language, own = find_language(query, words), find_language(text, memory_words)
    for word in words:
        parts = word_terms(word, language)
        if not parts or not is_left(word.casefold()) or any(word in one and word != one for one in words):
            continue
        found = [part for part in parts if part in known]
        if UNSPACED.search(word):  # pairs of signs
            nearest = " ".join([one for one in found if len(one) > 1] or found)
        else:
            places = (one for one in memory_words if not set(found).isdisjoint(index_word(one, own)))
            nearest = next(places, "")
        yield WordMatch(word, 0.0, len(found) / len(parts), bool(found), nearest or None)


def _sort_words(query: str, words: Sequence[WordMatch]) -> tuple[WordMatch, ...]:
    """Sort in the order of the query; a word that occurs twice is at its second place."""
    text, after, places = query.casefold(), 0, list[int]()
    for one in words:
        place = text.find(one.word.casefold(), after if one.weight else 0)
        if one.weight and place >= 0:
            after = place
        places.append(after if place < 0 else place)
    return tuple(words[at] for at in sorted(range(len(words)), key=lambda at: (places[at], at)))
