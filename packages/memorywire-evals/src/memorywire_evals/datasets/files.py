"""Finds and reads the files of a set, and selects the part of a split."""

import hashlib
import json
import lzma
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json

QUERY_CHARS_MAX = 8_192


class NoData(InvalidRequest):
    """The files of a set were not found."""


def find(data: Path, *patterns: str, without: str = "\0") -> Path:
    """Return the file itself, or the first in the folder that matches a pattern, tried in order."""
    return find_all(data, *patterns, without=without)[0]


def find_all(data: Path, *patterns: str, without: str = "\0") -> list[Path]:
    """Return the file itself, or all in the folder that match the first pattern with a match."""
    if data.is_file():
        return [data]
    for pattern in patterns:
        results = sorted(path for path in data.glob(pattern) if without not in path.name)
        if results:
            return results
    raise NoData(
        f"no {' or '.join(patterns)} in {data}", field="data", fix="pass --data FOLDER or --data FILE"
    )


def beside(file: Path, pattern: str) -> Path | None:
    """Return a companion of a file in its folder, or None."""
    return next(iter(sorted(file.parent.glob(pattern))), None)


def read_json(file: Path) -> Json:
    """Read a JSON document, compressed or not."""
    try:
        if file.suffix == ".xz":
            with lzma.open(file, "rb") as stream:
                return json.load(stream)
        return json.loads(file.read_bytes())
    except (EOFError, ValueError, lzma.LZMAError) as error:
        raise InvalidRequest(f"{file} is not JSON, or not all of it: {error}", field="data") from error


def read_lines(file: Path) -> list[tuple[int, Json]]:
    """Return the JSON documents of a file, one per line, with line numbers; skip empty lines.

    Only a line feed ends a line: JSON strings may contain other line separators, such as U+2028.
    """
    results = []
    for number, line in enumerate(_text(file).split("\n"), start=1):
        if line.strip():
            try:
                results.append((number, json.loads(line)))
            except ValueError as error:
                raise InvalidRequest(f"{file} line {number} is not JSON: {error}", field="data") from error
    return results


ROW_FILES = (".parquet", ".jsonl", ".json")
"""The file formats of a table: the published file, or an export of it."""


def find_tables(data: Path, *names: str) -> list[Path]:
    """Return the tables of the first name with a match, in the folder or below it."""
    folder = data.parent if data.is_file() else data
    for name in names:
        for suffix in ROW_FILES:
            files = sorted(folder.glob(f"**/{name}{suffix}"))
            if files:
                return files
    raise NoData(
        f"no {' or '.join(names)} ({', '.join(ROW_FILES)}) in {folder}",
        field="data",
        fix="pass --data FOLDER",
    )


def read_rows(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a table: Parquet, JSON lines, or a JSON list."""
    if file.suffix == ".parquet":
        return _read_parquet(file)
    if file.suffix == ".jsonl":
        return [row for _, row in read_lines(file)]
    return list(read_json(file))


def _read_parquet(file: Path) -> list[dict[str, Any]]:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError as error:
        raise InvalidRequest(
            f"reading {file.name} needs pyarrow",
            field="data",
            fix="pip install 'memorywire-evals[parquet]', or export the table to JSON lines",
        ) from error
    try:
        rows: list[dict[str, Any]] = parquet.read_table(file).to_pylist()
    except (OSError, ValueError) as error:
        raise InvalidRequest(f"{file} is not a Parquet file: {error}", field="data") from error
    return rows


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"{file} is not UTF-8 at byte {error.start}",
            field="data",
            fix="convert it, e.g. with `iconv -t UTF-8`",
        ) from error


def digest(*files: Path) -> str:
    """Return a digest of the data."""
    total = hashlib.blake2b(digest_size=8)
    for file in files:
        total.update(file.read_bytes())
    return total.hexdigest()


def part(file: Path, key: str, split: str, ids: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the name of the selected part and its ids, in the order of the data.

    A set that `splits.json` in its folder does not divide is taken whole, as `all`.
    """
    listing = beside(file, "splits.json")
    parts: dict[str, list[str]] = read_json(listing).get(key, {}) if listing else {}
    if split == "all" or len(parts) < 2:
        return "all", tuple(ids)
    if split not in parts:
        raise InvalidRequest(
            f"splits.json has no {split!r} for {key}",
            field="split",
            fix=f"one of: {', '.join([*parts, 'all'])}",
        )
    wanted = set(parts[split])
    return split, tuple(id for id in ids if id in wanted)


def words(text: str) -> str:
    """Return the text stripped; empty if it has no visible character, because no store keeps such text."""
    return (
        text.strip() if any(character.isprintable() and not character.isspace() for character in text) else ""
    )


def cut_query(text: str) -> str:
    """Cut a text to the maximum length of a query; an issue may be longer."""
    return words(words(text)[:QUERY_CHARS_MAX])


def unique(values: Iterable[str]) -> tuple[str, ...]:
    """Return each value once, in order of first appearance."""
    return tuple(dict.fromkeys(values))
