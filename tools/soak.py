"""What a soak says about memory: whether a process that goes on doing the same keeps the size it has.

A Python process does not stand still at once: caches fill, each thread gets its arena, and the allocator
keeps what the busiest moment took. So the first part of a soak is not looked at. Of what follows, each sample
is the smallest size within a few seconds, which leaves out what single requests hold for a moment. The slope
of a line through the samples is extrapolated to an hour. Neighbouring samples are much alike, so its
uncertainty counts only as many of them as would say as much without being alike.
"""

import asyncio
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import psutil

EVERY = 0.25  # seconds between two looks
WINDOW = 5.0  # seconds of which one sample is the smallest
MOST_GROWTH = 1.0  # percent an hour
_SURE = 2.0  # standard errors
_HOUR = 3600.0
_MIB = 2**20


@dataclass(frozen=True)
class Flatness:
    """Samples of a size as (second, MiB), and the line through them."""

    samples: Sequence[tuple[float, float]]

    @property
    def growth(self) -> float:
        """Percent an hour."""
        return self._percent(self._line().slope)

    @property
    def uncertainty(self) -> float:
        """Twice the standard error of the growth, in percent an hour."""
        line, middle = self._line(), statistics.fmean(at for at, _ in self.samples)
        left = [size - line.intercept - line.slope * at for at, size in self.samples]
        alike = _alike(left)
        variance = sum(one * one for one in left) / (len(left) - 2) * (1 + alike) / (1 - alike)
        spread = sum((at - middle) ** 2 for at, _ in self.samples)
        return self._percent(_SURE * math.sqrt(variance / spread))

    @property
    def holds(self) -> bool:
        return self.growth < MOST_GROWTH

    def verdict(self) -> str:
        sure = abs(self.growth - MOST_GROWTH) > self.uncertainty
        doubt = "" if sure else "; the uncertainty reaches across that limit, so soak longer to be sure"
        grows = f"{self.growth:+.2f} ± {self.uncertainty:.2f} % an hour"
        return f"memory grows by {grows} (limit {MOST_GROWTH:g}{doubt})"

    def lines(self, settling: float) -> Iterator[str]:
        sizes = [size for _, size in self.samples]
        seconds = self.samples[-1][0] + WINDOW
        yield (
            f"Resident, {len(sizes)} samples of {WINDOW:g} s in {seconds:.0f} s "
            f"after {settling:.0f} s of settling: {sizes[0]:.1f} MiB at first, {sizes[-1]:.1f} at last, "
            f"{min(sizes):.1f} to {max(sizes):.1f}; {self.verdict()}."
        )

    def _line(self) -> statistics.LinearRegression:
        times, sizes = zip(*self.samples, strict=True)
        return statistics.linear_regression(times, sizes)

    def _percent(self, slope: float) -> float:
        return 100 * slope * _HOUR / statistics.fmean(size for _, size in self.samples)


def _alike(left: Sequence[float]) -> float:
    """How much each tells about the next, 0 to just under 1."""
    power = sum(one * one for one in left)
    if power == 0:
        return 0.0
    shared = sum(one * other for one, other in pairwise(left))
    return min(0.95, max(0.0, shared / power))


async def watched(process: psutil.Process, settling: float, seconds: float) -> Flatness:
    """Look at the size of the process for so many seconds, once it has settled."""
    await asyncio.sleep(settling)
    began, samples = time.monotonic(), []
    while (passed := time.monotonic() - began) + WINDOW <= seconds or len(samples) < 3:
        smallest = math.inf
        while time.monotonic() - began < passed + WINDOW:
            smallest = min(smallest, process.memory_info().rss / _MIB)
            await asyncio.sleep(EVERY)
        samples.append((passed, smallest))
    return Flatness(samples)
