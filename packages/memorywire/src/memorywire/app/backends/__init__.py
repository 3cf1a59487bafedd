"""Backends: opens the stores that definitions describe, and serves the agents bound to them."""

from memorywire.app.backends.registry import Backends, Rules, name_of, rules_from

__all__ = ["Backends", "Rules", "name_of", "rules_from"]
