"""The runner of the scenarios, as tests of every transport use it."""

from memorywire_testing.samples import HandClock
from memorywire_testing.scenario import matches, run

__all__ = ["HandClock", "matches", "run"]
