"""Tables that Unicode publishes; `tools/unicode_tables.py` writes them to `unicode.json`."""

from pathlib import Path

import msgspec


class _Tables(msgspec.Struct):
    default_ignorable: tuple[tuple[int, int], ...]
    lookalikes: dict[str, str]


_TABLES = msgspec.json.decode(Path(__file__).with_name("unicode.json").read_bytes(), type=_Tables)

DEFAULT_IGNORABLE = _TABLES.default_ignorable
"""Ranges of code points of invisible characters, both ends included."""

LOOKALIKES = _TABLES.lookalikes
"""ASCII characters, each with the characters that look like it."""
