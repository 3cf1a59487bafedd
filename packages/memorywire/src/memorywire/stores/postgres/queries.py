"""The SQL of this store as named documents."""

from memorywire.stores.documents import Document

QUERIES = Document(__package__, "queries.sql")
