"""What products that sit on a local Qdrant have in common."""

from typing import Any


def overwrite_what_is_deleted(client: Any) -> bool:
    """Let the files of a local Qdrant forget what leaves them; False for a server's."""
    collections = getattr(getattr(client, "_client", None), "collections", None)
    if not isinstance(collections, dict):
        return False
    for storage in [getattr(one, "storage", None) for one in collections.values()]:
        if storage is not None:
            storage.storage.execute("PRAGMA secure_delete = ON")
    return True
