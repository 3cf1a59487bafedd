"""The examples of a page as commands: what a reader types."""

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(text: str, python: str) -> Iterator[list[str]]:
    """Yield how each `python` and `console` example of a page is run, from top to bottom."""
    for language, code in _FENCE.findall(text):
        if language == "python":
            yield [python, "-c", code]
        elif language == "console":
            yield ["bash", "-euo", "pipefail", "-c", _typed(code)]


def _typed(session: str) -> str:
    """The lines after a prompt, without what the terminal answered."""
    return "\n".join(line[2:] for line in session.splitlines() if line.startswith(("$ ", "> ")))
