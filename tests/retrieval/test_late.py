"""A query is compared with the best candidates word by word, where there are tokens."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memorywire.model.query import QueryTokens
from memorywire.search.relevance import (
    ASKING,
    COMMON,
    MACHINE_SAID,
    SPOKE,
    WIDTH,
    evidence_of_words,
    match_words,
    weigh_words,
    weight,
)
from memorywire.stores.sqlite.connection import connect
from memorywire.stores.sqlite.health import find_damage
from memorywire.stores.sqlite.location import locate
from memorywire.sync import Memory
from tests.cli.shell import Shell

NOTES = [
    "My pup chewed the rug yesterday",
    "The staging database is refreshed on Sundays",
    "Bob drives a red Fabia",
    "Ana moved to Leeds in spring",
    "The invoice of March 2025 was paid late",
    "Carpets are cheaper in January",
]
QUERIES = ["what did the dog do to the carpet?", "which car does Bob have?", "when is the database copied?"]


def hits_of(memory: Memory, query: str) -> list[tuple[str, float, float | None]]:
    answer = memory.recall(query, explain=True, min_relevance="off", k=6)
    return [(hit.text, hit.score, (hit.signals or {}).get("words")) for hit in answer]


@pytest.mark.parametrize("query", QUERIES)
def test_sqlite_and_the_reference_match_words_alike(tmp_path: Path, query: str) -> None:
    answers = []
    for url in ("memory://", f"sqlite:///{tmp_path}/m.db"):
        with Memory("a", [url]) as memory:
            memory.remember_many([{"content": note} for note in NOTES])
            answers.append(hits_of(memory, query))
    assert [(text, words) for text, _, words in answers[0]] == [
        (text, words) for text, _, words in answers[1]
    ]
    assert [score for _, score, _ in answers[0]] == pytest.approx([score for _, score, _ in answers[1]])
    assert all(words is not None for _, _, words in answers[0])


def test_a_synonym_is_found_that_shares_no_word(tmp_path: Path) -> None:
    with Memory("a", [f"sqlite:///{tmp_path}/m.db"]) as memory:
        memory.remember_many([{"content": note} for note in NOTES])
        assert hits_of(memory, "what did the dog ruin?")[0][0] == NOTES[0]


@pytest.mark.parametrize("url", ["memory://", "sqlite://"])
@pytest.mark.parametrize(
    ("content", "metadata", "query", "factor"),
    [
        (NOTES[0], {}, "what did the dog ruin?", 1.0),
        (NOTES[0], {"role": "assistant"}, "what did the dog ruin?", MACHINE_SAID),
        (NOTES[0], {"role": "assistant"}, "did you say that the pup chewed something?", 1.0),
        (NOTES[0], {"speaker": "Ana"}, "what did the dog of Ana ruin?", SPOKE),
        ("Which rug did my pup chew?", {"speaker": "Ana"}, "what did the dog ruin?", 1 - ASKING),
    ],
)
def test_what_the_words_find_counts_as_the_other_evidence_does(
    url: str, content: str, metadata: dict[str, str], query: str, factor: float
) -> None:
    weights, words = [], 0.0
    for embedder in ("minilm?tokens=off", "minilm"):
        with Memory("a", [url], embedder=embedder) as memory:
            memory.remember(content, metadata=metadata, session_id="one")
            [hit] = memory.recall(query, explain=True, min_relevance="off")
        weights.append(weight(hit.score))
        words = (hit.signals or {}).get("words", 0.0)
    added = evidence_of_words(words) * factor
    assert added > 0.01
    assert weights[1] - weights[0] == pytest.approx(added, abs=1e-6)


def test_without_tokens_memories_rank_as_before(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with Memory("a", [url], embedder="minilm?tokens=off") as memory:
        memory.remember_many([{"content": note} for note in NOTES])
        plain = hits_of(memory, QUERIES[0])
    with Memory("a", [url]) as memory:  # the query has tokens, the memories have none
        assert hits_of(memory, QUERIES[0]) == plain
    assert {words for _, _, words in plain} == {None}


def test_reembed_adds_the_tokens_that_are_missing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with Memory("a", [url], embedder="minilm?tokens=off") as memory:
        memory.remember_many([{"content": note} for note in NOTES])
    done = Shell(tmp_path)("reembed", "--store", url)
    assert done.code == 0, done.err
    with Memory("a", [url]) as memory:
        assert all(words is not None for _, _, words in hits_of(memory, QUERIES[0]))


def test_an_erased_memory_leaves_no_tokens(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with Memory("a", [f"sqlite:///{path}"]) as memory:
        kept = memory.remember(NOTES[0])
        memory.remember(NOTES[1])
        memory.forget(kept.id, hard_delete=True)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM version_tokens").fetchone() == (1,)


def test_a_version_with_the_same_words_keeps_its_tokens(tmp_path: Path) -> None:
    with Memory("a", [f"sqlite:///{tmp_path}/m.db"]) as memory:
        kept = memory.remember(NOTES[0])
        memory.remember(NOTES[0], id=kept.id, if_version=1, tags=["pet"])
        [(_, _, words)] = hits_of(memory, QUERIES[0])
    assert words is not None


def test_doctor_finds_damaged_tokens(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with Memory("a", [f"sqlite:///{path}"]) as memory:
        memory.remember(NOTES[0])
    with closing(connect(locate(f"sqlite:///{path}"))) as db:
        assert find_damage(db) == []
        db.execute("UPDATE version_tokens SET tokens = zeroblob(length(tokens))")
        assert "tokens do not match" in find_damage(db)[0]


def test_numbers_and_dates_are_left_to_the_text_index() -> None:
    weights = weigh_words(
        ["march", "2025", "invoice", "the", "?"], {"invoic": 4.0, "march": 3.0, "2025": 3.0}
    )
    assert weights == [0.0, 0.0, 2.0, COMMON, 0.0]


def test_a_query_of_numbers_alone_matches_no_word() -> None:
    query = QueryTokens(("2025",), bytes(WIDTH))
    assert match_words(query, weigh_words(query.words, {"2025": 3.0}), [bytes(WIDTH)]) == [None]


@pytest.mark.parametrize("url", ["memory://", "sqlite://"])
@pytest.mark.parametrize(
    ("tokens", "newer", "first"),
    [
        ("off", "There is no place for a bike ride near the office", "two"),
        ("on", "There is no place for a bike ride near the office", "one"),
        ("on", "The bike that I ride to the office is green now", "two"),
    ],
)
def test_a_newer_session_passes_only_if_it_answers_the_words_as_well(
    url: str, tokens: str, newer: str, first: str
) -> None:
    said = {"one": "I ride my red bike to the office every day", "two": newer, "three": "The weather is fine"}
    with Memory("a", [url], embedder=f"minilm?tokens={tokens}") as memory:
        for moment, (session, words) in enumerate(said.items(), start=1):
            memory.remember(words, session_id=session, occurred_at=moment, metadata={"role": "user"})
        answer = memory.recall("what colour is the bike I ride to the office?", min_relevance="off")
        assert answer.hits[0].record.conversation == first
