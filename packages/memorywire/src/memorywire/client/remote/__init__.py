"""The client of a memorywire that serves: the verbs and contracts of `Memory`, asked over HTTP."""

from memorywire.client.remote.memory import BlockingClient, Client

__all__ = ["BlockingClient", "Client"]
