"""Memory where agents already are: coding agents, and the frameworks agents are written in."""

REPLACEMENT = "\ufffd"


def storable(text: str) -> str:
    """The text with U+FFFD for NUL and for halves of surrogate pairs: JSON stores refuse both."""
    whole = text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", REPLACEMENT)
