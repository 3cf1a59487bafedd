"""Procedural memory: state machines stored as data, validated when written."""
