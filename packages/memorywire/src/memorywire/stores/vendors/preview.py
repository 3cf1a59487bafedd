"""Adapters to products that could not be tried here: using one needs an explicit option."""

from memorywire.model.errors import CapabilityUnsupported
from memorywire.stores.vendors.place import Place

PREVIEW = "preview"
"""The option of the URL that says so."""


def refuse_unless_asked_for(place: Place, store: str) -> None:
    """Refuse to use an unproven adapter until the user has agreed, by `preview=1`."""
    if place.options.get(PREVIEW) != "1":
        raise CapabilityUnsupported(
            f"the store {store} is a preview: it was written from the published interface of the service, "
            "and has not been examined against it",
            field="store",
            fix=f"add {PREVIEW}=1 to the options of the URL to use it all the same",
        )
