"""With `explain` a recall tells which word of a memory answered which word of the question."""

from pathlib import Path

import pytest

from memorywire.model.answers import WordMatch
from memorywire.sync import Memory

NOTES = [
    "My pup chewed the rug yesterday",
    "The staging database runs version 2.14.0 since March",
    "Bob drives a red Fabia",
]
URLS = ["memory://", "sqlite:///{folder}/m.db"]


def explain(memory: Memory, query: str) -> dict[str, tuple[WordMatch, ...]]:
    return {hit.text: hit.words or () for hit in memory.recall(query, explain=True, min_relevance="off")}


def words_of(found: tuple[WordMatch, ...]) -> dict[str, WordMatch]:
    return {one.word: one for one in found}


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("query", ["what did the dog do to the carpet?", "which version, 2.14.0 of March?"])
def test_the_words_add_up_to_what_the_ranker_used(tmp_path: Path, url: str, query: str) -> None:
    """Proves RC-22."""
    with Memory("a", [url.format(folder=tmp_path)]) as memory:
        memory.remember_many([{"content": note} for note in NOTES])
        for hit in memory.recall(query, explain=True, min_relevance="off"):
            words = hit.words or ()
            assert sum(one.weight for one in words) == pytest.approx(1)
            assert sum(one.weight * one.match for one in words) == pytest.approx(hit.signals["words"])


@pytest.mark.parametrize("url", URLS)
def test_each_word_names_the_word_that_answered_it(tmp_path: Path, url: str) -> None:
    with Memory("a", [url.format(folder=tmp_path)]) as memory:
        memory.remember_many([{"content": note} for note in NOTES])
        explained = explain(memory, "what did the dog do to the carpet?")
        pets, car = words_of(explained[NOTES[0]]), words_of(explained[NOTES[2]])
    assert (pets["dog"].nearest, pets["dog"].answered) == ("pup", True)
    assert (pets["carpet"].nearest, pets["carpet"].answered) == ("rug", True)
    assert not car["dog"].answered
    assert not car["carpet"].answered


def test_numbers_identifiers_and_dates_are_compared_exactly() -> None:
    with Memory("a", ["memory://"]) as memory:
        memory.remember_many([{"content": note} for note in NOTES])
        explained = explain(memory, "did version 2.14.0 start in March or June?")
    words = words_of(explained[NOTES[1]])
    assert [(words[name].weight, words[name].match) for name in ("2.14.0", "March", "June")] == [
        (0.0, 1.0),
        (0.0, 1.0),
        (0.0, 0.0),
    ]
    assert words["June"].nearest is None
    assert "14" not in words  # a part of the version


def test_words_stand_in_the_order_of_the_question() -> None:
    with Memory("a", ["memory://"]) as memory:
        memory.remember(NOTES[1])
        [words] = explain(memory, "Since March the database, or the staging?").values()
    assert [one.word for one in words] == ["since", "March", "the", "database", "or", "the", "staging"]


def test_without_tokens_every_word_is_compared_exactly() -> None:
    with Memory("a", ["memory://"], embedder="minilm?tokens=off") as memory:
        memory.remember(NOTES[0])
        [words] = explain(memory, "which rugs did the pup chew?").values()
    assert {one.word: (one.match, one.nearest) for one in words} == {
        "rugs": (1.0, "rug"),
        "pup": (1.0, "pup"),
        "chew": (1.0, "chewed"),
    }


def test_chinese_tells_which_of_its_signs_were_found() -> None:
    with Memory("a", ["memory://"]) as memory:
        memory.remember("今天我在北京吃了烤鸭")
        [[word]] = explain(memory, "吃了什么烤鸭").values()
    assert word.answered
    assert (word.nearest or "").split() == ["吃了", "烤鸭"]


def test_a_near_miss_shows_the_words_that_found_nothing() -> None:
    with Memory("a", ["memory://"]) as memory:
        memory.remember(NOTES[2])
        answer = memory.recall("which telescope found the ninth planet?", explain=True)
    [miss] = answer.near_misses or ()
    assert {one.word for one in miss.words or () if not one.answered} >= {"telescope", "ninth", "planet"}


def test_nothing_is_told_of_words_unless_it_is_asked_for() -> None:
    with Memory("a", ["memory://"]) as memory:
        memory.remember(NOTES[0])
        assert [hit.words for hit in memory.recall("what did the dog do?", min_relevance="off")] == [None]


@pytest.mark.parametrize("url", URLS)
def test_among_many_alike_the_equal_text_is_first_and_scores_differ(tmp_path: Path, url: str) -> None:
    notes = [f"Host web-{n} runs nginx {n % 7}.{n % 5}.{n} in rack {n % 9}" for n in range(120)]
    with Memory("a", [url.format(folder=tmp_path)]) as memory:
        memory.remember_many([{"content": note} for note in notes])
        for note in notes[::10]:
            first, second = memory.recall(note, min_relevance="off", k=2)
            assert first.text == note
            assert 1 > first.score > second.score
