"""Reads all that another product left into a spool file before any of it is imported."""

import csv
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from pathlib import Path

from memorywire.migrate.examining import refuse_other_forms
from memorywire.migrate.importers.source import Source
from memorywire.migrate.lines import change_line, sealed
from memorywire.model.change import Change
from memorywire.model.errors import InvalidRequest


def spool(source: Source, path: Path) -> int:
    """Write its changes to the file, each once, and say how many there are. Blocks.

    Raises InvalidRequest unless every one is sound.
    """
    number = 0
    seen: dict[int, int] = {}  # which change began a version, as hashes: so they fit into memory
    with path.open("wb") as file:
        for number, change in enumerate(_readable(source), start=1):
            for put in change.put:
                mark, by = hash((put.record.id, put.record.version)), hash(change.id)
                if seen.setdefault(mark, by) != by:
                    raise InvalidRequest(
                        f"memory {number} has the id {put.record.id}, which another one has too", field="file"
                    )
            file.write(_sound(change, number))
    return number


def _sound(change: Change, number: int) -> bytes:
    with reading(range(number - 1)):
        line = change_line(change)
        written = sealed(line)  # what is no JSON is found out here
    refuse_other_forms(line, f"memory {number}")
    return written


def _readable(source: Source) -> Iterator[Change]:
    """The changes of the source, without repeated ones."""
    known: set[int] = set()
    with reading(known):
        for change in source.changes():
            if (mark := hash(change.id)) not in known:
                known.add(mark)
                yield change


@contextmanager
def reading(known: Sized = ()) -> Iterator[None]:
    """Turn errors of a reader into a problem of the file, with the place that was reached."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InvalidRequest("the file is not UTF-8", field="file", fix="save it as UTF-8") from error
    except KeyError as error:
        raise InvalidRequest(f"{_behind(known)} lacks {error.args[0]!r}", field="file") from error
    except (AttributeError, RecursionError, TypeError, ValueError, csv.Error) as error:
        raise InvalidRequest(
            f"{_behind(known)} cannot be read ({type(error).__name__})",
            field="file",
            fix="mend the file, or say what it is with --from",
        ) from error


def _behind(known: Sized) -> str:
    return f"behind memory {len(known)}, something" if known else "something in the file"
