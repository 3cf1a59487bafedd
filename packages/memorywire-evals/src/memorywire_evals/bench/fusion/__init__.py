"""Fusion under attack: stores that lie, and what reaches the answer all the same."""
