"""Runs a coding agent on dependent tasks: with our plugin, with its own memory, and without."""
