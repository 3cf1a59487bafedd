"""Dreaming: memory put in order while nobody waits, by changes that can be read and taken back."""
