"""Stores over other memory products: each module is one store, opened by its URL scheme."""
