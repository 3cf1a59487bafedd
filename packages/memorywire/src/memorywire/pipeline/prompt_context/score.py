"""Scores memories for a task: does it help, is it a constraint, and does that constraint bear on the prompt?

"Suggest a dinner" and "is vegetarian" share no word and are far apart for a sentence embedder. So the
prompt is read by an encoder that was trained for tasks, and three logistic heads judge its vector beside
the vector of a memory. `tools/train_tasks.py` trains both, says how, and wrote the numbers in `heads.npz`.
They are for vectors of MiniLM. A memory that was embedded by another model is embedded here once more.
"""

import asyncio
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from memorywire.model.record import Record
from memorywire.pipeline.context import Context
from memorywire.search.embed import SPACE, MiniLmEmbedder
from memorywire.stores.contract import SupportsChangeLog

RELATED = 0.5
"""The logit from which a prompt counts as a task, chosen on the development part: higher loses help there."""

_HEADS = Path(__file__).with_name("heads.npz")


class Score(Struct, frozen=True):
    """The chances that a memory is useful for the prompt, is a constraint, bears on the prompt if it is
    one, and bears on any.
    """

    useful: float
    constraint: float
    bears: float
    always: float


_COLUMNS = ("useful", "constraint", "bears")


class _Heads:
    """The weights of the heads, joined so that one product with the memories serves all of them."""

    def __init__(self) -> None:
        import numpy as np

        with np.load(_HEADS) as file:
            arrays = {name: file[name] for name in file.files}
        self.related = arrays["related_memory"]
        self.related_bias = float(arrays["related_bias"])
        rows = [arrays[f"{name}_memory"] for name in _COLUMNS]
        self.memory = np.vstack([*rows, arrays["bears_right"]]).T.copy()
        self.left = arrays["bears_left"]
        self.prompt = np.vstack([arrays["useful_prompt"], arrays["bears_prompt"]])
        self.weights = np.vstack([arrays["useful_weights"], arrays["bears_weights"]])
        self.bias = np.array([*(arrays[f"{name}_bias"] for name in _COLUMNS), 0.0])


_load_heads = cache(_Heads)


def is_related(vector: bytes) -> bool:
    """Whether the prompt is a task for which memory could matter; trivia and arithmetic are not.

    A prompt that the encoder cannot read, such as one in another script, may be one.
    """
    import numpy as np

    heads, prompt = _load_heads(), np.frombuffer(vector, "<f4")
    return bool(prompt @ heads.related + heads.related_bias > RELATED or not prompt.any())


def score_memories(vector: bytes, vectors: Sequence[bytes], shares: Sequence[float]) -> list[Score]:
    """A score for each memory, from its vector and the share of the prompt's words that are in it.

    `vector` is of the prompt, read as a task. On a prompt that the encoder cannot read, every constraint may
    bear.
    """
    if not vectors:
        return []
    import numpy as np

    heads = _load_heads()
    prompt = np.frombuffer(vector, "<f4")
    memories = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)
    products = memories @ np.column_stack([heads.memory, prompt])
    evidence = np.column_stack([products[:, -1], np.array(shares, np.float32)])
    logits = (products[:, :4] + heads.bias).astype(np.float64)
    logits[:, 3] = logits[:, 2]
    logits[:, (0, 2)] += evidence @ heads.weights.T + heads.prompt @ prompt
    logits[:, 2] += products[:, 3:-1] @ (heads.left @ prompt)
    if not prompt.any():
        logits[:, 2] = 0.0
    return [Score(*row) for row in (1 / (1 + np.exp(-logits))).tolist()]


async def find_vectors(records: Sequence[Record], context: Context) -> list[bytes]:
    """The vectors of the memories in the space of the heads: as they are stored, or made here."""
    if not records:
        return []
    stored: Sequence[bytes | None] = [None] * len(records)
    if context.embedder.space == SPACE and isinstance(context.store, SupportsChangeLog):
        versions = [(record.id, record.version) for record in records]
        stored = await context.store.vectors(records[0].scope.tenant, versions)
    missing = [record.meaning for record, own in zip(records, stored, strict=True) if own is None]
    made = iter(await asyncio.to_thread(find_reader(context).embed_here, missing) if missing else ())
    return [next(made) if own is None else own for own in stored]


def find_reader(context: Context) -> MiniLmEmbedder:
    """The embedder of the heads: the one in use, or another beside it."""
    embedder = context.embedder
    return embedder if isinstance(embedder, MiniLmEmbedder) else _open_reader()


@cache
def _open_reader() -> MiniLmEmbedder:
    return MiniLmEmbedder()
