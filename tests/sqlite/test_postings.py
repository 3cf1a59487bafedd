"""Which documents hold a term, however they came into the index."""

import numpy as np
import pytest

from memorywire.index import postings
from memorywire.index.postings import Postings


def test_postings_give_every_document_however_they_were_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "_MAX_TAIL", 16)
    dice = np.random.default_rng(5)
    index, held = Postings(), {}
    for number in range(120):
        terms = dice.choice(30, size=int(dice.integers(0, 6)), replace=False) - 15
        counts = dice.integers(1, 9, size=len(terms))
        index.add(terms, np.full(len(terms), number, np.int32), counts.astype(np.uint16))
        held[number] = dict(zip(terms.tolist(), counts.tolist(), strict=True))
        if number % 7 == 0:
            index.find(0)  # whoever asks puts in order what has come meanwhile
    kept = dice.random(120) < 0.6
    for _ in range(2):
        for term in range(-16, 16):
            documents, counts = index.find(term)
            wanted = {number: words[term] for number, words in held.items() if term in words}
            assert dict(zip(documents.tolist(), counts.tolist(), strict=True)) == wanted
            assert documents.tolist() == sorted(documents.tolist())
        index.compact(kept)
        survivors = [words for number, words in held.items() if kept[number]]
        held = dict(enumerate(survivors))


def test_a_short_index_tells_of_all_terms_at_one_go_what_it_tells_of_each() -> None:
    dice = np.random.default_rng(6)
    index, asked = Postings(), [3, -2, 9, 0, 40]
    for number in range(60):
        terms = dice.choice(12, size=int(dice.integers(0, 6)), replace=False) - 4
        index.add(terms, np.full(len(terms), number, np.int32), dice.integers(1, 9, len(terms)).astype("u2"))
    which, documents, counts = index.find_all(asked)
    for at, term in enumerate(asked):
        alone = [column.tolist() for column in index.find(term)]
        assert [column[which == at].tolist() for column in (documents, counts)] == alone
    assert [len(column) for column in index.find_all([])] == [0, 0, 0]
    index.compact(np.ones(60, bool))
    assert index.find_all(asked) is None  # it is in order now, and each is found faster by itself
