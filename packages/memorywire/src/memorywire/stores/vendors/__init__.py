"""What the adapters to other products share: an adapter is a Product, and VendorStore makes it a store."""

from memorywire.stores.vendors.labels import agent_label, key_of, spelled, user_label
from memorywire.stores.vendors.place import Place, locate, need
from memorywire.stores.vendors.product import (
    Entry,
    Extractor,
    Kept,
    Product,
    Ref,
    Scrubber,
    Seen,
    answered,
    direction,
    half,
)
from memorywire.stores.vendors.store import ExtractingStore, VendorStore
from memorywire.stores.vendors.thread import OneThread

__all__ = [
    "Entry",
    "ExtractingStore",
    "Extractor",
    "Kept",
    "OneThread",
    "Place",
    "Product",
    "Ref",
    "Scrubber",
    "Seen",
    "VendorStore",
    "agent_label",
    "answered",
    "direction",
    "half",
    "key_of",
    "locate",
    "need",
    "spelled",
    "user_label",
]
