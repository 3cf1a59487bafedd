"""HTML for notebooks: answers and receipts as tables. Every text is escaped: memories are untrusted."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from msgspec import Struct


def build_table(headers: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return an HTML table with these cells."""
    from html import escape  # loads a table of 2,000 entities, which only notebooks need

    def build_row(row: Sequence[object]) -> str:
        cells = (f'<td style="text-align:left">{escape(_write(value))}</td>' for value in row)
        return f"<tr>{''.join(cells)}</tr>"

    head = "".join(f"<th>{escape(name)}</th>" for name in headers)
    body = "".join(map(build_row, rows))
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def build_summary(value: Struct) -> str:
    """Return a table of the fields that have a value."""
    fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
    return build_table(
        ("field", "value"), [one for one in fields if one[1] not in (None, ())], type(value).__name__
    )


class Displayed(Struct, frozen=True, kw_only=True):
    """A value that notebooks show as a table."""

    def _repr_html_(self) -> str:
        return build_summary(self)


def _write(value: object) -> str:
    match value:
        case Enum():
            return str(value.value)
        case float():
            return f"{value:.3g}"
        case tuple():
            return ", ".join(map(_write, value))
        case Struct():
            fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
            return ", ".join(f"{name}: {_write(one)}" for name, one in fields if one not in (None, ()))
        case Mapping():
            return ", ".join(f"{name}: {_write(one)}" for name, one in value.items())
    return str(value)
