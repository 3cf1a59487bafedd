"""Memories kept by another memorywire, which serves its store: `http://host:8377` or `https://TOKEN@host`.

The token is one with the right to manage; `https://TOKEN@host?tenant=NAME` chooses among its tenants.
What is written here was judged here; the other side writes it down in its own ledger as well.
"""

from memorywire.model.space import Space
from memorywire.stores.contract import Store

__all__ = ["open_store"]


async def open_store(url: str, *, space: Space) -> Store:
    """The store behind this URL; its vectors are of `space`, or SpaceMismatch is raised."""
    from memorywire.stores.remote.client import Link, locate
    from memorywire.stores.remote.store import open_remote

    return await open_remote(Link(locate(url)), space)
