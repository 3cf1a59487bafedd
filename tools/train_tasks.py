"""Trains what `context` knows about tasks: the encoder of prompts and the heads that score memories.

    python tools/train_tasks.py [TASKS.jsonl]

It needs torch (the CPU build is enough) beside the packages of the repository, and takes about five minutes
on two processors. It writes `tasks.bin` of `memorywire-minilm` and `heads.npz` of the context package, and
prints their figures on people who were left out.

Theory of operation. "Suggest a dinner" and "is vegetarian" share no word and are far apart for a sentence
embedder, because it was trained to find texts that say the same. A memory that helps with a task says
something else. So the encoder of *prompts* is trained to land near the memories that help; the encoder of
*memories* stays as it is, and every stored vector keeps its meaning. Only the last two of the six layers
change: they are 3.5 MB, and the rest of the weights is shared.

On top of the cosine are four logistic heads:

- `useful`: whether a memory helps with the prompt or constrains the answer. A linear term of the memory
  tells facts that people need often from those they never need; one of the prompt tells tasks from trivia.
- `constraint`: whether a memory is a rule, a need or a limit, from its vector alone.
- `bears`: whether a constraint bears on the prompt, with a low-rank product of both vectors.
- `related`: whether the prompt is a task for which memory could matter at all, from its vector alone. A
  second logistic, `task`, weighs it together with the score of the most useful memory.
- `revised`: whether a newer memory tells the new state of an older one, from both alone: their cosine, the
  share of common terms, whether the newer one tells of a change, and how much longer it is. Which memory
  replaces an outdated one is not marked in the data: it is the newer one that fits best, found by turns.

The heads are fitted on encodings of prompts that the encoder has not seen (four folds, by person).

Tried and left out: a low-rank product in `useful` (fewer first places on unseen people), training both
sides (no gain on unseen people), more layers (no gain), matching token by token (no gain over the mean
vector), and 12,000 loose pairs of a prompt and a memory without a person around them (a loss, because what
matters is the choice among the memories of one person).
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).parent))

import memorywire_minilm
import pack_minilm
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.pipeline.prompt_context.score import measure_pair
from memorywire.search.embed import MiniLmEmbedder
from memorywire.search.text import terms
from memorywire_minilm import layout
from memorywire_minilm.model import WEIGHTS, load

ROOT = Path(__file__).parents[1] / "packages"
PEOPLE = ROOT / "memorywire-evals/src/memorywire_evals/assistant/data/tasks-train.jsonl"
ENCODER = ROOT / "memorywire-minilm/src/memorywire_minilm/data/tasks.bin"
HEADS = ROOT / "memorywire/src/memorywire/pipeline/prompt_context/heads.npz"

SEED = 1
FOLDS = 4
LAYERS = tuple(range(layout.TASK_LAYER, layout.LAYERS))
EPOCHS, BATCH, RATE = 2, 24, 2e-4
SHARPNESS = 20.0  # of the softmax over the memories of a person; cosines of MiniLM lie within 0..0.7
STRANGERS = 24  # memories of other people that every prompt is compared with as well
KEEP = 1.0  # the price of moving a prompt away from where the plain encoder puts it
RANK = 16

Floats = NDArray[np.float32]
Texts = list[str]


class Prompt(NamedTuple):
    text: int
    helps: frozenset[str]
    constrains: frozenset[str]
    is_related: bool


class Memory(NamedTuple):
    id: str
    text: int
    is_constraint: bool


class Person(NamedTuple):
    memories: list[Memory]
    prompts: list[Prompt]


class Pairs(NamedTuple):
    """Prompts beside memories of the same person."""

    prompts: NDArray[np.int64]
    memories: NDArray[np.int64]
    share: Floats  # of the prompt's terms that are in the memory
    is_useful: Floats
    bears: Floats
    is_constraint: NDArray[np.bool_]


def read_people(path: Path) -> tuple[list[Person], Texts]:
    """The people of the file, and all their texts; outdated memories are left out."""
    numbers: dict[str, int] = {}

    def number(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    people = []
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        bearing = {name for prompt in row["prompts"] for name in prompt["constrains"]}
        memories = [
            Memory(note["id"], number(note["text"]), bool(note.get("constraint")) or note["id"] in bearing)
            for note in row["memories"]
            if not note.get("outdated")
        ]
        prompts = [
            Prompt(number(one["text"]), frozenset(one["helps"]), frozenset(one["constrains"]), True)
            for one in row["prompts"]
        ]
        # What holds for every answer holds for trivia as well.
        counts = {name: sum(name in one.constrains for one in prompts) for name in bearing}
        always = frozenset(name for name, count in counts.items() if count >= 0.8 * len(prompts))
        prompts += [Prompt(number(text), frozenset(), always, False) for text in row["unrelated"]]
        people.append(Person(memories, prompts))
    return people, list(numbers)


class Encoder(torch.nn.Module):
    """MiniLM in floating point, from its 8-bit weights; only the layers in LAYERS are trained."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = torch.nn.ParameterDict()
        for name, array in _read_weights().items():
            is_trained = name[0].isdigit() and int(name[0]) in LAYERS
            self.weights[name] = torch.nn.Parameter(torch.tensor(array), requires_grad=is_trained)

    def begin(self, rows: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """The tokens of each row as they come to the first trained layer."""
        states, mask = _pad([self.weights["words"][torch.tensor(row)] for row in rows])
        states = states + self.weights["positions"][: states.shape[1]]
        states = self._norm(states, "norm")
        for layer in range(LAYERS[0]):
            states = self._layer(layer, states, mask)
        return [state[: len(row)] for state, row in zip(states, rows, strict=True)]

    def finish(self, states: Sequence[torch.Tensor]) -> torch.Tensor:
        """The vectors of rows that `begin` read."""
        padded, mask = _pad(states)
        for layer in LAYERS:
            padded = self._layer(layer, padded, mask)
        return functional.normalize((padded * mask[..., None]).sum(1), dim=1)

    def _norm(self, states: torch.Tensor, name: str) -> torch.Tensor:
        weights = self.weights
        return functional.layer_norm(
            states, (layout.HIDDEN,), weights[f"{name}_weight"], weights[f"{name}_bias"], 1e-12
        )

    def _map(self, states: torch.Tensor, name: str) -> torch.Tensor:
        return functional.linear(states, self.weights[f"{name}_matrix"], self.weights[f"{name}_bias"])

    def _layer(self, layer: int, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        count, length, _ = states.shape
        heads = self._map(states, f"{layer}_qkv").view(count, length, 3, layout.HEADS, -1)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(2, 3) * math.log(2)  # the weights are for powers of two
        scores = scores.masked_fill(~mask[:, None, None, :], -1e9)
        attended = (scores.softmax(-1) @ value).permute(0, 2, 1, 3).reshape(count, length, -1)
        states = self._norm(states + self._map(attended, f"{layer}_attended"), f"{layer}_attended_norm")
        inner = functional.gelu(self._map(states, f"{layer}_inner"))
        return self._norm(states + self._map(inner, f"{layer}_outer"), f"{layer}_outer_norm")


def _pad(rows: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    padded = torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True)
    lengths = torch.tensor([len(row) for row in rows])
    return padded, torch.arange(padded.shape[1])[None, :] < lengths[:, None]


def _read_weights() -> dict[str, Floats]:
    content = WEIGHTS.read_bytes()
    raw: dict[str, NDArray[Any]] = {
        one.name: np.frombuffer(content, one.type, math.prod(one.shape), one.offset).reshape(one.shape)
        for one in layout.sections()
    }
    weights = {"words": raw["words"] * raw["words.scale"][:, None], "positions": raw["positions"]}
    for name, array in raw.items():
        if name.endswith(("norm.weight", "norm.bias")):
            weights[name.replace(".", "_")] = array
        elif name.endswith(".scale") and name != "words.scale":
            matrix = name.removesuffix(".scale")
            lines, groups, channels, inputs = raw[matrix].shape
            steps = raw[matrix].transpose(0, 2, 1, 3).reshape(lines * channels, groups * inputs)
            key = matrix.replace(".", "_")
            weights[f"{key}_matrix"] = steps * array[:, None]
            weights[f"{key}_bias"] = raw[f"{matrix}.bias"]
    return {name: np.array(array, np.float32) for name, array in weights.items()}


class Trainer:
    """Holds the texts, their vectors and their tokens."""

    def __init__(self, texts: Texts) -> None:
        model = load()
        self.texts = texts
        self.vectors = np.frombuffer(b"".join(model.embed(texts)), "<f4").reshape(len(texts), -1)
        self.tensors = torch.tensor(self.vectors)
        self.terms = [frozenset(terms(text)) for text in texts]
        self._rows = [model._tokenizer.encode(text) for text in texts]
        self._states: dict[int, torch.Tensor] = {}

    def train(self, people: Iterable[Person]) -> Encoder:
        """An encoder of prompts that lands near the memories that help these people."""
        random.seed(SEED)
        torch.manual_seed(SEED)
        examples = [example for person in people for example in _list_examples(person)]
        memories = torch.tensor(sorted({text for _, yes, no in examples for text in (*yes, *no)}))
        encoder = Encoder()
        parameters = [one for one in encoder.parameters() if one.requires_grad]
        optimizer = torch.optim.AdamW(parameters, lr=RATE, weight_decay=0.01)
        steps, step = EPOCHS * (len(examples) // BATCH), 0
        for _ in range(EPOCHS):
            random.shuffle(examples)
            for start in range(0, len(examples) - BATCH + 1, BATCH):
                for group in optimizer.param_groups:
                    group["lr"] = RATE * (1 - step / steps) * min(1.0, step / 20 + 0.05)
                strangers = memories[torch.randint(len(memories), (STRANGERS,))]
                loss = self._lose(encoder, examples[start : start + BATCH], strangers)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                step += 1
        return encoder

    def _lose(
        self,
        encoder: Encoder,
        examples: Sequence[tuple[int, list[int], list[int]]],
        strangers: torch.Tensor,
    ) -> torch.Tensor:
        vectors = self._encode(encoder, [prompt for prompt, _, _ in examples])
        total = torch.zeros(())
        for vector, (prompt, helpful, useless) in zip(vectors, examples, strict=True):
            good = SHARPNESS * (self.tensors[helpful] @ vector)
            others = torch.cat([self.tensors[useless], self.tensors[strangers]])
            bad = torch.logsumexp(SHARPNESS * (others @ vector), 0)
            total = total + (torch.logaddexp(good, bad) - good).mean()
            total = total + KEEP * (1 - vector @ self.tensors[prompt])
        return total / len(examples)

    def _encode(self, encoder: Encoder, texts: Sequence[int]) -> torch.Tensor:
        missing = [text for text in dict.fromkeys(texts) if text not in self._states]
        for start in range(0, len(missing), 64):
            part = missing[start : start + 64]
            with torch.no_grad():
                states = encoder.begin([self._rows[text] for text in part])
            self._states.update(zip(part, states, strict=True))
        return encoder.finish([self._states[text] for text in texts])

    def encode(self, encoder: Encoder, people: Iterable[Person], into: Floats) -> None:
        """The vectors of the prompts of these people, in the rows of their texts."""
        texts = sorted({prompt.text for person in people for prompt in person.prompts})
        for start in range(0, len(texts), 64):
            part = texts[start : start + 64]
            with torch.no_grad():
                into[part] = self._encode(encoder, part).numpy()

    def pair(self, people: Iterable[Person]) -> Pairs:
        """Every prompt beside every memory of the same person."""
        rows = [
            (
                prompt.text,
                memory.text,
                len(self.terms[prompt.text] & self.terms[memory.text]) / max(1, len(self.terms[prompt.text])),
                memory.id in prompt.helps | prompt.constrains,
                memory.id in prompt.constrains,
                memory.is_constraint,
            )
            for person in people
            for prompt in person.prompts
            for memory in person.memories
        ]
        prompts, memories, share, useful, bears, constraint = map(np.array, zip(*rows, strict=True))
        return Pairs(prompts, memories, np.float32(share), np.float32(useful), np.float32(bears), constraint)


def _list_examples(person: Person) -> list[tuple[int, list[int], list[int]]]:
    examples = []
    for prompt in person.prompts:
        good = prompt.helps | prompt.constrains
        helpful = [memory.text for memory in person.memories if memory.id in good]
        useless = [memory.text for memory in person.memories if memory.id not in good]
        if prompt.is_related and helpful:
            examples.append((prompt.text, helpful, useless))
    return examples


class Head(torch.nn.Module):
    """A logistic of the cosine, the share of terms, a term of each vector and a low-rank product."""

    def __init__(self, rank: int, *, evidence: bool = True) -> None:
        super().__init__()
        self.rank, self.evidence = rank, evidence
        self.memory = torch.nn.Parameter(torch.zeros(layout.HIDDEN))
        self.prompt = torch.nn.Parameter(torch.zeros(layout.HIDDEN), requires_grad=evidence)
        self.weights = torch.nn.Parameter(torch.tensor([10.0, 1.0]), requires_grad=evidence)
        self.bias = torch.nn.Parameter(torch.tensor(-4.0))
        start = 0.3 / layout.HIDDEN**0.5
        self.left = torch.nn.Parameter(torch.randn(rank, layout.HIDDEN) * start)
        self.right = torch.nn.Parameter(torch.randn(rank, layout.HIDDEN) * start)

    def forward(self, prompts: torch.Tensor, memories: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
        score = 5 * (memories @ self.memory) + self.bias
        if self.evidence:
            cosine = (prompts * memories).sum(1)
            score = score + 5 * (prompts @ self.prompt)
            score = score + self.weights[0] * cosine + self.weights[1] * share
        if self.rank:
            score = score + 10 * ((prompts @ self.left.T) * (memories @ self.right.T)).sum(1)
        return score

    def shrink(self, product: float, linear: float) -> torch.Tensor:
        """The price of the size of the weights."""
        both = (self.left**2).sum() + (self.right**2).sum() if self.rank else torch.zeros(())
        return product * both + linear * ((self.memory**2).sum() + (self.prompt**2).sum())

    def export(self, name: str) -> dict[str, Floats]:
        arrays = {"memory": 5 * self.memory, "bias": self.bias}
        if self.evidence:
            arrays |= {"prompt": 5 * self.prompt, "weights": self.weights}
        if self.rank:
            arrays |= {"left": 10 * self.left, "right": self.right}
        return {f"{name}_{key}": np.float32(value.detach().numpy()) for key, value in arrays.items()}


def fit_head(
    head: Head,
    prompts: torch.Tensor,
    memories: torch.Tensor,
    share: torch.Tensor,
    truth: torch.Tensor,
    *,
    product: float,
    linear: float,
    epochs: int = 20,
) -> Head:
    """The head, fitted by batches; `product` and `linear` are the prices of its parts."""
    torch.manual_seed(SEED)
    optimizer = torch.optim.Adam([one for one in head.parameters() if one.requires_grad], lr=1e-2)
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = 1e-2 * (1 - epoch / epochs)
        for part in torch.randperm(len(truth)).split(1024):
            scores = head(prompts[part], memories[part], share[part])
            loss = functional.binary_cross_entropy_with_logits(scores, truth[part])
            loss = loss + head.shrink(product, linear)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return head


def fit_heads(trainer: Trainer, people: Sequence[Person], encodings: Floats) -> dict[str, Head]:
    """The heads, from encodings of prompts that their encoder has not seen."""
    pairs = trainer.pair(people)
    prompts, memories = torch.tensor(encodings)[pairs.prompts], trainer.tensors[pairs.memories]
    share, constrained = torch.tensor(pairs.share), torch.tensor(pairs.is_constraint)
    notes = {memory.text: memory.is_constraint for person in people for memory in person.memories}
    own = trainer.tensors[list(notes)]
    tasks = {prompt.text: prompt.is_related for person in people for prompt in person.prompts}
    asked = torch.tensor(encodings)[list(tasks)]
    torch.manual_seed(SEED)
    return {
        "useful": fit_head(
            Head(0), prompts, memories, share, torch.tensor(pairs.is_useful), product=0.0, linear=0.003
        ),
        "constraint": _fit_alone(own, notes.values()),
        "related": _fit_alone(asked, tasks.values()),
        "bears": fit_head(
            Head(RANK),
            prompts[constrained],
            memories[constrained],
            share[constrained],
            torch.tensor(pairs.bears)[constrained],
            product=0.001,
            linear=0.001,
            epochs=30,
        ),
    }


def _fit_alone(vectors: torch.Tensor, truth: Iterable[bool]) -> Head:
    """A head that sees one vector."""
    return fit_head(
        Head(0, evidence=False),
        vectors,
        vectors,
        torch.zeros(len(vectors)),
        torch.tensor([float(one) for one in truth]),
        product=0.0,
        linear=0.001,
        epochs=60,
    )


def fit_task(
    trainer: Trainer, people: Sequence[Person], encodings: Floats, heads: dict[str, Floats]
) -> dict[str, Floats]:
    """Whether a prompt is a task, from its own logit and the one of its most useful memory."""
    rows, truth = [], []
    for person in people:
        pairs = trainer.pair([person])
        prompts, memories = encodings[pairs.prompts], trainer.vectors[pairs.memories]
        useful = memories @ heads["useful_memory"] + prompts @ heads["useful_prompt"] + heads["useful_bias"]
        cosines = (prompts * memories).sum(1)
        useful += np.column_stack([cosines, pairs.share]) @ heads["useful_weights"]
        for prompt in person.prompts:
            related = encodings[prompt.text] @ heads["related_memory"] + heads["related_bias"]
            rows.append([related, useful[pairs.prompts == prompt.text].max()])
            truth.append(prompt.is_related)
    weights = fit_logistic(np.array(rows), np.array(truth, float))
    return {"task_weights": np.float32(weights[:-1]), "task_bias": np.float32(weights[-1])}


def fit_revised(path: Path) -> dict[str, Floats]:
    """Whether a newer memory tells the new state of an older one."""
    embedder = MiniLmEmbedder(1, tokens=False)
    rows: list[list[float]] = []
    ends: dict[int, list[int]] = {}  # the pairs of each outdated memory, whose newer one is not known
    lives: list[int] = []
    for line in path.read_text("utf-8").splitlines():
        notes = json.loads(line)["memories"]
        records = [
            Record(
                id=note["id"],
                scope=Scope(tenant="t", agent="a"),
                type=MemoryType.SEMANTIC,
                content=note["text"],
                created_at=place,
                updated_at=place,
            )
            for place, note in enumerate(notes)
        ]
        found = [terms(note["text"]) for note in notes]
        read = embedder.embed_here([note["text"] for note in notes])
        vectors = np.frombuffer(b"".join(read), "<f4").reshape(len(notes), -1)
        for older in range(len(notes)):
            pairs = [
                measure_pair(records[newer], vectors[older] @ vectors[newer], found[older], found[newer])
                for newer in range(older + 1, len(notes))
            ]
            numbers = range(len(rows), len(rows) + len(pairs))
            rows += pairs
            if notes[older].get("outdated"):
                ends[len(ends)] = [*numbers]
            else:
                lives += numbers
    inputs = np.array(rows)
    scores = inputs[:, 0] + inputs[:, 1]
    for _ in range(4):
        best = [
            max(numbers, key=lambda number: float(scores[number])) for numbers in ends.values() if numbers
        ]
        truth = np.r_[np.zeros(len(lives)), np.ones(len(best))]
        weights = fit_logistic(inputs[lives + best], truth)
        scores = np.c_[inputs, np.ones(len(inputs))] @ weights
    return {"revised_weights": np.float32(weights[:-1]), "revised_bias": np.float32(weights[-1])}


def fit_logistic(inputs: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights and the bias, the last, of a logistic regression; by Newton's method."""
    inputs = np.c_[inputs, np.ones(len(inputs))]
    weights = np.zeros(inputs.shape[1])
    for _ in range(15):
        chance = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        curve = (inputs * (chance * (1 - chance))[:, None]).T @ inputs + np.eye(len(weights))
        weights = weights - np.linalg.solve(curve, inputs.T @ (chance - truth) + weights)
    return weights


def write_encoder(encoder: Encoder, path: Path) -> None:
    """The trained layers in 8 bits, as they lie in the weights file."""
    arrays: dict[str, NDArray[Any]] = {}
    for layer in LAYERS:
        for name in layout.MATRICES:
            matrix, bias = encoder.weights[f"{layer}_{name}_matrix"], encoder.weights[f"{layer}_{name}_bias"]
            pack_minilm.pack_matrix(arrays, f"{layer}.{name}", matrix.detach().numpy(), bias.detach().numpy())
        for name in ("attended.norm", "outer.norm"):
            for part in ("weight", "bias"):
                key = f"{layer}_{name.replace('.', '_')}_{part}"
                arrays[f"{layer}.{name}.{part}"] = encoder.weights[key].detach().numpy()
    start = layout.task_offset()
    content = bytearray(layout.file_size() - start)
    for section in layout.sections():
        if section.offset >= start:
            raw = arrays[section.name].astype(section.type).tobytes()
            content[section.offset - start : section.offset - start + len(raw)] = raw
    path.write_bytes(content)


def measure(scores: Floats, truth: Floats) -> float:
    """The area under the ROC curve."""
    order = np.argsort(scores)
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(len(scores))
    positives = truth.sum()
    return float(
        (ranks[truth > 0].sum() - positives * (positives - 1) / 2) / (positives * (len(truth) - positives))
    )


def report(trainer: Trainer, people: Sequence[Person], encodings: Floats) -> None:
    """How often the memory nearest to the prompt is useful, before and after training."""
    pairs = trainer.pair(people)
    for name, table in (("plain", trainer.vectors), ("trained", encodings)):
        cosines = (table[pairs.prompts] * trainer.vectors[pairs.memories]).sum(1)
        best: dict[int, tuple[float, float]] = {}
        for prompt, cosine, truth in zip(pairs.prompts, cosines, pairs.is_useful, strict=True):
            best[prompt] = max(best.get(prompt, (-1.0, 0.0)), (float(cosine), float(truth)))
        related = {one.text for person in people for one in person.prompts if one.helps or one.constrains}
        first = np.mean([truth for prompt, (_, truth) in best.items() if prompt in related])
        print(f"{name}: nearest is useful {first:.3f}, AUROC {measure(cosines, pairs.is_useful):.3f}")


def main(path: str = str(PEOPLE)) -> None:
    """Train, report on people left out, and write both files."""
    torch.set_num_threads(1)  # with more, the threads of a busy machine wait for each other
    people, texts = read_people(Path(path))
    trainer = Trainer(texts)
    encodings = np.zeros_like(trainer.vectors)
    for fold in range(FOLDS):
        rest = [person for place, person in enumerate(people) if place % FOLDS != fold]
        left_out = [person for place, person in enumerate(people) if place % FOLDS == fold]
        trainer.encode(trainer.train(rest), left_out, encodings)
        print(f"fold {fold + 1} of {FOLDS}", flush=True)
    report(trainer, people, encodings)
    heads = fit_heads(trainer, people, encodings)
    arrays = {key: array for name, head in heads.items() for key, array in head.export(name).items()}
    arrays |= fit_task(trainer, people, encodings, arrays) | fit_revised(Path(path))
    np.savez(HEADS, **arrays)
    write_encoder(trainer.train(people), ENCODER)
    print(f"{len(people)} people, {memorywire_minilm.MODEL} {memorywire_minilm.REVISION}: {ENCODER}, {HEADS}")


if __name__ == "__main__":
    main(*sys.argv[1:])
