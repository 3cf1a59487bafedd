"""Finds the times that a question names: resolves calendar words to intervals, relative to a moment.

English only, and deliberately limited: text that matches no rule has no effect.
"""

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_COUNTS: dict[str, float] = {
    **{
        word: number
        for number, word in enumerate(
            "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
            "sixteen seventeen eighteen nineteen twenty".split(),
            start=1,
        )
    },
    **{"thirty": 30, "a": 1, "an": 1, "half a": 0.5, "couple": 2, "couple of": 2, "a couple": 2},
    **{"a couple of": 2, "few": 3, "a few": 3, "several": 4},
}
_VAGUE = {"few", "a few", "several"}
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}

_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_FULL_YEAR = r"(?:19|20)\d{2}"
_YEAR = rf"(?:{_FULL_YEAR}|['’]\d{{2}})"
_OF = r"\.?(?:,| of)?"
_SEASON = "|".join(_SEASONS)
_COUNT = "|".join(sorted(_COUNTS, key=len, reverse=True)) + r"|\d{1,3}"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_WEEKDAY = "|".join(_WEEKDAYS)

# "The last two weeks"; without such a word before it, "last" may be a verb.
_PASSED = r"\b(?:(?:the|these|my|our|in|for|over|during|within) last|past)"

# The possible ends of a range; the rules of `_POINTS` parse them.
_DATED = rf"(?:{_DAY}(?: of)? (?:{_MONTH})|(?:{_MONTH})\.? {_DAY}|(?:{_MONTH}))\b(?:{_OF} {_YEAR}\b)?"
_ISO = rf"{_FULL_YEAR}(?:-\d{{2}}-\d{{2}}|/\d{{2}}/\d{{2}})"
_END = (
    rf"(?:{_DATED}|{_ISO}|{_YEAR}|(?:{_SEASON}) (?:of )?{_YEAR}|yesterday|today"
    rf"|(?:last|this) (?:{_MONTH}|{_SEASON}|{_WEEKDAY}|week|month|year)"
    rf"|(?:{_COUNT}) (?:day|week|month|year)s? ago)"
)
_UP_TO = r"(?: (?:to|until|till|through) (?:the )?| ?[-–] ?)"
# "Two days before", "the Monday after" and "right before" a day mean one other day, not all of them.
_NEARBY = "day days week weeks weekend month months year years night just right shortly soon".split()
_CLOSE = "".join(rf"(?<!\b{word} )" for word in (*_NEARBY, *_WEEKDAYS))
_BARE_DAY = re.compile(rf"({_DAY})(?=$|{_OF} {_YEAR}$)")
_BARE_DATE = re.compile(rf"(?!.*\b{_YEAR}$){_DATED}")
_NAMED_MONTH = re.compile(rf"\b(?:{_MONTH})\b")
_TWO_DIGITS = re.compile(r"['’](\d\d)")
_ONE_DAY = timedelta(days=1)
_EVER = datetime.fromtimestamp(0, UTC)
_FOR_EVER = datetime(9999, 12, 31, tzinfo=UTC)
_LATEST = datetime(9990, 1, 1, tzinfo=UTC)  # from here on the calendar has no room for next years

# Every rule below needs one of these.
_HINT = re.compile(rf"\d|day|week|month|year|night|morning|noon|evening|tomorrow|\b(?:{_SEASON}|{_MONTH})\b")


Stretch: TypeAlias = tuple[int, int]  # from, up to but not including; epoch milliseconds


def stretches(text: str, now: int) -> tuple[Stretch, ...]:
    """Return every interval that the text names, in order; a word belongs to the first rule that matches."""
    rest = text.lower()
    if not _HINT.search(rest):
        return ()
    moment = min(datetime.fromtimestamp(now / 1000, UTC), _LATEST)
    today = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    starts: list[tuple[int, Stretch]] = []
    for pattern, read in _RULES:
        matches = list(pattern.finditer(rest))
        for match in matches:
            days = read(match, today)
            if days is not None:
                starts.append((match.start(), _stretch(*days)))
        if matches:
            rest = pattern.sub(lambda match: " " * len(match.group()), rest)
    return tuple(stretch for _, stretch in sorted(starts, key=lambda pair: pair[0]))


_Days = tuple[datetime, datetime]
_Read = Callable[[re.Match[str], datetime], _Days | None]


def _stretch(first: datetime, behind: datetime) -> Stretch:
    return int(first.timestamp() * 1000), int(behind.timestamp() * 1000)


def _date(match: re.Match[str], today: datetime) -> _Days | None:
    """Parse a full date, or a day and month: then the latest such day that is not in the future."""
    month, day = _MONTHS[match["month"]], int(match["day"])
    year = match["year"]
    for candidate in [_number(year)] if year else [today.year, today.year - 1]:
        if 1 <= day <= monthrange(candidate, month)[1]:
            first = datetime(candidate, month, day, tzinfo=UTC)
            if year or first <= today:
                return first, first + timedelta(days=1)
    return None


def _iso(match: re.Match[str], today: datetime) -> _Days | None:
    year, month, day = map(int, re.split("[-/]", match.group()))
    if not (1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]):
        return None
    first = datetime(year, month, day, tzinfo=UTC)
    return first, first + timedelta(days=1)


def _range(match: re.Match[str], today: datetime) -> _Days | None:
    """Parse a range; an end without a month or year takes it from the other end."""
    first = _with_month(match["first"], match["last"])
    last = _with_month(match["last"], match["first"])
    if _BARE_DATE.fullmatch(first):
        end = _point(last, today)
        begin = end and _beside(first, end[0], -1, today)
    else:
        begin = _point(first, today)
        bare = _BARE_DATE.fullmatch(last)
        end = _beside(last, begin[0], 1, today) if begin and bare else _point(last, today)
    return (min(begin[0], end[0]), max(begin[1], end[1])) if begin and end else None


def _with_month(end: str, other: str) -> str:
    """Add the month to a bare day if only the other end names it: "the 3rd to the 5th of May"."""
    month = _NAMED_MONTH.search(other)
    return _BARE_DAY.sub(rf"\1 {month.group()}", end, count=1) if month and _BARE_DAY.match(end) else end


def _beside(end: str, other: datetime, way: int, today: datetime) -> _Days | None:
    """Return the nearest such day or month that is not before (way 1) or not after (way -1) the other end."""
    near = (_point(f"{end} {year}", today) for year in (other.year, other.year + way))
    return next((days for days in near if days and (days[0] - other) * way >= timedelta(0)), None)


def _open(match: re.Match[str], today: datetime) -> _Days | None:
    """Parse an open interval: all time since, after, before or until a time."""
    days = _point(match["end"], today)
    if days is None:
        return None
    match match["side"]:
        case "since":
            return days[0], _FOR_EVER
        case "after":  # memories of what followed are often of the same day
            return days[0] if days[1] - days[0] <= _ONE_DAY else days[1], _FOR_EVER
        case "before":
            return _EVER, days[0]
        case _:
            return _EVER, days[1]


def _point(text: str, today: datetime) -> _Days | None:
    """Parse one end of a range on its own."""
    for pattern, read in _POINTS:
        match = pattern.fullmatch(text) or pattern.fullmatch(f"in {text}")
        if match:
            return read(match, today)
    return None


def _number(year: str) -> int:
    """Parse a year: 2023, or '23 of this century."""
    short = _TWO_DIGITS.fullmatch(year)
    return 2000 + int(short[1]) if short else int(year)


def _month(match: re.Match[str], today: datetime) -> _Days:
    """Parse a month: of the named year, else the latest not in the future; "last": the latest that ended."""
    month = _MONTHS[match["month"]]
    ahead = month > today.month or (match["which"] == "last" and month == today.month)
    year = _number(match["year"]) if match["year"] else today.year - ahead
    return _months(datetime(year, month, 1, tzinfo=UTC), 1)


def _month_of(match: re.Match[str], today: datetime) -> _Days:
    return _months(datetime(_number(match["year"]), _MONTHS[match["month"]], 1, tzinfo=UTC), 1)


def _iso_month(match: re.Match[str], today: datetime) -> _Days | None:
    year, month = map(int, match.group().split("-"))
    return _months(datetime(year, month, 1, tzinfo=UTC), 1) if 1 <= month <= 12 else None


def _quarter(match: re.Match[str], today: datetime) -> _Days:
    """Parse a quarter: of the named year, else the latest that has begun."""
    month = 3 * int(match["quarter"]) - 2
    year = _number(match["year"]) if match["year"] else today.year - (month > today.month)
    return _months(datetime(year, month, 1, tzinfo=UTC), 3)


def _year(match: re.Match[str], today: datetime) -> _Days:
    return _months(datetime(_number(match["year"]), 1, 1, tzinfo=UTC), 12)


def _count(match: re.Match[str]) -> float:
    return int(match["count"]) if match["count"].isdigit() else _COUNTS[match["count"]]


def _ago(match: re.Match[str], today: datetime) -> _Days:
    """Parse a time ago; wider by half a unit on both sides, or by one and a half for "a few"."""
    count, width = _count(match), _UNIT_DAYS[match["unit"]]
    middle = today - timedelta(days=int(count * width))
    vague = 3 if match["count"] in _VAGUE else min(count, 1)
    slack = timedelta(days=int(width * vague) // 2)
    return middle - slack, middle + slack + timedelta(days=1)


def _up_to_now(match: re.Match[str], today: datetime) -> _Days:
    """Parse a span until today: "the past two weeks", "the past month"."""
    count = _count(match) if match["count"] else 1
    return today - timedelta(days=int(count * _UNIT_DAYS[match["unit"]])), today + timedelta(days=1)


def _unit(match: re.Match[str], today: datetime) -> _Days:
    """Parse a calendar week, month or year: this one, the previous, the next, or the one before last."""
    steps = {"last": -1, "previous": -1, "this": 0, "next": 1, "before last": -2}[match["which"]]
    match match["unit"]:
        case "week":
            monday = today - timedelta(days=today.weekday() - 7 * steps)
            return monday, monday + timedelta(days=7)
        case "month":
            return _months(_shift(today.replace(day=1), steps), 1)
        case _:
            return _months(datetime(today.year + steps, 1, 1, tzinfo=UTC), 12)


def _weekday(match: re.Match[str], today: datetime) -> _Days:
    """Parse a weekday: the latest before today; "this": of this week, "next": the first after today."""
    away = _WEEKDAYS.index(match["day"]) - today.weekday()
    match match["which"]:
        case "this":
            first = today + timedelta(days=away)
        case "next":
            first = today + timedelta(days=away % 7 or 7)
        case _:
            first = today - timedelta(days=-away % 7 or 7)
    return first, first + timedelta(days=1)


def _weekend(match: re.Match[str], today: datetime) -> _Days:
    """Parse a weekend: Saturday and Sunday of this week or the next, else of the week before."""
    weeks = {"this": 0, "next": 1}.get(match["which"], -1)
    saturday = today + timedelta(days=5 - today.weekday() + 7 * weeks)
    return saturday, saturday + timedelta(days=2)


def _season_of(match: re.Match[str], today: datetime) -> _Days:
    return _months(datetime(_number(match["year"]), _SEASONS[match["season"]], 1, tzinfo=UTC), 3)


def _season(match: re.Match[str], today: datetime) -> _Days:
    """Parse a season: the latest that has begun; "last": the latest that has ended."""
    days = _months(datetime(today.year, _SEASONS[match["season"]], 1, tzinfo=UTC), 3)
    while days[0] > today or (match["which"] == "last" and days[1] > today):
        days = _months(days[0].replace(year=days[0].year - 1), 3)
    return days


def _day(match: re.Match[str], today: datetime) -> _Days:
    """Parse a day relative to today, such as "yesterday"; mornings and nights are those of today."""
    away = {"yesterday": -1, "last night": -1, "day before yesterday": -2, "tomorrow": 1}
    first = today + timedelta(days=away.get(match.group(), 0))
    return first, first + timedelta(days=1)


def _months(first: datetime, count: int) -> _Days:
    return first, _shift(first, count)


def _shift(first: datetime, months: int) -> datetime:
    """Return the first day of the month that is `months` later, or earlier if negative."""
    index = first.year * 12 + first.month - 1 + months
    return datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC)


_POINTS: tuple[tuple[re.Pattern[str], _Read], ...] = (
    (re.compile(rf"\b{_ISO}\b"), _iso),
    (re.compile(rf"\b{_FULL_YEAR}-\d{{2}}\b(?!-)"), _iso_month),
    (
        re.compile(
            rf"\b(?P<month>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:{_OF} (?P<year>{_YEAR}))?"
        ),
        _date,
    ),
    (
        re.compile(
            rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})\b(?:{_OF} (?P<year>{_YEAR}))?"
        ),
        _date,
    ),
    (re.compile(rf"\b(?P<season>{_SEASON}) (?:of )?(?P<year>{_YEAR})\b"), _season_of),
    (re.compile(rf"\b(?P<which>last|this|in|in the|during the) (?P<season>{_SEASON})\b"), _season),
    (
        re.compile(
            r"\b(?!this may [a-z])(?P<which>in|during|since|last|this|of|early|late|mid)[ -]"
            rf"(?P<month>{_MONTH})\b(?:{_OF} (?P<year>{_YEAR})\b)?"
        ),
        _month,
    ),
    (re.compile(rf"\b(?P<month>{_MONTH}){_OF} (?P<year>{_YEAR})\b"), _month_of),
    (re.compile(rf"\bq(?P<quarter>[1-4])\b(?:{_OF} (?P<year>{_YEAR})\b)?"), _quarter),
    (re.compile(rf"\b(?P<count>{_COUNT}) (?P<unit>day|week|month|year)s? ago\b"), _ago),
    (re.compile(rf"{_PASSED} (?P<count>{_COUNT}) (?P<unit>day|week|month|year)s?\b"), _up_to_now),
    (re.compile(r"\bpast (?P<count>)(?P<unit>week|month|year)\b"), _up_to_now),
    (re.compile(r"\b(?P<which>last|previous|this|next) (?P<unit>week|month|year)\b"), _unit),
    (re.compile(r"\b(?P<unit>week|month|year) (?P<which>before last)\b"), _unit),
    (re.compile(r"\b(?P<which>last|this past|this|next|over the) weekend\b"), _weekend),
    (re.compile(rf"\b(?P<which>last|on|this past|this|next) (?P<day>{_WEEKDAY})\b"), _weekday),
    (
        re.compile(
            r"\b(?:day before yesterday|yesterday|today|tomorrow|tonight|last night"
            r"|this (?:morning|afternoon|evening))\b"
        ),
        _day,
    ),
    (re.compile(rf"\b(?:in|during|of|since|early|late|mid)[ -](?P<year>{_YEAR})\b"), _year),
)
_RANGES: tuple[tuple[re.Pattern[str], _Read], ...] = (
    (
        re.compile(rf"\bbetween (?:the )?(?P<first>{_END}|{_DAY}) and (?:the )?(?P<last>{_END})\b"),
        _range,
    ),
    (re.compile(rf"\bfrom (?:the )?(?P<first>{_END}|{_DAY}){_UP_TO}(?P<last>{_END})\b"), _range),
    (re.compile(rf"\b(?P<first>{_DATED}){_UP_TO}(?P<last>{_DATED})"), _range),
    (re.compile(rf"\b(?P<first>(?:{_MONTH})\.? {_DAY}){_UP_TO}(?P<last>{_DAY}\b(?:,? {_YEAR}\b)?)"), _range),
    (re.compile(rf"\b{_CLOSE}(?P<side>since|after|before|until|till) (?:the )?(?P<end>{_END})\b"), _open),
)
_RULES = _RANGES + _POINTS
