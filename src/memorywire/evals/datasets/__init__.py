"""Readers of public sets and of one's own data; each gives a `Dataset`."""

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from memorywire.evals.cases import Dataset
from memorywire.evals.sets import Kind


class Reader(Protocol):
    """What every module of this room offers."""

    def __call__(self, data: Path, *, split: str, roles: str) -> Dataset: ...


def load(kind: Kind, data: Path, *, split: str = "test", roles: str = "all") -> Dataset:
    """The part of a set that `split` names; a set that is not divided is taken whole.

    `roles` may leave out what assistants said, where a set tells roles apart.
    """
    reader = cast(Reader, import_module(f"{__name__}.{kind.module}").read)
    return reader(data, split=split, roles=roles)
