"""`memorywire.stores.products` under its name of 0.1.0."""

import warnings

from memorywire.stores import products


def __getattr__(name: str) -> object:
    """Give a name of `memorywire.stores.products`, with a DeprecationWarning."""
    warnings.warn("memorywire.stores.vendors is now memorywire.stores.products", DeprecationWarning, 2)
    return getattr(products, name)
