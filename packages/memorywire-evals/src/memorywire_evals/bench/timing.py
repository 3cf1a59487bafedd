"""Times steps side by side, and summarises their spread."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

Step: TypeAlias = Callable[[int], Awaitable[object]]
"""A step to time; its argument is the number of the round."""

WARM_UP = 5
TURN = 10
"""The maximum number of consecutive steps of one side before another side's turn."""

# Threads of numeric libraries keep spinning for about 25 ms after their work, and must not take a
# processor from the other side.
REST = 0.03


class Spread(Struct, frozen=True, kw_only=True):
    """Milliseconds of `count` runs: the median and the 95th percentile."""

    p50: float
    p95: float
    count: int


def spread(seconds: Sequence[float]) -> Spread:
    """Return percentiles by linear interpolation between the two nearest samples."""
    ordered = sorted(seconds)
    return Spread(
        p50=1000 * _percentile(ordered, 0.50), p95=1000 * _percentile(ordered, 0.95), count=len(ordered)
    )


def _percentile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


async def side_by_side(
    rounds: int,
    steps: Mapping[str, Step],
    *,
    rest: float = REST,
    before: Mapping[str, Step] | None = None,
    fewer: Mapping[str, int] | None = None,
) -> dict[str, Spread]:
    """Time every step once per round, in turns whose order alternates, so that noise affects all.

    A few rounds with negative numbers are not measured. Each turn starts after a rest. The step in `before`
    with the same name runs first and is not measured. A slow step can have `fewer` rounds than the others,
    spread over all turns.
    """
    ahead, most = before or {}, fewer or {}
    samples: dict[str, list[float]] = {name: [] for name in steps}
    order = list(steps.items())
    turns = -(-(WARM_UP + rounds) // TURN)
    for turn in range(turns):
        for name, step in order:
            await asyncio.sleep(rest)
            for number in _numbers(most.get(name, rounds), turn, turns):
                seconds = await timed(step, number, before=ahead.get(name))
                samples[name] += [seconds] if number >= 0 else []
        order.reverse()
    return {name: spread(seconds) for name, seconds in samples.items()}


def _numbers(rounds: int, turn: int, turns: int) -> range:
    """Return the rounds of one turn; all turns have about the same length."""
    first, last = ((WARM_UP + rounds) * at // turns for at in (turn, turn + 1))
    return range(first - WARM_UP, last - WARM_UP)


async def timed(step: Step, number: int, *, rest: float = 0.0, before: Step | None = None) -> float:
    """Return the seconds of one step, after a rest and the step `before`."""
    await asyncio.sleep(rest)
    if before is not None:
        await before(number)
    started = time.perf_counter()
    await step(number)
    return time.perf_counter() - started
