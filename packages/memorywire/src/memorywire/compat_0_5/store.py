"""`memorywire.store` of 0.5.0 with its modules, and `SqliteVecStore`: a file and a function for its vectors.

The modules, such as `memorywire.store.mem0_adapter`, are made here instead of a file for each: an import
of one imports this module first and then finds the other among the loaded ones.
"""

import hashlib
import sys
import warnings
from array import array
from collections.abc import Callable, Sequence
from math import sqrt
from pathlib import Path
from types import ModuleType

from memorywire.compat_0_5 import earlier_name
from memorywire.model.secrets import url_path
from memorywire.model.space import Space

TextToVector = Callable[[str], Sequence[float]]


class SqliteVecStore:
    """The URL of a file and the embedder of its vectors, as `Memory(stores=[...])` takes them.

    With ours it is `Memory(agent_id, "sqlite:///file.db", embedder=...)`.
    """

    def __init__(
        self, db_path: str = ":memory:", *, embedding_dim: int = 384, embedder: TextToVector | None = None
    ) -> None:
        warnings.warn(
            'SqliteVecStore is a name of memorywire 0.5.0: give Memory a URL such as "sqlite:///file.db"',
            DeprecationWarning,
            stacklevel=2,
        )
        self.store_url = "memory://" if db_path == ":memory:" else f"sqlite://{url_path(Path(db_path))}"
        self.store_embedder = None if embedder is None else _FunctionEmbedder(embedder, embedding_dim)

    @classmethod
    def from_url(cls, url: str) -> "SqliteVecStore":
        return cls(url.partition("://")[2] or ":memory:")


class _FunctionEmbedder:
    """An embedder from a function that gives the vector of one text."""

    def __init__(self, function: TextToVector, dimension: int) -> None:
        self._function = function
        revision = hashlib.sha256(getattr(function, "__qualname__", "").encode()).hexdigest()[:8]
        self.space = Space(model="function", revision=revision, dimension=dimension)

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [_unit_bytes(self._function(text)) for text in texts]

    async def close(self) -> None:
        """Nothing is held."""


def _unit_bytes(vector: Sequence[float]) -> bytes:
    length = sqrt(sum(value * value for value in vector)) or 1.0
    numbers = array("f", [value / length for value in vector])
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def __getattr__(name: str) -> object:
    return earlier_name(name)


def _add_modules() -> None:
    for name in ("base", "cognee_adapter", "letta_adapter", "mem0_adapter", "pgvector_adapter", "sqlite_vec"):
        module = ModuleType(f"{__name__}.{name}")
        vars(module).update(__getattr__=earlier_name)
        globals()[name] = sys.modules[module.__name__] = module
    vars(sys.modules[f"{__name__}.sqlite_vec"]).update(SqliteVecStore=SqliteVecStore)


_add_modules()
