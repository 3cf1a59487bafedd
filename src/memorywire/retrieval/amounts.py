"""What a question asks the number or the amount of: of "how many bikes do I own?", bikes.

English only, and deliberately modest: what is not understood is simply not used.
"""

import re
from functools import lru_cache

from memorywire.stores.amounts import MONEY, PERCENT, TIMES
from memorywire.stores.text import word_terms

_ASKS = re.compile(r"\b(?:how (many|much|long|often|frequently|old)|(number) of)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+(?:['’]\w+)*|[.!?;:,\n]")
# An amount that is worked out from several memories, or that whoever is asked has said.
_ELSEWHERE = re.compile(
    r"\b(?:ago|between|different|passed|elapsed"
    r"|you (?:say|said|tell|told|mention|mentioned|recommend|recommended|suggest|suggested|give|gave))\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:did|was|were)\b", re.IGNORECASE)
# What stands before the name of a thing, and what ends it.
_BEFORE = frozenset("of the my a an our your".split())
_BEHIND = frozenset(
    "do does did have has had is are was were am can could will would should must may i me you we he she it "
    "they there in on at for to from with by of and or that which who since so this these those".split()
)
_MOST = 3

_DURATION = frozenset("second minut hour day week month year".split())
_BY_KIND = {
    "long": _DURATION,
    "often": frozenset([TIMES, "day", "week", "month", "year"]),
    "frequently": frozenset([TIMES, "day", "week", "month", "year"]),
    "old": frozenset(["year", "age", "old"]),
}
_MUCH = frozenset([MONEY, PERCENT, "dollar", "euro", "pound", "percent"])


@lru_cache(maxsize=256)
def amounts(text: str) -> frozenset[str]:
    """The index terms of what the text asks an amount of; none if it asks for none."""
    asks = _ASKS.search(text)
    if asks is None or _ELSEWHERE.search(text):
        return frozenset()
    kind = (asks[1] or asks[2]).lower()
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    things = _things(text[asks.end() :])
    if kind != "much":
        return things
    return _DURATION if "time" in things else _MUCH | things


def asks_a_past_amount(text: str) -> bool:
    """Whether the text asks how much something was or took, which no later word on it changes."""
    asks = _ASKS.search(text)
    return asks is not None and _PAST.search(text, asks.end()) is not None


def _things(rest: str) -> frozenset[str]:
    """The terms of the first words that name something."""
    found: list[str] = []
    for word in _WORD.findall(rest):
        named = () if word.lower() in _BEHIND or word.lower() in _BEFORE else word_terms(word)
        if found and not named:
            break
        if not named and word.lower() not in _BEFORE:
            break
        found += named
    return frozenset(found[:_MOST])
