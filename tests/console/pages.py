"""Every page of the console: one in this list is under all tests of test_frames.py and test_hostile.py."""

PAGES = (
    "/sign-in",
    "/inbox",
    "/inbox?agent={agent}&q=a",
    "/inbox/all",
    "/proposal?id={proposal}",
    "/suggestions",
    "/memories",
    "/memories?agent={agent}",
    "/memories?agent={agent}&q=script",
    "/record?agent={agent}&id={memory}",
    "/record/erase?agent={agent}&id={memory}",
    "/playground?agent={agent}&q=script",
    "/playground?recall={recall}",
    "/activity",
    "/activity/verify",
    "/activity/entry?seq=1",
    "/dreams",
    "/dreams?agent={agent}",
    "/dreams/run?agent={agent}&run={run}",
    "/policy",
    "/policy/rule",
    "/health",
    "/agents",
    "/operators",
)
"""Addresses below /console; `{name}` is what `World.names` knows: agent, proposal, memory, recall, run."""
