"""The runner of scenarios, under the name that the tests of every door know it by."""

from memorywire.testing.scenario import Ticker, matches, run

__all__ = ["Ticker", "matches", "run"]
