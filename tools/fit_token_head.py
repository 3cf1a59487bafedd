"""Fits the matrix that reduces the state of a token to its direction, and writes `tokens.bin`.

    OPENBLAS_NUM_THREADS=1 python tools/fit_token_head.py

Words of a query and of a memory are compared by the directions of their tokens (`search/relevance.py`). The
state of a token has 384 numbers; a memory keeps `layout.TOKEN` bytes of each. The matrix projects to the
main axes of the states (uncentred, each of length one) of the texts that the encoder of tasks is trained
on: 5,155 short ones, written for this project. It takes a minute or more and prints the digest that
`model.py` checks. More threads only wait for each other: the matrices are small.

Tried: 96, 48 and all 384 numbers, centred states, and axes of dialogues (FriendsQA); the order of the
first ten moved by less than a hundredth on the sets for development.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from memorywire_minilm import layout
from memorywire_minilm.model import HEAD, load_tokenizer, map_weights
from memorywire_minilm.portable import PortableKernel

PEOPLE = (
    Path(__file__).parents[1]
    / "packages/memorywire-evals/src/memorywire_evals/assistant/data/tasks-train.jsonl"
)


def read_texts() -> list[str]:
    texts: list[str] = []
    for line in PEOPLE.read_text("utf-8").splitlines():
        person = json.loads(line)
        texts += [memory["text"] for memory in person["memories"]]
        texts += [prompt["text"] for prompt in person["prompts"]]
        texts += person["unrelated"]
    return texts


def main() -> None:
    kernel, encode = PortableKernel(memoryview(map_weights()), None), load_tokenizer().encode
    products = np.zeros((layout.HIDDEN, layout.HIDDEN))
    for text in read_texts():
        states = kernel.encode(encode(text))[1:-1].astype(np.float64)
        states /= np.linalg.norm(states, axis=1, keepdims=True)
        products += states.T @ states
    _, axes = np.linalg.eigh(products)
    head = axes[:, ::-1][:, : layout.TOKEN]
    head *= np.sign(head[np.abs(head).argmax(axis=0), range(layout.TOKEN)])  # the sign of an axis is free
    HEAD.write_bytes(head.astype("<f4").tobytes())
    print(f"{HEAD.name}: {hashlib.sha256(HEAD.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
