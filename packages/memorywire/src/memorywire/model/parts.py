"""Splits a text that is too long for one memory into parts that are not."""

from collections.abc import Iterator

CONTENT_CHARS_MAX = 65_536
"""What the content of a memory may have, when it is text."""

_BLANKS = (" ", "\n")


def in_parts(text: str) -> Iterator[str]:
    """The text, or all of it in as many parts as it takes, cut between words where that is possible."""
    if len(text) <= CONTENT_CHARS_MAX:
        yield text
        return
    left = text.strip()
    while len(left) > CONTENT_CHARS_MAX:
        end = max(left.rfind(blank, 1, CONTENT_CHARS_MAX) for blank in _BLANKS)
        end = CONTENT_CHARS_MAX if end < 0 else end
        yield left[:end].rstrip()
        left = left[end:].strip()
    yield left
