"""Turning text into vectors, by the model that comes along or by an endpoint."""

from memorywire.search.embed.embedder import (
    SPACE,
    BeginsHere,
    Embedder,
    EmbedsHere,
    MiniLmEmbedder,
    find_minilm,
    open_embedder,
)

__all__ = ["SPACE", "BeginsHere", "Embedder", "EmbedsHere", "MiniLmEmbedder", "find_minilm", "open_embedder"]
