"""Hooks of coding agents: their input and output, and the logs of their sessions."""
