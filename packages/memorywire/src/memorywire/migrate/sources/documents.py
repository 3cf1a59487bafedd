"""JSON files of other products: whole, a line each, or inside the archive they came in."""

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from memorywire.model.errors import InvalidRequest
from memorywire.model.jsontext import parse_json
from memorywire.model.record import Json

CONVERSATIONS = "conversations.json"
_MIB = 1024 * 1024
_LARGEST = 1024 * _MIB
_LARGE, _DENSEST = 32 * _MIB, 100  # text is packed ten times, and no text a hundred times


def is_export(path: Path, field: str) -> bool:
    """Whether it is the export of an assistant, as a zip, a folder or a file, whose conversations have it."""
    if path.suffix not in (".zip", ".json") and not path.is_dir():
        return False
    said = document(path, CONVERSATIONS)
    return isinstance(said, list) and any(field in one for one in said[:1])


def document(path: Path, name: str) -> Json:
    """The JSON of the file itself, of the file of that name in a folder, or in a zip; None without one."""
    text = _text(path, name)
    if text is None:
        return None
    try:
        return parse_json(text)
    except ValueError as error:
        raise InvalidRequest(f"{name} is not JSON: {error}", field="file") from error


def _text(path: Path, name: str) -> str | None:
    if path.is_dir():
        inside = path / name
        return inside.read_text(encoding="utf-8") if inside.is_file() else None
    if not zipfile.is_zipfile(path):
        return path.read_text(encoding="utf-8") if path.name == name else None
    with zipfile.ZipFile(path) as archive:
        found = next((one for one in archive.namelist() if one.rpartition("/")[2] == name), None)
        return None if found is None else _unpacked(archive, archive.getinfo(found))


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    """The text of a file in an archive; what would not fit into memory is refused before it is unpacked."""
    ratio = member.file_size / max(member.compress_size, 1)
    if member.file_size > _LARGEST or (member.file_size > _LARGE and ratio > _DENSEST):
        raise InvalidRequest(
            f"{member.filename} takes {member.file_size // _MIB} MiB, {ratio:.0f} times as much as packed",
            field="file",
            fix="if you trust the archive, unpack it and name the folder",
        )
    return archive.read(member).decode("utf-8")


def objects(path: Path) -> Iterator[Mapping[str, Json]]:
    """The objects of a file that has one a line."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield _object(line, number)


def _object(line: str, number: int) -> Mapping[str, Json]:
    try:
        said = parse_json(line)
    except ValueError as error:
        raise InvalidRequest(f"line {number} is not JSON: {error}", field="file") from error
    if not isinstance(said, dict):
        raise InvalidRequest(f"line {number} is no JSON object", field="file")
    return said


def plain(value: Json) -> Json:
    """The value, parsed if it is JSON in a text or in bytes."""
    if not isinstance(value, str | bytes):
        return value
    try:
        return parse_json(value)
    except ValueError:
        return value


def table(value: Json) -> dict[str, Json]:
    """The object in a column; an empty one if it holds none."""
    said = plain(value)
    return dict(said) if isinstance(said, Mapping) else {}
