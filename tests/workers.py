"""How many workers a parallel run has, which tests are given to one of them, and in what order."""

import os

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

VENDORS = ("tests/vendors/", "tests/integrations/test_frameworks.py")
"""Here products run, one at a time on a machine: a second worker would only stand and wait for the first."""

LONGEST = (
    "vendors",
    "tests/gates/test_documents.py",
    "tests/console/test_hostile.py",
    "tests/console/test_inbox.py",
    "tests/stores/test_contract.py",
    "tests/shards/test_contract.py",
    "tests/plugin/test_session.py",
)
"""These begin first: were one of them the last, all workers but one would have nothing left to do."""


def how_many() -> int:
    """One more than there are processors: now and then a test waits for a process, a server or a disk."""
    return (os.cpu_count() or 1) + 1


class Files(LoadFileScheduling):
    """The tests of a file go to one worker, and so do all that run products; the longest go first."""

    def _split_scope(self, nodeid: str) -> str:
        return "vendors" if nodeid.startswith(VENDORS) else super()._split_scope(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        for scope in reversed(LONGEST):
            if scope in self.workqueue:
                self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)
