"""Scores memories for a task: does it help, is it a constraint, and does that constraint bear on the prompt?

"Suggest a dinner" and "is vegetarian" share no word and are far apart for a sentence embedder. So the
prompt is read by an encoder that was trained for tasks, and three logistic heads judge its vector beside
the vector of a memory. `tools/train_tasks.py` trains both, says how, and wrote the numbers in `heads.npz`.
They are for vectors of MiniLM. A memory that was embedded by another model is embedded here once more.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from memorywire.model.record import Record
from memorywire.pipeline.context import Context
from memorywire.search.embed import SPACE, MiniLmEmbedder
from memorywire.search.text import terms
from memorywire.stores.contract import SupportsChangeLog

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

RELATED = 0.5
"""The logit from which a prompt counts as a task, chosen on the development part: higher loses help there."""

_HEADS = Path(__file__).with_name("heads.npz")


class Score(Struct, frozen=True):
    """Three probabilities: the memory is useful for the prompt, is a constraint, bears on it if it is one."""

    useful: float
    constraint: float
    bears: float


@cache
def _load_heads() -> Mapping[str, "Floats"]:
    import numpy as np

    with np.load(_HEADS) as file:
        return {name: file[name] for name in file.files}


def is_related(vector: bytes) -> bool:
    """Whether the prompt is a task for which memory could matter; trivia and arithmetic are not."""
    import numpy as np

    heads = _load_heads()
    return bool(np.frombuffer(vector, "<f4") @ heads["related_memory"] + heads["related_bias"] > RELATED)


async def score_memories(
    query: str, vector: bytes, records: Sequence[Record], context: Context
) -> list[Score]:
    """A score for each memory; `vector` is of the prompt, read as a task."""
    if not records:
        return []
    vectors = await _find_vectors(records, context)
    words = frozenset(terms(query))
    shares = [len(words.intersection(terms(record.words))) / max(1, len(words)) for record in records]
    return _apply_heads(vector, vectors, shares)


def _apply_heads(vector: bytes, vectors: Sequence[bytes], shares: Sequence[float]) -> list[Score]:
    import numpy as np

    heads = _load_heads()
    prompt = np.frombuffer(vector, "<f4")
    memories = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)
    evidence = np.column_stack([memories @ prompt, np.array(shares, np.float32)])

    def score(name: str) -> "Floats":
        logits = memories @ heads[f"{name}_memory"] + heads[f"{name}_bias"]
        if f"{name}_prompt" in heads:
            logits = logits + prompt @ heads[f"{name}_prompt"] + evidence @ heads[f"{name}_weights"]
        if f"{name}_left" in heads:
            logits = logits + (memories @ heads[f"{name}_right"].T) @ (heads[f"{name}_left"] @ prompt)
        probabilities: Floats = 1 / (1 + np.exp(-logits))
        return probabilities

    columns = [score(name).tolist() for name in ("useful", "constraint", "bears")]
    return [Score(*row) for row in zip(*columns, strict=True)]


async def _find_vectors(records: Sequence[Record], context: Context) -> list[bytes]:
    """The vectors of the memories in the space of the heads: as they are stored, or made here."""
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
