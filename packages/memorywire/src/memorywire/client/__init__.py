"""The Python clients: `Memory` over a store in this process, `Client` over a server."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memorywire.client.remote import BlockingClient, Client

__all__ = ["BlockingClient", "Client"]


def __getattr__(name: str) -> object:
    """Load the HTTP client on first use: most programs open a store of their own."""
    if name in __all__:
        from memorywire.client import remote

        return getattr(remote, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
