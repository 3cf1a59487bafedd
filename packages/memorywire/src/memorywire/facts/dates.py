"""Finds the last day that a text names."""

import re
from datetime import UTC, datetime, timedelta

_MONTH_NAMES = "january february march april may june july august september october november december".split()
_NUMBER = {month[:3]: number for number, month in enumerate(_MONTH_NAMES, 1)}
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTH = (
    r"(?P<{}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH.format('month')}\b(?:,? (?P<year>\d{{4}}))?"
    rf"|\b{_MONTH.format('first')} (?P<second>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<of>\d{{4}}))?"
    r"|\b(?P<iso>\d{4}-\d\d-\d\d)\b|\b(?P<tomorrow>tomorrow)\b"
    r"|\b(?:on|until|by|this|next) (?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b",
    re.I,
)


def find_end(text: str, at: int) -> int | None:
    """Return the end of the last day that the text names, relative to the moment `at`; None without one."""
    ends = [end for match in _DATE.finditer(text) if (end := _read_date(match, at)) is not None]
    return max(ends, default=None)


def _read_date(match: re.Match[str], at: int) -> int | None:
    now = datetime.fromtimestamp(at / 1000, UTC)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if match["iso"]:
            day = datetime.fromisoformat(match["iso"]).replace(tzinfo=UTC)
        elif match["tomorrow"]:
            day = today + timedelta(days=1)
        elif match["weekday"]:
            day = today + timedelta(
                days=(_DAYS.index(match["weekday"].lower()) - today.weekday() - 1) % 7 + 1
            )
        else:
            month = _NUMBER[(match["month"] or match["first"])[:3].lower()]
            year = match["year"] or match["of"]
            day = today.replace(
                year=int(year) if year else today.year, month=month, day=int(match["day"] or match["second"])
            )
            if not year and day < today:
                day = day.replace(year=day.year + 1)
    except (ValueError, OverflowError):
        return None
    return int((day + timedelta(days=1)).timestamp() * 1000) - 1
