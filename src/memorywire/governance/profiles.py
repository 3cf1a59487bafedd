"""The shipped profiles, as the documents they are."""

from enum import StrEnum
from importlib.resources import files


class Profile(StrEnum):
    """From the loosest to the tightest."""

    OPEN = "open"
    BALANCED = "balanced"
    STRICT = "strict"


def profile_text(profile: Profile) -> str:
    """The TOML of a shipped profile."""
    return (files("memorywire.governance") / "profiles" / f"{profile}.toml").read_text(encoding="utf-8")
