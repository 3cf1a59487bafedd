"""The blocking client: `from memorywire.sync import Memory`."""

from memorywire.client.sync import Memory

__all__ = ["Memory"]
