"""Definitions of backends at work: which agents they serve, and the stores they describe."""

from memorywire.app.backends.registry import Backends, name_of
from memorywire.app.backends.rules import Rules, rules_from

__all__ = ["Backends", "Rules", "name_of", "rules_from"]
