"""The identity of an embedding space: only vectors of equal spaces can be compared."""

from msgspec import Struct


class Space(Struct, frozen=True, kw_only=True):
    """The origin of a vector: model, revision of its weights, dimension, and whether it has unit length."""

    model: str
    revision: str
    dimension: int
    normalised: bool = True

    def __str__(self) -> str:
        form = "unit" if self.normalised else "raw"
        return f"{self.model}@{self.revision}/{self.dimension}/{form}"


NO_SPACE = Space(model="none", revision="0", dimension=1)
"""The space of a memory without vectors."""
