"""Trains what the reader of messages knows about jests, and prints how many it finds.

    python tools/train_jests.py

It takes some seconds. A sentence that is a joke, an exaggeration or irony says something that is not so,
often without any word that would show it ("I speak fluent toddler"). A logistic head judges the vector of a
sentence of which the rules of the reader would keep a fact. It is fitted on `jests-train.jsonl` (jests, true
sentences that look like jests, and plain ones), on `reading-train.jsonl` and on the notes of
`tasks-train.jsonl` in the first person. The limit is chosen on sentences that were left out, so that at most
LOSS of the true ordinary ones are taken for jests.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memorywire.search.embed import MiniLmEmbedder
from memorywire_evals.assistant.data import FOLDER, read_messages, read_people

HEAD = Path(__file__).parents[1] / "packages/memorywire/src/memorywire/pipeline/extract/jests.npz"
JESTS = FOLDER / "jests-train.jsonl"
UNSERIOUS = ("joke", "irony")
FIRST = ("I", "I'm", "I've", "My", "We", "Our")  # of a note in the words of the person

FOLDS = 8
SHRINK = 3.0  # the price of the size of the weights
LOSS = 0.08
SCALE = 5.0  # of a vector beside the bias

Floats = NDArray[np.float64]


def main() -> None:
    """Fit, report on what was left out, and write the head."""
    own = [json.loads(line) for line in JESTS.read_text("utf-8").splitlines()]
    messages = [one for one in read_messages("train") if one.group in UNSERIOUS or one.facts]
    messages = [one for one in messages if one.group in (*UNSERIOUS, "sentence")]
    notes = [note.text for person in read_people("train") for note in person.memories]
    notes = [text for text in notes if text.split()[0] in FIRST]
    texts = [one["text"] for one in own] + [one.text for one in messages] + notes
    jests = [one["jest"] for one in own] + [one.group in UNSERIOUS for one in messages]
    truth = np.array(jests + [False] * len(notes), float)
    vectors = embed(texts)
    scores = np.zeros(len(truth))
    folds = np.random.default_rng(1).permutation(len(truth)) % FOLDS
    for fold in range(FOLDS):
        left_out = folds == fold
        scores[left_out] = vectors[left_out] @ fit(vectors[~left_out], truth[~left_out])
    place = np.arange(len(truth))
    is_own, is_note = place < len(own), place >= len(own) + len(messages)
    limit = float(np.quantile(scores[~is_own & ~is_note & (truth == 0)], 1 - LOSS))
    for name, some in (("jests-train", is_own), ("reading-train", ~is_own & ~is_note)):
        found, lost = scores[some & (truth == 1)] > limit, scores[some & (truth == 0)] > limit
        shares = f"{found.mean():.3f} of {len(found)} jests found, {lost.mean():.3f} of {len(lost)} true lost"
        print(f"{name}: {shares}")
    print(f"tasks-train: {(scores[is_note] > limit).mean():.3f} of {len(notes)} true lost")
    weights = fit(vectors, truth)
    np.savez(HEAD, weights=np.float32(weights[:-1] * SCALE), bias=np.float32(weights[-1] - limit))
    print(HEAD)


def embed(texts: Sequence[str]) -> Floats:
    """The vectors of the texts, with a column of ones."""
    read = b"".join(MiniLmEmbedder(1, tokens=False).embed_here(texts))
    vectors = np.frombuffer(read, "<f4").reshape(len(texts), -1).astype(np.float64)
    inputs: Floats = np.c_[SCALE * vectors, np.ones(len(texts))]
    return inputs


def fit(inputs: Floats, truth: Floats, steps: int = 8) -> Floats:
    """The weights of a logistic regression in which both classes count alike, by Newton's method."""
    counts = np.where(truth > 0, 0.5 / truth.sum(), 0.5 / (1 - truth).sum()) * len(truth)
    price = np.eye(inputs.shape[1]) * SHRINK
    price[-1, -1] = 1e-6
    weights: Floats = np.zeros(inputs.shape[1])
    for _ in range(steps):
        chance = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (counts * (chance - truth)) + price @ weights
        curve = (inputs * (counts * chance * (1 - chance))[:, None]).T @ inputs + price
        weights = weights - np.linalg.solve(curve, slope)
    return weights


if __name__ == "__main__":
    main()
