"""A number with its noun, as people say it."""


def counted(number: int, one: str, several: str | None = None) -> str:
    """`1 memory`, `2 memories`; `several` is given where it is not made by an ending."""
    if number == 1:
        return f"1 {one}"
    return f"{number} {_several(one) if several is None else several}"


def _several(one: str) -> str:
    return f"{one[:-1]}ies" if one.endswith("y") and one[-2:-1] not in "aeiou" else f"{one}s"
