"""Adapters to agent frameworks; each module requires its framework."""
