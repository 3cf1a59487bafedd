"""An embedder for examinations: words to directions, the same everywhere, with nothing to load."""

import hashlib
import math
import struct
from collections.abc import Sequence

from memorywire.model.space import Space
from memorywire.testing.samples import SPACE


class WordEmbedder:
    """Satisfies Embedder: every word has a direction, a text the sum of its words'."""

    space: Space = SPACE

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [_vector(text) for text in texts]

    async def close(self) -> None:
        """There is nothing to close."""


def _vector(text: str) -> bytes:
    axes = [0.0] * SPACE.dimension
    for word in text.lower().split() or [""]:
        spun = hashlib.blake2b(word.strip(".,?!").encode(), digest_size=SPACE.dimension).digest()
        axes = [axis + byte - 127.5 for axis, byte in zip(axes, spun, strict=True)]
    length = math.sqrt(sum(axis * axis for axis in axes))
    return struct.pack(f"<{SPACE.dimension}f", *(axis / length for axis in axes))
