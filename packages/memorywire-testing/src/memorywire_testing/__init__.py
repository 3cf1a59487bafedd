"""The store contract as named checks that run against any store."""
