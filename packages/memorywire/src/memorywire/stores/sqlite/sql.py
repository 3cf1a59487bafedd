"""The SQL of this store: `QUERIES["live"]` is the block `-- name: live`."""

from memorywire.stores.document import Document

__all__ = ["QUERIES", "Document"]

QUERIES = Document(__package__, "queries.sql")
