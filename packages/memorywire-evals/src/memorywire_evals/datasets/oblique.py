"""The facts of the microbenchmark, asked in a roundabout way: words, and even names, that no fact has."""

from pathlib import Path

from memorywire_evals.cases import Dataset
from memorywire_evals.datasets import micro
from memorywire_evals.datasets.files import read_lines
from memorywire_evals.datasets.own import from_lines

FILE = Path(__file__).with_name("oblique.jsonl")


def read(data: Path, *, split: str, roles: str) -> Dataset:
    facts = [(number, line) for number, line in read_lines(micro.FILE) if "memory" in line]
    return from_lines("oblique", FILE, [*facts, *read_lines(FILE)])
