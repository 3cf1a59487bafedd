"""The runner of the scenarios, as tests of every transport use it."""

from memorywire.testing.samples import HandClock
from memorywire.testing.scenario import matches, run

__all__ = ["HandClock", "matches", "run"]
