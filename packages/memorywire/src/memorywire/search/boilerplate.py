"""Finds the words of a question that only ask, and say nothing of what it is about.

English only, and deliberately modest: what is not understood is simply not used.
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
_LATEST = re.compile(r"\b(?:last|latest|recent|recently)\b", re.IGNORECASE)


@lru_cache(maxsize=256)
def aside(text: str) -> frozenset[str]:
    """The index terms that only serve to ask ("any tips"); none if nothing else would be left."""
    said = _ASIDE.sub(" ", text)
    if said == text:
        return frozenset()
    kept = terms(said).keys()
    return frozenset(terms(text).keys() - kept) if kept else frozenset()


def counts_back(text: str) -> bool:
    """Whether the text tells a time by how long ago it was: "three weeks ago"."""
    return "ago" in text.lower() and _COUNTED.search(text) is not None


def asks_of_the_past(text: str) -> bool:
    """Whether the text asks when or why something happened: later mentions do not change that answer."""
    return _PAST.match(text) is not None and not _LATEST.search(text)
