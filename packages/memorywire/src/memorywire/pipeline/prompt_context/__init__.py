"""Builds what an agent reads before it answers: constraints, the person's profile, memories that help."""
