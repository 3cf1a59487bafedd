"""A registered value is found whatever stands between its characters, and however those are written."""

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from memorywire.model.unicode_tables import DEFAULT_IGNORABLE
from memorywire.policy.redact import Redactor

VALUE = "correct-Horse7Battery"

_HIDDEN = sorted({code for ends in DEFAULT_IGNORABLE for code in ends} | {0xE0041, 0xE007F, 0xE0101, 0xFE0E})
_BREAKS = (0x2028, 0x2029, 0x85, 0x0B, 0x0C, 0x0D, 0x1C, 0x1F, 0x00, 0x07, 0x08, 0x1B, 0x7F)
_SPACES = (0x20, 0x09, 0x0A, 0xA0, 0x1680, 0x2000, 0x2009, 0x200A, 0x202F, 0x205F, 0x3000, 0x2800)
_STROKES = (0x0301, 0x0336, 0x20E3)
SEPARATORS = {f"U+{code:04X}": chr(code) for code in (*_HIDDEN, *_BREAKS, *_SPACES, *_STROKES)}
ESCAPED = {
    "JSON \\u200b": "\\u200b",
    "JSON \\n": "\\n",
    "JSON tag": "\\udb40\\udc41",
    "C \\x0b": "\\x0b",
    "C \\u{2060}": "\\u{2060}",
    "octal": "\\012",
    "percent": "%E2%80%8B",
    "percent, twice": "%25E2%2580%258B",
    "percent line end": "%0A",
    "entity &shy;": "&shy;",
    "entity &zwnj;": "&zwnj;",
    "entity &NewLine;": "&NewLine;",
    "entity number": "&#8203;",
    "entity hex": "&#x2060;",
    "entity in entity": "&amp;#8203;",
}
WRITTEN: dict[str, Callable[[str], str]] = {
    "JSON escapes": lambda value: "".join(f"\\u{ord(char):04X}" for char in value),
    "JSON with hidden characters": lambda value: json.dumps("\u200b".join(value))[1:-1],
    "percent": lambda value: "".join(f"%{byte:02x}" for byte in value.encode()),
    "percent, twice": lambda value: quote("".join(f"%{byte:02x}" for byte in value.encode())),
    "some percent": lambda value: value.replace("e", "%65").replace("r", "%72"),
    "decimal entities": lambda value: "".join(f"&#{ord(char)};" for char in value),
    "hex entities": lambda value: "".join(f"&#x{ord(char):x};" for char in value),
    "some entities": lambda value: value.replace("-", "&hyphen;").replace("o", "&#111;"),
    "escaped markup": lambda value: html.escape(value.replace("t", "&#116;")),
    "octal": lambda value: "".join(f"\\{byte:03o}" for byte in value.encode()),
    "base32": lambda value: base64.b32encode(value.encode()).decode(),
    "base32, inside": lambda value: base64.b32encode(f"abc:{value}@host".encode()).decode(),
    "base32, small": lambda value: base64.b32encode(f"u{value}".encode()).decode().lower().rstrip("="),
    "base64": lambda value: base64.b64encode(f"ab{value}!".encode()).decode(),
    "base64, in lines": lambda value: "\n".join(_pieces(base64.b64encode(value.encode()).decode(), 8)),
    "base64, hidden": lambda value: "\u2060".join(base64.urlsafe_b64encode(value.encode()).decode()),
    "hex": lambda value: value.encode().hex(),
    "hex, dashes": lambda value: value.encode().hex("-"),
    "hex, bytes": lambda value: ", ".join(f"0x{byte:02x}" for byte in value.encode()),
    "hex, dumped": lambda value: " ".join(_pieces(value.encode().hex(), 4)),
    "Cyrillic": lambda value: value.translate(str.maketrans("coeaHB", "соеаНВ")),
    "bold letters": lambda value: "".join(_bold(char) for char in value),
    "circled letters": lambda value: "".join(
        chr(0x24D0 + ord(char) - 97) if char.islower() else char for char in value
    ),
    "full width": lambda value: "".join(chr(ord(char) + 0xFEE0) for char in value),
    "digits for letters": lambda value: value.replace("o", "0").replace("i", "1"),
    "another dash": lambda value: value.replace("-", "\u2010"),
    "reversed and hidden": lambda value: "\u200d".join(value[::-1]),
    "capitals, hidden": lambda value: "\u00ad".join(value.upper()),
}


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _bold(char: str) -> str:
    if char.islower():
        return chr(0x1D41A + ord(char) - 97)
    return chr(0x1D400 + ord(char) - 65) if char.isupper() else char


def _shown(written: str) -> str:
    return Redactor({"mine": VALUE}, patterns=False).text(f"see {written} there")[0]


def test_the_table_is_as_long_as_promised():
    assert len(SEPARATORS) + len(ESCAPED) >= 58


@pytest.mark.parametrize("separator", [*SEPARATORS.values(), *ESCAPED.values()], ids=[*SEPARATORS, *ESCAPED])
def test_no_separator_hides_a_registered_value(separator: str):
    for written in (
        separator.join(VALUE),
        VALUE[:9] + separator + VALUE[9:],
        VALUE[:9] + separator * 3 + VALUE[9:],
    ):
        assert _shown(written) == "see [REDACTED:mine] there"


@pytest.mark.parametrize("way", WRITTEN)
def test_no_spelling_hides_a_registered_value(way: str):
    assert _shown(WRITTEN[way](VALUE)) == "see [REDACTED:mine] there"


def test_every_default_ignorable_character_is_one_that_a_value_is_found_behind():
    text = "".join(chr(code) for low, high in DEFAULT_IGNORABLE for code in range(low, high + 1))
    assert _shown(VALUE[:5] + text + VALUE[5:]) == "see [REDACTED:mine] there"


def test_a_name_or_a_number_hides_nothing_either():
    redactor = Redactor({"mine": VALUE, "door": "48151623"}, patterns=False)
    assert redactor.identifier("\u200b".join(VALUE))[1] == ("mine",)
    assert redactor.json({"n": 48151623, "t": "4815 1623"}, "m")[0] == {
        "n": "[REDACTED:door]",
        "t": "[REDACTED:door]",
    }


def test_text_that_only_shares_letters_with_a_value_stays():
    redactor = Redactor({"mine": VALUE}, patterns=False)
    for text in (
        "correct horse battery",
        "Correct, said the horse. 7 batteries.",
        "100% of \\n & &amp; %zz \\",
    ):
        assert redactor.text(text) == (text, ())
