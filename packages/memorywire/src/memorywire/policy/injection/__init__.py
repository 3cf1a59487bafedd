"""Screens memories for signs of prompt injection: text addressed to the model instead of about the world.

It only reports signs; the policy decides what follows. It catches careless or copied attacks and cannot stop
a determined one: the source of a memory is better evidence than its words.
"""

import base64
import binascii
import html
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from msgspec import Struct

from memorywire.model.lookalikes import ignorable
from memorywire.model.record import Json, Record

T = TypeVar("T")

_PARTS = 16  # a group that is not clear as a whole is screened again in this many parts
_WORDLESS = frozenset({int, float, bool, type(None)})  # types whose values contain no words

# In addition to Unicode's table: letters that look like Latin ones, digits used instead of letters.
_LOOKALIKES = str.maketrans(
    "авекмнорстухіјѕԁһӏԛԝɡɑαβεικνορτυχγω013457", "abekmhopctyxijsdhlqwgaabeiknoptuxywoieast"
)
_ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
_SEPARATORS = str.maketrans(dict.fromkeys(".*_-"))
_TAGS = range(0xE0020, 0xE007F)  # invisible doubles of the printable ASCII characters

_STOP = "\x1f"  # marks the end of a sentence until all other marks are removed
_SILENT, _MORE_SILENT = "'`\"", "’“”"
_ENDS, _MORE_ENDS = (". ", "! ", "? ", ": ", "; ", "\r", "\n"), "。！？；—"

_HIDING = (
    "[\U000e0020-\U000e007f]",
    "[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4}",
    "[\u200b-\u200f\u2060\ufeff]{6}",
    "(?:[A-Za-z][\u200b-\u200d\u2060\ufeff]+[A-Za-z]?[^\u200b-\u200d\u2060\ufeff]{0,12}){4}",
    "[\u202d\u202e]",
)

_CONCEAL = "\x1b[8m"  # the terminal escape sequence that hides text

_SPELLED = ("(?:[ .*_-][a-z]){6}",)
_BASE64 = "[A-Za-z0-9+/_-]{20,}={0,2}"
_BYTES = r"(?:(?:\\x|0x)?[0-9A-Fa-f]{2}[\s,:]?){12,}"
_PERCENT = "(?:%[0-9A-Fa-f]{2}[^%]{0,20}){3}"
_ENTITY = "(?:&#?[0-9A-Za-z]{2,7};[^&]{0,20}){3}"
_ESCAPE = r"(?:\\u00[0-9A-Fa-f]{2}){4}"
_CODES = (_BASE64, _BYTES, _PERCENT, _ENTITY, _ESCAPE)
UNREAD = (*_SPELLED, *_CODES)
"""One of these matches any ASCII text that may hide text beyond its words and their undone disguises."""


def plain(text: str) -> str:
    """Normalise a text: lower case, compatibility forms unified, invisible characters removed."""
    visible = text if text.isascii() else unicodedata.normalize("NFKC", text.translate(_invisible()))
    return visible.lower()


@cache
def _invisible() -> dict[int, None]:
    return dict.fromkeys(ignorable())


@cache
def _all_lookalikes() -> dict[int, str]:
    from memorywire.model.unicode_tables import LOOKALIKES

    twins = {ord(char): plain.lower() for plain, chars in LOOKALIKES.items() for char in chars}
    return {code: plain for code, plain in twins.items() if plain.isalpha()} | {
        code: chr(letter) for code, letter in _LOOKALIKES.items()
    }


def words(text: str) -> str:
    """Return the words of a plain text separated by single spaces, and its sentences by full stops."""
    sentences, plain_ascii = text, text.isascii()
    for mark in _SILENT if plain_ascii else (*_SILENT, *_MORE_SILENT):
        sentences = sentences.replace(mark, "")
    for mark in _ENDS if plain_ascii else (*_ENDS, *_MORE_ENDS):
        sentences = sentences.replace(mark, f" {_STOP} ")
    return f" . {' '.join(sentences.translate(_WORDLY).split())} . "


def glance(text: bytes) -> bytes:
    """Return the `words` of a plain ASCII text, followed by the words with each letter disguise undone."""
    sentences = text.translate(None, _SILENT_BYTES)
    for mark in _ENDS_BYTES:
        sentences = sentences.replace(mark, _STOP_BYTES)
    words = b" . %b . " % b" ".join(sentences.translate(_WORDLY_BYTES).split())
    skeleton = words.translate(_LOOKALIKE_BYTES)
    return b"".join(
        (words, b"" if skeleton == words else skeleton, words.translate(_ROT13_BYTES), words[::-1])
    )


class _Wordly(dict[int, str]):
    """Table for `str.translate`: keeps letters, marks and digits, stops become full stops, others spaces."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        is_word = character.isalnum() or unicodedata.category(character)[0] == "M"
        self[code] = character if is_word else "." if character == _STOP else " "
        return self[code]


_WORDLY = _Wordly()


def _table(letters: Mapping[int, int | str | None]) -> bytes:
    """Build a table for `bytes.translate` with the same effect on ASCII as `str.translate`."""
    return "".join(map(chr, range(128))).translate(letters).encode().ljust(256)


_SILENT_BYTES, _STOP_BYTES = _SILENT.encode(), f" {_STOP} ".encode()
_ENDS_BYTES = tuple(mark.encode() for mark in _ENDS)
_WORDLY_BYTES, _LOOKALIKE_BYTES, _ROT13_BYTES = _table(_WORDLY), _table(_LOOKALIKES), _table(_ROT13)


def disguises(said: str, text: str) -> Iterator[str]:
    """Yield the words `said` with each letter disguise undone; `text` is the text they come from."""
    if _compile_each(_SPELLED).find(text):
        yield words(_join_spelling(text))
    yield from undo_disguises(said)


def undo_disguises(words: str) -> Iterator[str]:
    """Yield the words with each letter disguise undone: look-alikes, ROT13, reversed spelling."""
    skeleton = words.translate(_LOOKALIKES if words.isascii() else _all_lookalikes())
    if skeleton != words:
        yield skeleton
    yield words.translate(_ROT13)
    yield words[::-1]


def _join_spelling(text: str) -> str:
    """Join words that are spelled letter by letter; two or more spaces separate words."""
    parts: list[str] = []
    for part in text.translate(_SEPARATORS).split("  "):
        for is_letter, run in groupby(part.split(), key=lambda word: len(word) == 1):
            parts.append(("" if is_letter else " ").join(run))
    return " ".join(parts)


def decode_hidden(text: str) -> Iterator[str]:
    """Yield texts that are hidden in this one in an encoding."""
    if not text.isascii():
        yield "".join(chr(ord(char) - 0xE0000) for char in text if ord(char) in _TAGS)
    fitting = _compile_each(_CODES).find(text)
    for run in _re(_BASE64).findall(text) if _BASE64 in fitting else ():
        body = run.rstrip("=").replace("-", "+").replace("_", "/")
        body = body[: len(body) - (len(body) % 4 == 1)]
        yield from _legible(base64.b64decode(body + "=" * (-len(body) % 4)))
    for run in _re(_BYTES).findall(text) if _BYTES in fitting else ():
        digits = "".join(char for char in run.replace("0x", "") if char not in "\\x,: \t\r\n")
        yield from _legible(binascii.unhexlify(digits[: len(digits) & ~1]))
    if _PERCENT in fitting:
        yield unquote(text, errors="ignore")
    if _ENTITY in fitting:
        yield html.unescape(text)
    if _ESCAPE in fitting:
        yield unquote(text.replace("\\u00", "%"), errors="ignore")


def hides_text(text: str) -> bool:
    """Whether invisible characters contain a message, or break up or reverse the visible text."""
    if text.isascii():
        return _CONCEAL in text
    without_flags = _re("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f").sub("", text)
    return any(_re(pattern).search(without_flags) for pattern in _HIDING)


def _legible(data: bytes) -> Iterator[str]:
    """Yield the bytes as text, if they are mostly printable text."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    if sum(character.isprintable() or character.isspace() for character in text) > 0.9 * len(text):
        yield text


@cache
def _re(pattern: str) -> Any:
    """Compile a pattern with re2, whose time is linear; imported when the first text is screened."""
    import re2

    return re2.compile(pattern)


class _Table(Struct, frozen=True):
    """All patterns of one kind as a single automaton, which reads a text once."""

    automaton: Any
    signs: tuple[str, ...]

    def find(self, text: str) -> set[str]:
        return {self.signs[place] for place in self.automaton.Match(text.encode()) or ()}


@cache
def _load_table(kind: str) -> _Table:
    """Load patterns of signs.toml: `marks` of a plain text, `phrases` of its words, `reserved` names.

    `anything` has all patterns for an undecoded plain ASCII text. Compiling is slow, so each table is
    compiled for the first text that needs it.
    """
    tables: Mapping[str, Any] = tomllib.loads((Path(__file__).parent / "signs.toml").read_text("utf-8"))
    if kind == "anything":
        return _compile_table({**tables["marks"], **tables["reserved"], "unread": UNREAD})
    if kind == "reserved":
        return _compile_table(tables["reserved"], lambda name: f"^(?:{name})$")
    if kind == "marks":
        return _compile_table(tables["marks"])

    def expand(phrase: str) -> str:
        pattern = re.sub(r"\{([a-z]+)\}", lambda name: f"(?:{tables['words'][name[1]]})", phrase)
        gaps = re.sub(r"~(\d) ", r"(?:[^ .]+ ){0,\1}", pattern)
        return f" {gaps} "

    return _compile_table(tables["phrases"], expand)


def _compile_table(signs: Mapping[str, Iterable[str]], form: Callable[[str], str] = str) -> _Table:
    import re2

    options = re2.Options()
    # When the memory is full, the automaton restarts; it fails only if a single state does not fit, and then
    # it cannot be compiled at all.
    options.max_mem = 64 << 20
    automaton = re2.Set.SearchSet(options)
    pairs = [(sign, pattern) for sign, patterns in signs.items() for pattern in patterns]
    for _, pattern in pairs:
        automaton.Add(form(pattern))
    automaton.Compile()
    return _Table(automaton, tuple(sign for sign, _ in pairs))


@cache
def _compile_each(patterns: tuple[str, ...]) -> _Table:
    """Compile the patterns as one automaton: one pass shows which of them match; usually none does."""
    return _compile_table({pattern: (pattern,) for pattern in patterns})


ENCODED = "encoded"
HIDDEN = "hidden_text"

_CODE = 20  # a single shorter word is too short for a sign, even encoded


def instructions(text: str) -> tuple[str, ...]:
    """Return the sorted names of the signs found in a text; empty if there are none.

    Each disguise (an encoding, look-alike letters, reversed spelling) is undone once and the result screened:
    signs found only then are reported together with `encoded`. The time is linear in the text's length.
    """
    if len(text) < _CODE and text.isalnum():
        return ()
    valid = text.encode(errors="replace").decode()  # replaces lone surrogates
    visible = plain(valid)
    sentence = words(visible)
    signs = _find_signs(visible, sentence)
    # Each disguise ends like a sentence, so no phrase spans two of them.
    hidden_signs = _load_table("phrases").find("".join(disguises(sentence, visible)))
    for code in map(plain, decode_hidden(valid)):
        hidden_signs |= _find_signs(code, words(code))
    hidden_signs -= signs
    if hidden_signs:
        signs |= hidden_signs | {ENCODED}
    if hides_text(valid):
        signs.add(HIDDEN)
    return tuple(sorted(signs))


def _find_signs(text: str, words: str) -> set[str]:
    return _load_table("marks").find(text) | _load_table("phrases").find(words)


def _find_reserved(name: str) -> set[str]:
    """Return the sign for a name under which agents store their own settings; empty for other names."""
    return _load_table("reserved").find(name.strip().lower())


def screen(places: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return every sign with its place, for a memory given as texts by place.

    Outside the content, authors can choose field names, so these are screened like text; a name that agents
    use for their own settings is a sign, too. Field names within the content are among the texts already.
    """
    findings: list[tuple[str, str]] = []
    for place, text in places.items():
        signs = {*instructions(text)}
        if not place.startswith("content"):
            signs |= _find_reserved(text) | _find_name_signs(place)
        findings += ((sign, place) for sign in sorted(signs))
    return tuple(findings)


def _is_plain(text: str) -> bool:
    """Whether one pass over several texts, joined as lines, shows that none has a sign or a reserved name.

    This is safe because a line end also ends a sentence, and signs need no context but the beginning of a
    line. False if letters or bytes could combine to other words.
    """
    if not text.isascii() or _CONCEAL in text:
        return False
    visible = text.lower().encode()
    marks = _load_table("anything").automaton.Match(visible)
    return not (marks or _load_table("phrases").automaton.Match(glance(visible)))


_is_plain_name = lru_cache(maxsize=1024)(_is_plain)  # the same few names recur


@lru_cache(maxsize=1024)
def _find_name_signs(place: str) -> frozenset[str]:
    """Return the signs in the name of a place."""
    return frozenset((*instructions(place), *_find_reserved(place)))


def screen_record(record: Record) -> tuple[tuple[str, str], ...]:
    """Return every sign in a memory, with its place."""
    return screen_each([record])[0]


def screen_each(records: Sequence[Record]) -> list[tuple[tuple[str, str], ...]]:
    """Return every sign in each memory, with its place; one pass clears all memories without signs."""
    clear = find_clear(records, has_no_sign)
    if all(clear):
        return [()] * len(records)
    return [
        () if is_clear else screen(text_by_place(record))
        for record, is_clear in zip(records, clear, strict=True)
    ]


def find_clear(items: Sequence[T], is_clear: Callable[[Sequence[T]], bool]) -> list[bool]:
    """Return which items are clear, with few calls of `is_clear`: first all at once, then part by part.

    An item that is clear in a group must be clear alone. False means only that clearness was not shown.
    """
    if is_clear(items):
        return [True] * len(items)
    if len(items) <= 1:
        return [False] * len(items)
    step = max(1, len(items) // _PARTS)
    parts = (items[at : at + step] for at in range(0, len(items), step))
    return [flag for part in parts for flag in find_clear(part, is_clear)]


def has_no_sign(records: Sequence[Record]) -> bool:
    """Whether one pass over all these memories shows that `screen` finds no sign in any of them."""
    texts: dict[str, None] = {}  # equal texts are screened once
    places: set[str] = set()
    for record in records:
        for place, text in text_by_place(record).items():
            texts[text] = None
            if not place.startswith("content"):
                places.add(place)
    return _is_plain("\n".join(texts)) and all(map(_is_plain_name, places))


def text_by_place(record: Record) -> Mapping[str, str]:
    """Return all texts of a memory by place, so that a finding can name its place."""
    texts: dict[str, str] = {}
    _add_text(record.content, "content", texts)
    for place, value in (("source", record.source), ("metadata", record.metadata), ("tags", record.tags)):
        if value:
            _add_text(value, place, texts)
    return texts


def _add_text(value: Json, place: str, texts: dict[str, str]) -> None:
    """Add the texts of a value; for structured content also its field names, which are text, too."""
    if isinstance(value, str):
        if value:  # two paths can have the same name
            texts[place] = f"{texts[place]}\n{value}" if place in texts else value
    elif type(value) is dict or isinstance(value, Mapping):  # the first check is the faster one
        for key, inner in value.items():
            if place.startswith("content"):
                _add_text(key, f"{place}.{key}", texts)
            if type(inner) not in _WORDLESS:
                _add_text(inner, f"{place}.{key}", texts)
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            _add_text(inner, f"{place}[{at}]", texts)
