"""What an embedder promises."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from memorywire.model.space import Space
from memorywire.runtime.protocols import Ability


class Embedder(Protocol):
    """Turns texts into vectors of one embedding space.

    A vector depends on its text alone, not on the others asked for with it. What goes wrong is
    raised as `EmbedderFailed`.
    """

    @property
    def space(self) -> Space:
        """The space its vectors lie in; known before anything is loaded."""

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text, in order: float32 little-endian, of length one."""

    async def close(self) -> None:
        """Lets go of what it holds; closing twice is fine."""


@runtime_checkable
class EmbedsHere(Protocol, metaclass=Ability):
    """An embedder that can also work on the caller's own thread."""

    def embed_here(self, texts: Sequence[str]) -> list[bytes]:
        """As `embed`, blocking this thread."""
        ...


@runtime_checkable
class BeginsHere(EmbedsHere, Protocol, metaclass=Ability):
    """An embedder that can begin, so that the caller does something else meanwhile."""

    def begin(self, texts: Sequence[str]) -> Callable[[], list[bytes]]:
        """A function to call once, on any thread: it blocks until the vectors are there, and gives them."""
        ...
