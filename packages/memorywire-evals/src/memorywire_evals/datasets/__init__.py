"""Reads public sets and own data; each reader returns a `Dataset`."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from msgspec.structs import replace

from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire_evals.cases import Case, Dataset
from memorywire_evals.sets import Kind


class Reader(Protocol):
    """A function that reads one set."""

    def __call__(self, data: Path, *, split: str, roles: str) -> Dataset: ...


def load(kind: Kind, data: Path, *, split: str = "test", roles: str = "all") -> Dataset:
    """Load the part of a set that `split` names; a set without parts is loaded whole.

    `roles` may exclude the turns of assistants, in sets with roles. Raises InvalidRequest on bad data.
    """
    module, _, name = kind.reader.partition(":")
    reader = cast(Reader, getattr(import_module(f"{__name__}.{module}"), name or "read"))
    with _report_shape(kind):
        dataset = reader(data, split=split, roles=roles)
    if not dataset.case_ids:
        raise InvalidRequest(f"there are no cases of {kind.name} in {data}", field="data")

    def build(id: str) -> Case:
        with _report_shape(kind):
            return dataset.build(id)

    return replace(dataset, build=build)


@contextmanager
def _report_shape(kind: Kind) -> Iterator[None]:
    """Turn errors of a reader into InvalidRequest: the data does not have the expected shape."""
    try:
        yield
    except MemorywireError:
        raise
    except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError) as error:
        raise InvalidRequest(
            f"the data does not have the shape of {kind.name}: {type(error).__name__} {error}",
            field="data",
            fix="docs/reference/eval-data.md shows the shape",
        ) from error
