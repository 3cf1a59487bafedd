"""Definitions of backends at work: which agents they serve, and the stores they describe."""

from memorywire.app.backends.registry import Backends, Rules, name_of, rules_from

__all__ = ["Backends", "Rules", "name_of", "rules_from"]
