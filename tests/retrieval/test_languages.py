"""Texts of other languages than English are told apart, stemmed by their own rules, and found."""

from pathlib import Path

import pytest

from memorywire.search.text import find_language, query_terms, split_words, terms
from memorywire.sync import Memory
from tests.cli.shell import Shell

SENTENCES = {
    "ru": "Совещание перенесли на пятницу",
    "ar": "تم نقل الاجتماع إلى يوم الجمعة",
    "el": "Η συνάντηση μεταφέρθηκε την Παρασκευή",
    "hi": "बैठक शुक्रवार को होगी",
    "zh": "会议改到星期五",
    "ja": "会議は金曜日に変わりました",
    "ko": "회의가 금요일로 변경되었습니다",
}


@pytest.mark.parametrize(("language", "text"), SENTENCES.items())
def test_the_script_of_a_sentence_shows_its_language(language: str, text: str) -> None:
    assert find_language(text, split_words(text)) == language


@pytest.mark.parametrize(
    "text", ["Mia's bike", "L'été à Nice", "Die Häuser", "می‌خواهم", "Нарада їхня", "", "??", "Ana 猫"]
)
def test_an_unclear_language_is_unknown(text: str) -> None:
    assert find_language(text, split_words(text)) == ""


@pytest.mark.parametrize(
    ("memory", "query"),
    [
        ("Мою машину отремонтировали", "Где моя машина?"),
        ("السيارات في الشوارع", "أين السيارة التي في الشارع"),
        ("Τα σπίτια στη θάλασσα", "Πού είναι το σπίτι;"),
    ],
)
def test_a_word_is_found_in_another_form_of_its_language(memory: str, query: str) -> None:
    assert set(query_terms(query)) & terms(memory).keys()


def test_stop_words_of_the_language_are_no_terms() -> None:
    assert query_terms("Где же моя собака?") == query_terms("собака") != []


def test_a_name_is_found_from_a_query_in_another_script() -> None:
    assert set(query_terms("where does Carlos live?")) & terms("Carlos живёт в Москве с детьми").keys()


def test_english_terms_are_as_they_were() -> None:
    assert terms("The dogs of Ana are running") == {"dog": 1, "ana": 1, "run": 1}


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{folder}/m.db"])
def test_a_recall_in_another_language_finds_it_and_says_that_words_decide(tmp_path: Path, url: str) -> None:
    with Memory("a", [url.format(folder=tmp_path)]) as memory:
        memory.remember("Мою машину отремонтировали во Франкфурте")
        memory.remember("Моя сестра учится играть на пианино")
        answer = memory.recall("Где моя машина?", k=1)
        assert [hit.text for hit in answer] == ["Мою машину отремонтировали во Франкфурте"]
        assert answer.degraded == ("language",)
        assert memory.recall("where is the car?").degraded == ()


def test_the_command_line_says_it(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.remember("Мою машину отремонтировали")
    said = shell("recall", "Где моя машина?").out
    assert "does not know the language" in said
    assert "incomplete answer" not in said


def test_a_text_that_the_embedder_cannot_read_is_not_called_damaged(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with Memory("a", [url]) as memory:
        memory.remember("会议改到星期五")
    with Memory("a", [url]) as memory:
        assert memory.recall("会议").degraded == ("language",)
