"""Composition root: builds a working container from settings."""

from memorywire.app.backends import Backends, Rules, rules_from
from memorywire.app.container import Container, open_container
from memorywire.app.options import Governance, Reading, Several
from memorywire.app.settings import (
    DEFAULT_AGENT,
    DEFAULT_EMBEDDER,
    DEFAULT_POLICY,
    Settings,
    default_journal,
    default_store,
    load_settings,
)
from memorywire.model.record import LOCAL

__all__ = [
    "DEFAULT_AGENT",
    "DEFAULT_EMBEDDER",
    "DEFAULT_POLICY",
    "LOCAL",
    "Backends",
    "Container",
    "Governance",
    "Reading",
    "Rules",
    "Settings",
    "Several",
    "default_journal",
    "default_store",
    "load_settings",
    "open_container",
    "rules_from",
]
