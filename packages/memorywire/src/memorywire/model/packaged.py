"""Files that come with a package: schemas, SQL, profiles."""

from importlib import import_module
from pathlib import Path


def folder(package: str) -> Path:
    """The folder of the package; `importlib.resources` knows it too, but takes longer to load."""
    return Path(next(iter(import_module(package).__path__)))
