"""Consolidation (`memorywire dream`): merges duplicates, resolves conflicts and archives unused memories.

Everything a run does is one change, with a reason for each step, and can be undone.
"""
