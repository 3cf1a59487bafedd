"""How many things a query asks for at once, told by how it joins them; English only."""

import re

_QUESTIONS = re.compile(r"\band (?:\w+ )?(?:who|whom|whose|what|which|when|where|why|how)\b", re.IGNORECASE)
_NAMES = re.compile(r"\b[A-Z]\w+(?:, and| and|,) (?=[A-Z])")


def things(text: str) -> int:
    """1, and one more for every further question behind an "and", and for every name joined to another."""
    return 1 + len(_QUESTIONS.findall(text)) + len(_NAMES.findall(text))
