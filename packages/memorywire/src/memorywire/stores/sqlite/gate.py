"""Which SQLite engines may be trusted with a write-ahead log.

From 3.7.0 to 3.51.2 a checkpoint could skip a committed transaction when two connections wrote and
checkpointed one file (https://www.sqlite.org/wal.html#walresetbug); 3.50.7 and 3.44.6 carry the repair.
"""

from memorywire.model.errors import UnsafeEngine

_REPAIRED = (3, 51, 3)
_BACK_PORTS = {(3, 50): 7, (3, 44): 6}


def wal_is_safe(version: str) -> bool:
    """Whether a committed write survives concurrent checkpoints in this SQLite version."""
    major, minor, patch, *_ = (*(int(part) for part in version.split(".")), 0, 0)
    if (major, minor, patch) >= _REPAIRED:
        return True
    repaired_from = _BACK_PORTS.get((major, minor))
    return repaired_from is not None and patch >= repaired_from


def require_safe_wal(version: str) -> None:
    """Refuse an engine that could lose what it acknowledged."""
    if not wal_is_safe(version):
        raise UnsafeEngine(
            f"SQLite {version} can lose committed writes when several processes share a file",
            fix="install apsw 3.51.3.0 or newer: its wheels bring their own SQLite",
        )
