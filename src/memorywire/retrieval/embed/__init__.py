"""Turning text into vectors, by the model that comes along or by an endpoint."""

from memorywire.retrieval.embed.contract import BeginsHere, Embedder, EmbedsHere
from memorywire.retrieval.embed.opening import open_embedder

__all__ = ["BeginsHere", "Embedder", "EmbedsHere", "open_embedder"]
