"""Memories in another memorywire that serves its store: `http://host:8377` or `https://TOKEN@host`.

The token must have the right to manage; `https://TOKEN@host?tenant=NAME` selects one of its tenants.
Policy is applied on this side; the other side also records changes in its own ledger.
"""

from memorywire.model.space import Space
from memorywire.stores.contract import Store

__all__ = ["open_store"]


async def open_store(url: str, *, space: Space) -> Store:
    """Open the store at this URL; raises SpaceMismatch if its vectors are not of `space`."""
    from memorywire.stores.remote.client import Link, locate
    from memorywire.stores.remote.store import open_remote

    return await open_remote(Link(locate(url)), space)
