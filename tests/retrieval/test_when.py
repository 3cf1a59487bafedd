"""Calendar words become the stretch of time a person would mean, or nothing."""

from datetime import UTC, datetime

import pytest

from memorywire.retrieval.when import stretches

NOW = int(datetime(2023, 5, 30, 20, 42, tzinfo=UTC).timestamp() * 1000)  # a Tuesday


def said(text: str) -> list[tuple[str, str]]:
    def day(moment: int) -> str:
        return f"{datetime.fromtimestamp(moment / 1000, UTC):%Y-%m-%d}"

    return [(day(start), day(end)) for start, end in stretches(text, NOW)]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("what did I do yesterday?", "2023-05-29", "2023-05-30"),
        ("today's plan", "2023-05-30", "2023-05-31"),
        ("the talk on 21 January, 2022", "2022-01-21", "2022-01-22"),
        ("the talk on January 21st 2022", "2022-01-21", "2022-01-22"),
        ("on the 3rd of March", "2023-03-03", "2023-03-04"),
        ("on December 3", "2022-12-03", "2022-12-04"),
        ("in May 2023", "2023-05-01", "2023-06-01"),
        ("what happened in March?", "2023-03-01", "2023-04-01"),
        ("in August", "2022-08-01", "2022-09-01"),
        ("in 2021", "2021-01-01", "2022-01-01"),
        ("summer of 2022", "2022-06-01", "2022-09-01"),
        ("last spring", "2022-03-01", "2022-06-01"),
        ("last winter", "2022-12-01", "2023-03-01"),
        ("last week", "2023-05-22", "2023-05-29"),
        ("last month", "2023-04-01", "2023-05-01"),
        ("this year", "2023-01-01", "2024-01-01"),
        ("last Friday", "2023-05-26", "2023-05-27"),
        ("three days ago", "2023-05-27", "2023-05-28"),
        ("two weeks ago", "2023-05-13", "2023-05-20"),
        ("a couple of months ago", "2023-03-16", "2023-04-16"),
    ],
)
def test_a_time_is_understood(text: str, start: str, end: str) -> None:
    assert said(text) == [(start, end)]


@pytest.mark.parametrize(
    "text", ["", "may I go?", "march on", "31 February 2020", "version 2021", "in the year 3021", "in 0000"]
)
def test_what_is_no_time_is_not_used(text: str) -> None:
    assert said(text) == []


def test_several_times_come_in_the_order_they_are_said() -> None:
    assert said("between last June and three days ago") == [
        ("2022-06-01", "2022-07-01"),
        ("2023-05-27", "2023-05-28"),
    ]
