"""Calendar words become the stretch of time a person would mean, or nothing."""

from datetime import UTC, datetime

import pytest

from memorywire.search.dates import stretches

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
        ("the log of 2022-08-10", "2022-08-10", "2022-08-11"),
        ("between March and May 2022", "2022-03-01", "2022-06-01"),
        ("from November to February 2022", "2021-11-01", "2022-03-01"),
        ("from November 2021 until February", "2021-11-01", "2022-03-01"),
        ("between August and October", "2022-08-01", "2022-11-01"),
        ("between November and February", "2022-11-01", "2023-03-01"),
        ("March through May 2022", "2022-03-01", "2022-06-01"),
        ("March-May 2022", "2022-03-01", "2022-06-01"),
        ("between the 3rd and the 10th of March 2022", "2022-03-03", "2022-03-11"),
        ("from 28 December to 3 January", "2022-12-28", "2023-01-04"),
        ("March 3-10, 2022", "2022-03-03", "2022-03-11"),
        ("between 2019 and 2021", "2019-01-01", "2022-01-01"),
        ("from 2022-03-01 to 2022-05-15", "2022-03-01", "2022-05-16"),
        ("between last June and three days ago", "2022-06-01", "2023-05-28"),
        ("two days before 10 August 2022", "2022-08-10", "2022-08-11"),
        ("the Sunday after 10 August 2022", "2022-08-10", "2022-08-11"),
        ("the day before yesterday", "2023-05-28", "2023-05-29"),
        ("what did I eat last night?", "2023-05-29", "2023-05-30"),
        ("this morning", "2023-05-30", "2023-05-31"),
        ("what is on tomorrow?", "2023-05-31", "2023-06-01"),
        ("next month", "2023-06-01", "2023-07-01"),
        ("next Friday", "2023-06-02", "2023-06-03"),
        ("this Monday", "2023-05-29", "2023-05-30"),
        ("last weekend", "2023-05-27", "2023-05-29"),
        ("this weekend", "2023-06-03", "2023-06-05"),
        ("the week before last", "2023-05-15", "2023-05-22"),
        ("in the last 3 weeks", "2023-05-09", "2023-05-31"),
        ("in the past month", "2023-04-30", "2023-05-31"),
        ("over the past few days", "2023-05-27", "2023-05-31"),
        ("half a year ago", "2022-08-30", "2023-03-01"),
        ("a few days ago", "2023-05-26", "2023-05-29"),
        ("twenty days ago", "2023-05-10", "2023-05-11"),
        ("last May", "2022-05-01", "2022-06-01"),
        ("in March of 2022", "2022-03-01", "2022-04-01"),
        ("in Sept. 2022", "2022-09-01", "2022-10-01"),
        ("summer of '22", "2022-06-01", "2022-09-01"),
        ("mid-March", "2023-03-01", "2023-04-01"),
        ("in late 2022", "2022-01-01", "2023-01-01"),
        ("the figures of Q3 2022", "2022-07-01", "2022-10-01"),
        ("the figures of Q3", "2022-07-01", "2022-10-01"),
        ("the log of 2022-08", "2022-08-01", "2022-09-01"),
        ("the log of 2022/08/10", "2022-08-10", "2022-08-11"),
    ],
)
def test_a_time_is_understood(text: str, start: str, end: str) -> None:
    assert said(text) == [(start, end)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "may I go?",
        "march on",
        "31 February 2020",
        "version 2021",
        "in the year 3021",
        "in 0000",
        "before lunch",
        "since we met",
        "from 2022-13-40 to 2022-14-01",
        "between you and May",
        "I think this may be why",
        "how long did it last? a week",
        "did the trip last two weeks?",
        "2022-13",
    ],
)
def test_what_is_no_time_is_not_used(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("what changed since June 2022?", "2022-06-01", None),
        ("since last week", "2023-05-22", None),
        ("since 2021", "2021-01-01", None),
        ("after March", "2023-04-01", None),
        ("after the 10th of August 2022", "2022-08-10", None),  # on which it may have been told
        ("before May 2022", None, "2022-05-01"),
        ("before 2022-05-03", None, "2022-05-03"),
        ("until May 2022", None, "2022-06-01"),
        ("till yesterday", None, "2023-05-30"),
    ],
)
def test_an_open_end_is_all_the_time_on_that_side(text: str, start: str | None, end: str | None) -> None:
    assert said(text) == [(start or "1970-01-01", end or "9999-12-31")]


@pytest.mark.parametrize("text", ["today", "next year", "in December", "the past 999 years", "999 years ago"])
@pytest.mark.parametrize("now", [0, 253402300799999])
def test_the_ends_of_the_calendar_have_times_too(text: str, now: int) -> None:
    assert len(stretches(text, now)) == 1


def test_several_times_come_in_the_order_they_are_said() -> None:
    assert said("in last June or three days ago") == [
        ("2022-06-01", "2022-07-01"),
        ("2023-05-27", "2023-05-28"),
    ]
