"""Fitting hits into a budget of tokens."""

import json
from collections.abc import Sequence

from memorywire.model.query import Scored
from memorywire.model.record import Record

BYTES_PER_TOKEN = 4
"""Of UTF-8: a letter of English is one, of Cyrillic or Arabic two, of Chinese, Japanese or Korean three, and
tokenizers take about so many more tokens for it."""


def tokens(record: Record) -> int:
    """Return the tokens of a memory's content: four bytes a token, rounded up; an object as its JSON."""
    return cost(wording(record))


def cost(text: str) -> int:
    """Return the tokens of a text."""
    return -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN)


def wording(record: Record) -> str:
    """Return a memory's content as a model reads it: the text, or an object as JSON."""
    content = record.content
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def pack(hits: Sequence[Scored], most: int | None, k: int) -> tuple[list[Scored], list[Scored]]:
    """Return the best `k` whole hits that fit the budget, in order, and those that did not fit."""
    if most is None:
        return list(hits[:k]), []
    chosen_hits: list[Scored] = []
    misfits: list[Scored] = []
    budget = most
    for hit in hits:
        if len(chosen_hits) == k:
            break
        price = tokens(hit.record)
        if price <= budget:
            chosen_hits.append(hit)
            budget -= price
        else:
            misfits.append(hit)
    return chosen_hits, misfits
