"""The store contract as named checks, to be run against any store, ours or not."""
