"""Text in the cell of a table that a spreadsheet may open."""

_MARK = "'"
_FORMULA = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""What a formula may begin with; the last four are the wide forms, which some programs read alike."""


def as_cell(text: str) -> str:
    """The text, with an apostrophe before it where a spreadsheet would take it for a formula."""
    return f"{_MARK}{text}" if _begins_formula(text) else text


def from_cell(text: str) -> str:
    """The text of a cell that `as_cell` wrote."""
    return text[1:] if text[:1] == _MARK and _begins_formula(text) else text


def _begins_formula(text: str) -> bool:
    bare = text.lstrip(_MARK)[:1] if text[:1] == _MARK else text[:1]
    return bare in _FORMULA and bare != ""
