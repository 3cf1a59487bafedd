"""Which tests of a parallel run are given to one worker."""

from xdist.scheduler import LoadFileScheduling

VENDORS = ("tests/vendors/", "tests/integrations/test_frameworks.py")
"""Here products run, one at a time on a machine: a second worker would only stand and wait for the first."""


class Files(LoadFileScheduling):
    """The tests of a file go to one worker, and so do all that run products."""

    def _split_scope(self, nodeid: str) -> str:
        return "vendors" if nodeid.startswith(VENDORS) else super()._split_scope(nodeid)
