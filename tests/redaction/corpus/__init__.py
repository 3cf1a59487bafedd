"""Labelled sentences with and without secrets, made from a seed on demand: no file holds a secret."""
