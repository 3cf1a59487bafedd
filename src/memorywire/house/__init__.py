"""The one place where rooms are joined: settings in, working tools out."""

from memorywire.engine.office import LOCAL
from memorywire.house.definitions import Backends, Rules, rules_from
from memorywire.house.open import Governance, House, Reading, open_house
from memorywire.house.settings import (
    DEFAULT_AGENT,
    DEFAULT_EMBEDDER,
    DEFAULT_POLICY,
    Settings,
    default_journal,
    default_store,
    load_settings,
)
from memorywire.house.several import Several

__all__ = [
    "DEFAULT_AGENT",
    "DEFAULT_EMBEDDER",
    "DEFAULT_POLICY",
    "LOCAL",
    "Backends",
    "Governance",
    "House",
    "Reading",
    "Rules",
    "Settings",
    "Several",
    "default_journal",
    "default_store",
    "load_settings",
    "open_house",
    "rules_from",
]
