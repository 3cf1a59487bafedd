"""Detects jokes among facts: the rules of the reader match words, and many jokes have no telling word.

A logistic head classifies the vector of a sentence. `tools/train_jests.py` documents its training and wrote
the weights in `jests.npz`. They are for vectors of MiniLM.
"""

from functools import cache
from pathlib import Path
from typing import Any

from memorywire.search.embed import MiniLmEmbedder

_HEAD = Path(__file__).with_name("jests.npz")


def is_jest(sentence: str, reader: MiniLmEmbedder) -> bool:
    """Whether a sentence that seems to state a fact is probably a joke, an exaggeration or irony."""
    import numpy as np

    weights, bias = _load_head()
    [vector] = reader.embed_here([sentence])
    return bool(np.frombuffer(vector, "<f4") @ weights + bias > 0)


@cache
def _load_head() -> tuple[Any, float]:
    import numpy as np

    with np.load(_HEAD) as file:
        return file["weights"], float(file["bias"])
