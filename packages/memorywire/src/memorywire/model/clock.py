"""Time is an argument: a clock is any function that gives epoch milliseconds."""

import time
from collections.abc import Callable
from typing import TypeAlias

Clock: TypeAlias = Callable[[], int]

DAY_MS = 86_400_000
SECONDS = range(100_000_000, 4_102_444_800)
"""A number in this range is taken for seconds: as milliseconds it would be in early 1970."""


def system_clock() -> int:
    """The machine's wall clock."""
    return time.time_ns() // 1_000_000
