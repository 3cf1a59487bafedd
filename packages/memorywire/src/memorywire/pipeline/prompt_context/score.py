"""Scores memories for a task: does it help, is it a constraint, and does that constraint bear on the prompt?

"Suggest a dinner" and "is vegetarian" share no word and are far apart for a sentence embedder. So the
prompt is embedded by an encoder that was trained for tasks, and three logistic heads score its vector with
the vector of a memory. `tools/train_tasks.py` documents the training of both and wrote `heads.npz`. The
weights are for vectors of MiniLM; a memory with vectors of another model is embedded again here.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from memorywire.model.record import Record, Trust
from memorywire.pipeline.context import Context
from memorywire.search.embed import SPACE, find_minilm
from memorywire.search.text import CHANGED, read_hidden_terms
from memorywire.stores.contract import SupportsChangeLog

TRIVIA, RELATED = -0.3, 0.5
"""The logits from which a prompt counts as a task, by its vector alone and together with the most useful
memory; chosen on the development part."""

REVISED = -0.5
"""Logit from which a newer memory counts as the new state of an older one."""

ALIKE = 0.45
"""Minimum cosine of such memories; pairs below it are not compared."""

LEAST = 1e-6
"""Lower bound of a probability before its logit is taken."""

Words: TypeAlias = Mapping[str, int]
"""The index terms of a memory."""

_HEADS = Path(__file__).with_name("heads.npz")


class Score(Struct, frozen=True):
    """The probabilities that a memory is useful for the prompt, is a constraint, bears on the prompt if it
    is one, and bears on any prompt.
    """

    useful: float
    constraint: float
    bears: float
    always: float


_COLUMNS = ("useful", "constraint", "bears")


class _Heads:
    """The weights of all heads, stacked so that one product with the memories serves all of them."""

    def __init__(self) -> None:
        import numpy as np

        with np.load(_HEADS) as file:
            arrays = {name: file[name] for name in file.files}
        self.related = arrays["related_memory"]
        self.related_bias = float(arrays["related_bias"])
        self.task, self.task_bias = arrays["task_weights"], float(arrays["task_bias"])
        self.revised, self.revised_bias = arrays["revised_weights"], float(arrays["revised_bias"])
        rows = [arrays[f"{name}_memory"] for name in _COLUMNS]
        self.memory = np.vstack([*rows, arrays["bears_right"]]).T.copy()
        self.left = arrays["bears_left"]
        self.prompt = np.vstack([arrays["useful_prompt"], arrays["bears_prompt"]])
        self.weights = np.vstack([arrays["useful_weights"], arrays["bears_weights"]])
        self.bias = np.array([*(arrays[f"{name}_bias"] for name in _COLUMNS), 0.0])


_load_heads = cache(_Heads)


def is_related(vector: bytes, scores: Sequence[Score]) -> bool:
    """Whether the prompt is a task for which memory matters; trivia and arithmetic are not.

    If some memory is useful, a prompt needs to look less like a task. A prompt that the encoder cannot read,
    such as one in another script, counts as a task.
    """
    import numpy as np

    heads, prompt = _load_heads(), np.frombuffer(vector, "<f4")
    if not prompt.any():
        return True
    alone = float(prompt @ heads.related + heads.related_bias)
    best = min(max((one.useful for one in scores), default=0.0), 1 - LEAST)
    together = heads.task @ (alone, math.log((best + LEAST) / (1 - best))) + heads.task_bias
    return bool(alone > TRIVIA and together > RELATED)


def score_memories(vector: bytes, vectors: Sequence[bytes], shares: Sequence[float]) -> list[Score]:
    """Score each memory from its vector and its share of the prompt's words.

    `vector` is the task embedding of the prompt. If the encoder cannot read the prompt, every constraint may
    bear on it.
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


def find_revised(records: Sequence[Record], vectors: Sequence[bytes], words: Sequence[Words]) -> set[str]:
    """Return the ids of memories whose new state a newer memory probably has.

    Memories of untrusted sources and turns of conversations revise nothing.
    """
    import numpy as np

    if not records:
        return set()
    heads = _load_heads()
    rows = np.frombuffer(b"".join(vectors), "<f4").reshape(len(records), -1)
    pairs = zip(*(axis.tolist() for axis in np.nonzero(rows @ rows.T > ALIKE)), strict=True)
    return {
        records[older].id
        for older, newer in pairs
        if records[newer].moment > records[older].moment
        and records[newer].scope == records[older].scope
        and records[newer].trust is not Trust.UNTRUSTED
        and records[newer].speaker is None
        and heads.revised
        @ measure_pair(records[newer], rows[older] @ rows[newer], words[older], words[newer])
        + heads.revised_bias
        > REVISED
    }


def measure_pair(newer: Record, cosine: float, words: Words, newer_words: Words) -> list[float]:
    """Return the features for whether `newer` is the new state of an older memory with these `words`."""
    return [
        float(cosine),
        len(words.keys() & newer_words.keys()) / max(1, min(len(words), len(newer_words))),
        float(CHANGED in read_hidden_terms(newer)),
        math.log((len(newer_words) + 1) / (len(words) + 1)),
    ]


async def find_vectors(records: Sequence[Record], context: Context) -> list[bytes]:
    """Return the memories' vectors in the space of the heads: stored ones if possible, else computed."""
    if not records:
        return []
    stored: Sequence[bytes | None] = [None] * len(records)
    if context.embedder.space == SPACE and isinstance(context.store, SupportsChangeLog):
        versions = [(record.id, record.version) for record in records]
        stored = await context.store.vectors(records[0].scope.tenant, versions)
    missing = [record.meaning for record, own in zip(records, stored, strict=True) if own is None]
    made = iter(await asyncio.to_thread(find_minilm(context.embedder).embed_here, missing) if missing else ())
    return [next(made) if own is None else own for own in stored]
