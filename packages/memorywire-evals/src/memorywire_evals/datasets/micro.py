"""The microbenchmark that comes along: 100 facts about ten people, 50 queries, 8 of them unanswerable."""

from pathlib import Path

from memorywire_evals.cases import Dataset
from memorywire_evals.datasets.files import read_lines
from memorywire_evals.datasets.own import from_lines

FILE = Path(__file__).with_name("micro.jsonl")


def read(data: Path, *, split: str, roles: str) -> Dataset:
    return from_lines("micro", FILE, read_lines(FILE))
