"""Problems that only OpenWOP has a name for."""

from memorywire.model.errors import MemorywireError


class RunTimeout(MemorywireError):
    """Nobody ended a run in time."""

    code = "run_timeout"


class SnapshotUnavailable(MemorywireError):
    """What a run was shown is not there any more, so it cannot be replayed."""

    code = "replay_memory_snapshot_unavailable"

    def __init__(self, *, run: str, from_seq: int) -> None:
        super().__init__(
            "a memory that the run was shown has been erased", fix="start a new run on what is there now"
        )
        self.details = {"sourceRunId": run, "fromSeq": from_seq, "reason": "retention_expired"}
