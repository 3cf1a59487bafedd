"""Coding agents: what they tell their hooks, what hooks answer, and the logs of their sessions."""
