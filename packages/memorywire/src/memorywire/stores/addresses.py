"""Paths as the URLs of stores spell them."""

from pathlib import Path


def path_of(path: str) -> Path:
    """The path of a URL: `/~/` begins one in the home of whoever asks, `/./` and `/../` one from here."""
    if path.startswith("/~/"):
        return Path(path[1:]).expanduser()
    if path.startswith(("/./", "/../")):
        return Path(path[1:]).absolute()
    return Path(path)
