"""The sentence embedder all-MiniLM-L6-v2 in 8 bits; works offline and needs no framework."""

from memorywire_minilm.layout import TOKEN, TOKEN_STEPS
from memorywire_minilm.model import (
    DIMENSION,
    MODEL,
    REVISION,
    KernelUnavailable,
    Model,
    ModelDamaged,
    Reading,
    kernels,
    load,
    verify,
)

__all__ = [
    "DIMENSION",
    "MODEL",
    "REVISION",
    "TOKEN",
    "TOKEN_STEPS",
    "KernelUnavailable",
    "Model",
    "ModelDamaged",
    "Reading",
    "kernels",
    "load",
    "verify",
]
