"""The shipped profiles, as the documents they are."""

from enum import StrEnum

from memorywire.model.packaged import folder


class Profile(StrEnum):
    """From the loosest to the tightest."""

    OPEN = "open"
    BALANCED = "balanced"
    STRICT = "strict"


def profile_text(profile: Profile) -> str:
    """The TOML of a shipped profile."""
    return (folder("memorywire.policy") / "profiles" / f"{profile}.toml").read_text(encoding="utf-8")
