"""The one place where rooms are joined: settings in, working tools out."""

from memorywire.house.open import House, open_house
from memorywire.house.settings import DEFAULT_AGENT, DEFAULT_EMBEDDER, Settings, default_store, load_settings

__all__ = [
    "DEFAULT_AGENT",
    "DEFAULT_EMBEDDER",
    "House",
    "Settings",
    "default_store",
    "load_settings",
    "open_house",
]
