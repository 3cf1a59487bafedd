"""What a text counts or measures: of "three bikes and 20 new playlists", bikes and playlists.

Figures, and number words of English; a year and the number of a line count nothing.
"""

import re

from memorywire.stores.text import spelled, spoken_by, word_terms

_TOKEN = re.compile(r"[$€£]?\d[\d,]*(?:\.\d+)?%?|\w+(?:['’]\w+)*|[.!?;:\n]")
_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand "
    "dozen couple several once twice".split()
)
_NUMBERS = frozenset([*_WORDS, *map(str.title, _WORDS)])
_FIGURES = frozenset("0123456789$€£")
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"(?:19|20)\d\d")
_ENDS = frozenset(".!?;:\n")
_BEHIND = 2
"""So many words behind a number say what there is of: "three new bikes"."""

MONEY, PERCENT, TIMES = "$", "%", "time"
_NOTHING: frozenset[str] = frozenset()


def counted(said: str) -> frozenset[str]:
    """The index terms of what a text says an amount of; MONEY and PERCENT stand for their signs."""
    if _DIGIT.search(said) is None and _NUMBERS.isdisjoint(spelled(said)):  # as of most facts
        return _NOTHING
    tokens = _TOKEN.findall(said)
    numbers = [at for at, token in enumerate(tokens) if _is_number(token)]
    found: set[str] = set()
    for at in numbers:
        if not _YEAR.fullmatch(tokens[at]):
            found |= _told(tokens[at], tokens[at + 1 : at + 1 + _BEHIND])
    return frozenset(found)


def _told(number: str, behind: list[str]) -> set[str]:
    """What a number is of, by the words behind it in its sentence."""
    found: set[str] = set()
    if number[0] in "$€£":
        found.add(MONEY)
    if number[-1] == "%":
        found.add(PERCENT)
    if number[-2:] == "ce":  # once, twice
        found.add(TIMES)
    for word in behind:
        if word in _ENDS:
            break
        if not _is_number(word):
            found.update(word_terms(word))
    return found


def _is_number(token: str) -> bool:
    return token in _NUMBERS or token[0] in _FIGURES


def amount_of(term: str) -> str:
    """The index term of a memory that says an amount of this; no text has it."""
    return spoken_by(f"#{term}")
