"""Time is an argument: a clock is any function that gives epoch milliseconds."""

import time
from collections.abc import Callable
from typing import TypeAlias

Clock: TypeAlias = Callable[[], int]

DAY_MS = 86_400_000
END_OF_CALENDAR = 253_402_300_800_000
"""The year 10,000: no date can say this moment, nor any after it."""


def system_clock() -> int:
    """The machine's wall clock."""
    return time.time_ns() // 1_000_000
