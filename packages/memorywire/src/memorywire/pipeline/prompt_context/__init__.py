"""Builds the context block for a prompt: constraints, the user's profile, and helpful memories."""
