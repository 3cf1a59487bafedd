"""Shared code of products that use a local Qdrant."""

from typing import Any


def overwrite_what_is_deleted(client: Any) -> bool:
    """Make a local Qdrant overwrite deleted data in its files; return False for a Qdrant server."""
    collections = getattr(getattr(client, "_client", None), "collections", None)
    if not isinstance(collections, dict):
        return False
    for storage in [getattr(one, "storage", None) for one in collections.values()]:
        if storage is not None:
            storage.storage.execute("PRAGMA secure_delete = ON")
    return True
