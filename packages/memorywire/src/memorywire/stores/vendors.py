"""`memorywire_adapters.products` under its name of 0.1.0."""

import warnings
from importlib import import_module


def __getattr__(name: str) -> object:
    """Return a name of `memorywire_adapters.products`, with a DeprecationWarning."""
    warnings.warn("memorywire.stores.vendors is now memorywire_adapters.products", DeprecationWarning, 2)
    return getattr(import_module("memorywire_adapters.products"), name)
