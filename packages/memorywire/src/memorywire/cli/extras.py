"""Parts that are installed only by those who want them."""

from collections.abc import Iterator
from contextlib import contextmanager

from memorywire.model.errors import CapabilityUnsupported


@contextmanager
def needed(extra: str) -> Iterator[None]:
    """Say what to install when something inside cannot be imported."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("memorywire."):
            raise  # that is ours, and installing more does not bring it
        raise CapabilityUnsupported(
            f"{error.name} is not installed", fix=f"pip install 'memorywire[{extra}]'"
        ) from error
