"""How many things a query asks for at once, told by how it joins them; English only."""

import re

_QUESTIONS = re.compile(r"\band (?:\w+ )?(?:who|whom|whose|what|which|when|where|why|how)\b", re.IGNORECASE)
_NAMES = re.compile(r"\b[A-Z]\w+(?:, and| and|,) (?=[A-Z])")


def things(text: str) -> int:
    """How many things a text asks for: 1, and 1 more for each question behind an "and", each joined name."""
    return 1 + len(_QUESTIONS.findall(text)) + len(_NAMES.findall(text))
