"""Shared code of the adapters to other products: VendorStore turns a Product into a store."""

from memorywire_adapters.products.product import (
    PREVIEW,
    Entry,
    Extractor,
    Kept,
    Product,
    Scrubber,
    Seen,
    agent_label,
    answered,
    direction,
    key_of,
    need,
    need_quietly,
    refuse_unless_asked_for,
    user_label,
)
from memorywire_adapters.products.store import ExtractingStore, VendorStore
from memorywire_adapters.sidecar import OneThread, Place, Ref, half, locate, spelled

__all__ = [
    "PREVIEW",
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
    "need_quietly",
    "refuse_unless_asked_for",
    "spelled",
    "user_label",
]
