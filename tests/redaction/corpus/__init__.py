"""Labelled sentences with and without secrets, made from a seed when asked for: no secret is kept in a file."""
