"""Turning text into vectors, by the model that comes along or by an endpoint."""

from memorywire.search.embed.embedder import BeginsHere, Embedder, EmbedsHere, open_embedder

__all__ = ["BeginsHere", "Embedder", "EmbedsHere", "open_embedder"]
