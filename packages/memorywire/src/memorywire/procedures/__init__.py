"""Procedural memory: state machines kept as data, checked when written and read from a plain table."""
