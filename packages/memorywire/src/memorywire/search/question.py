"""Analyses questions: boilerplate without content, names, and the kind of answer asked for.

English only, and deliberately limited: text that matches no rule has no effect.
"""

import re
from functools import lru_cache

from memorywire.search.text import terms

_AGO = r"(?:how many|couple of|\w+) (?:days?|weeks?|months?) ago"
_COUNTED = re.compile(rf"\b{_AGO}\b", re.IGNORECASE)
_ASIDE = re.compile(
    rf"\b(?:{_AGO}"
    r"|(?:can|could|would) you (?:please )?(?:suggest|recommend|remind me|tell me|help me)"
    r"|any (?:\w+ )?(?:suggestions?|recommendations?|tips?|advice|ideas?|thoughts)"
    r"|do you (?:think|know|remember|recall)"
    r"|(?:a|any) good idea"
    r"|i(?:['’]m| am|['’]ve been| have been| was) "
    r"(?:thinking (?:about|of)|planning|wondering|looking (?:for|back at)|going (?:back to|through))"
    r"|i['’](?:m|ve|d|ll)"
    r"|our (?:previous|last|earlier) (?:conversation|chat|discussion)"
    r"|(?:kind|type|sort)s? of"
    r")\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"\W*(?:when|why) (?:did|was|were|had|has|have)\b", re.IGNORECASE)
_REPLY = re.compile(
    r"\b(?:(?:did|had|have|were) you"
    r"|you(?:['’](?:d|ve))?(?: (?:had|have|also|just|previously|once|earlier))* "
    r"(?:suggested|recommended|mentioned|said|told|gave|given|listed|explained|described|provided|proposed"
    r"|advised|showed|shown|wrote|written|created|outlined|shared|pointed|discussed|referred|named|used)"
    r"|remind me"
    r"|your (?:\w+ )?(?:suggestions?|recommendations?|advice|answers?|explanations?|response)"
    r")\b",
    re.IGNORECASE,
)
_MOMENT = re.compile(r"\b(?:before|between|first|initially|originally|until|after \w+ing)\b", re.IGNORECASE)
_LATEST = re.compile(r"\b(?:last|latest|recent|recently)\b", re.IGNORECASE)


@lru_cache(maxsize=256)
def find_boilerplate(text: str) -> frozenset[str]:
    """Return the index terms of phrases without content ("any tips"); none if no others would be left."""
    rest = _ASIDE.sub(" ", text)
    if rest == text:
        return frozenset()
    remaining = terms(rest).keys()
    return frozenset(terms(text).keys() - remaining) if remaining else frozenset()


def counts_back(text: str) -> bool:
    """Whether the text states a time by how long ago it was: "three weeks ago"."""
    return "ago" in text.lower() and _COUNTED.search(text) is not None


def asks_about_past(text: str) -> bool:
    """Whether the text asks when or why something happened, or about the state at some past event ("before
    the offer", "my first sprint"): later mentions do not change that answer."""
    return bool(_PAST.match(text) or _MOMENT.search(text)) and not _LATEST.search(text)


def asks_for_reply(text: str) -> bool:
    """Whether the text asks an assistant for what it said: "what did you recommend?"."""
    return _REPLY.search(text) is not None


_WORD = re.compile(r"\w+(?:['’]\w+)*")
_POSSESSIVE = re.compile(r"['’]s$")
_BEGINNING = re.compile(r"(?:^|[.!?]\s)\W*$")
_LOOK_BACK = 8


def find_names(text: str) -> tuple[str, ...]:
    """Return each capitalised word that starts no sentence or is a possessive; in order, once each."""
    return tuple(dict.fromkeys(_POSSESSIVE.sub("", match.group()) for match in _match_names(text)))


def remove_names(text: str) -> str | None:
    """Return the text without names; None if it has none, or if no meaningful word would be left."""
    return _split_names(text)[0]


def asks_more(text: str) -> bool:
    """Whether the text asks for more than a person: it has two or more meaningful words besides names."""
    return _split_names(text)[1] > 1


@lru_cache(maxsize=256)
def _split_names(text: str) -> tuple[str | None, int]:
    """Return the text without names, if it has any, and the number of meaningful words left."""
    rest, end = [], 0
    for match in _match_names(text):
        rest.append(text[end : match.start()])
        end = match.end()
    if not rest:
        return None, 0
    remaining = " ".join("".join((*rest, text[end:])).split())
    meaning = len(terms(remaining))
    return (remaining if meaning else None), meaning


@lru_cache(maxsize=256)
def _match_names(text: str) -> tuple[re.Match[str], ...]:
    words = [match for match in _WORD.finditer(text) if not match.group().islower()]  # as most are
    return tuple([match for match in words if _is_name(match, text)])


def _is_name(match: re.Match[str], text: str) -> bool:
    word = match.group()
    name = _POSSESSIVE.sub("", word)
    before = text[max(match.start() - _LOOK_BACK, 0) : match.start()]
    begins = _BEGINNING.search(before) is not None
    return len(name) > 1 and name.istitle() and (not begins or name != word)


_QUESTIONS = re.compile(r"\band (?:\w+ )?(?:who|whom|whose|what|which|when|where|why|how)\b", re.IGNORECASE)
_NAMES = re.compile(r"\b[A-Z]\w+(?:, and| and|,) (?=[A-Z])")


def count_things(text: str) -> int:
    """Count the things that a text asks for: 1, plus 1 for each question after an "and" or joined name."""
    return 1 + len(_QUESTIONS.findall(text)) + len(_NAMES.findall(text))
