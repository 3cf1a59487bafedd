"""Builds the Internet-Draft of the wire format as XML (RFC 7991): `python tools/draft.py OUT.xml`.

The prose is docs/spec/v0.md, the messages are the schemas, the front and back matter is docs/spec/draft.xml.
`xml2rfc OUT.xml --text` renders it.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from memorywire.wire import spec

ROOT = Path(__file__).parents[1]
FRAME = ROOT / "docs" / "spec" / "draft.xml"
PROSE = ROOT / "docs" / "spec" / "v0.md"
SCENARIOS = ROOT / "docs" / "spec" / "scenarios.md"

_KEYWORDS = re.compile(r"\b(MUST NOT|MUST|SHOULD NOT|SHOULD|MAY)\b")
_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)]+)\)")


def build() -> str:
    """The whole draft."""
    frame = FRAME.read_text(encoding="utf-8")
    parts = {
        "prose": "".join(_sections(PROSE.read_text(encoding="utf-8"))),
        "scenarios": "".join(_sections(SCENARIOS.read_text(encoding="utf-8"))),
        "messages": "".join(_messages()),
    }
    for name, text in parts.items():
        frame = frame.replace(f"<!-- {name} -->", text)
    return frame


def _sections(text: str) -> Iterator[str]:
    """The sections of a page of Markdown; what stands before its first heading is one, too."""
    title, _, rest = text.partition("\n")
    preface, *chapters = re.split(r"^## ", rest, flags=re.MULTILINE)
    yield _section(title.removeprefix("# ") + ": overview", preface)
    for chapter in chapters:
        name, _, body = chapter.partition("\n")
        yield _section(name, body)


def _section(name: str, body: str) -> str:
    before, *inner = re.split(r"^### ", body, flags=re.MULTILINE)
    nested = "".join(_section(*one.split("\n", 1)) for one in inner)
    return _wrap(_anchor(name), _text(name), "".join(_blocks(before)) + nested)


def _wrap(anchor: str, name: str, content: str) -> str:
    return f'<section anchor="{anchor}"><name>{name}</name>{content}</section>\n'


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, lists, tables and code."""
    for index, piece in enumerate(re.split(r"^```\w*\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)):
        if index % 2:
            yield f"<sourcecode><![CDATA[\n{piece}]]></sourcecode>\n"
            continue
        for block in re.split(r"\n\s*\n", piece):
            if block.strip():
                yield from _block(block.strip("\n"))


def _block(block: str) -> Iterator[str]:
    if block.startswith("|"):
        yield _table([_cells(line) for line in block.splitlines()])
        return
    # A list may follow its introduction without an empty line.
    first, *items = re.split(r"(?:^|\n)(?:- |\d+\. )", block)
    if first.strip():
        yield f"<t>{_text(first)}</t>\n"
    if items:
        kind = "ol" if re.match(r"\d+\. ", block[len(first) :].lstrip("\n")) else "ul"
        yield f"<{kind}>" + "".join(f"<li>{_text(item)}</li>" for item in items) + f"</{kind}>\n"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, _, *body = rows
    top = "".join(f"<th>{_text(cell)}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in body)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>\n"


def _text(text: str) -> str:
    """Markdown within a line as XML."""
    parts, at = [], 0
    text = " ".join(text.split()).replace("\\|", "|")
    for found in _INLINE.finditer(text):
        parts.append(_plain(text[at : found.start()]))
        code, strong, label, target = found.groups()
        if code:
            parts.append(f"<tt>{escape(code)}</tt>")
        elif strong:
            parts.append(f"<strong>{_plain(strong)}</strong>")
        else:
            parts.append(
                f'<xref target="{_anchor(target[1:])}"/>' if target.startswith("#") else _plain(label)
            )
        at = found.end()
    return "".join(parts) + _plain(text[at:])


def _plain(text: str) -> str:
    return _KEYWORDS.sub(r"<bcp14>\1</bcp14>", escape(text))


def _anchor(name: str) -> str:
    return "s-" + re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _messages() -> Iterator[str]:
    """The shared types, then a section for each operation with the fields of its request and its response."""
    shared = spec.schema("common")["$defs"]
    rows = [[f"`{name}`", _kind(value), _meaning(value)] for name, value in sorted(shared.items())]
    types = _table([["Type", "JSON", "Meaning"], [], *rows])
    yield _wrap("m-types", "Shared types", types)
    for name in ("record", "problem", "capabilities"):
        yield _wrap(f"t-{name}", f"The type {name}", f"<t>{_about(name)}</t>{_fields(name)}")
    names = sorted(name.removesuffix(".request") for name in spec.schemas() if name.endswith(".request"))
    for name in names:
        tables = [
            f"<t>{title}: {_about(message)}</t>{_fields(message)}"
            for message, title in ((f"{name}.request", "The request"), (f"{name}.response", "The response"))
            if message in spec.schemas()
        ]
        yield _wrap(f"m-{name}", name, "".join(tables))


def _about(name: str) -> str:
    return _text(spec.schema(name).get("description", ""))


def _fields(name: str) -> str:
    schema = spec.schema(name)
    required = set(schema.get("required", ()))
    properties: Mapping[str, Any] = schema.get("properties", {})
    if not properties:
        return "<t>It has no fields of its own.</t>\n"
    rows = [
        [f"`{field}`", _kind(value), "yes" if field in required else _default(value), _meaning(value)]
        for field, value in properties.items()
    ]
    return _table([["Field", "Type", "Required", "Meaning"], [], *rows])


def _kind(value: Mapping[str, Any]) -> str:
    if "enum" in value:
        return ", ".join(f"`{one}`" for one in value["enum"])
    kind = value.get("type", "")
    text = ", ".join(kind) if isinstance(kind, list) else str(kind or _reference(value))
    low, high = (value.get(name) for name in ("minimum", "maximum"))
    return text if low is None and high is None else f"{text}, {low}..{'' if high is None else high}"


def _reference(value: Mapping[str, Any]) -> str:
    return str(value.get("$ref", "any")).rpartition("/")[2].removesuffix(".json")


def _default(value: Mapping[str, Any]) -> str:
    return f"no; `{value['default']}`" if "default" in value else "no"


def _meaning(value: Mapping[str, Any]) -> str:
    return str(value.get("description", value.get("title", ""))).replace("|", "\\|")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(build(), encoding="utf-8")
