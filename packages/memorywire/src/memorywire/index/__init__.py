"""The search index of an agent or a user, held in memory as arrays.

The stores for SQLite and Postgres fill it from their tables and rank with it. It runs no SQL and loads no
database driver.
"""
