"""How many things a query asks for is told by how it joins them."""

import pytest

from memorywire.search.question import count_things


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("what does Ana drink?", 1),
        ("what does Ana drink, and when does she get up?", 2),
        ("what does Ana drink and on which day does she rest?", 2),
        ("what can Ana, Ben and Zoë not eat?", 3),
        ("where do Ana and Ben live and how do they get to work?", 3),
    ],
)
def test_joined_questions_and_joined_names_are_counted(text: str, count: int) -> None:
    assert count_things(text) == count


@pytest.mark.parametrize("text", ["salt and pepper", "I like tea, what else is there?", "", "and then?"])
def test_other_words_may_be_joined_without_asking_for_more(text: str) -> None:
    assert count_things(text) == 1
