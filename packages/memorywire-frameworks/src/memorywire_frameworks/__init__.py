"""Adapters to frameworks that agents are written in; each module needs its framework."""
