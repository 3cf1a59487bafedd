"""Memory for AI agents with a receipt for every write: one wire format over whichever store you run."""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

# Modules of memorywire 0.5.0, such as memorywire.procedural, are found in a folder of their own.
__path__ = [*__path__, f"{__path__[0]}/compat_0_5"]

__all__ = ["Memory", "MemorywireError", "__version__", "configured"]

if TYPE_CHECKING:
    from memorywire.client.memory import Memory, configured
    from memorywire.model.errors import MemorywireError


def __getattr__(name: str) -> object:
    """Load public names on first use, so that importing the package does nothing and is fast."""
    if name == "Memory":
        from memorywire.client.memory import Memory

        return Memory
    if name == "MemorywireError":
        from memorywire.model.errors import MemorywireError

        return MemorywireError
    if name == "configured":
        from memorywire.client.memory import configured

        return configured
    from memorywire.compat_0_5 import earlier_name

    return earlier_name(name)
