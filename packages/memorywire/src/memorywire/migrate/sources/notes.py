"""Notes in Markdown: MEMORY.md and CLAUDE.md, folders of Obsidian and of basic-memory.

Each item of a list and each paragraph is a memory that begins with the headings above it: alone it
would often not say what it is about, and who asks for their words would not find it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from memorywire.migrate.sources.found import Found, Origin, Source, moment, source, written_at
from memorywire.migrate.sources.pages import Page, first, others, pages
from memorywire.model.record import Json

WANTED = "a Markdown file, or a folder of them"

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.*)")
_OBSERVATION = re.compile(r"\[([^\]\[]+)\][ \t]+(.*)")
_LINK = re.compile(r"\[\[([^\[\]|#]+)[^\[\]]*\]\]")  # no bracket inside, else many of them take the square
_TAG = re.compile(r"(?<![\w#])#([A-Za-z][\w/-]*)")
_FENCE = re.compile(r"[ \t]*(```|~~~)")


def recognises(path: Path) -> bool:
    return first(path) is not None


def read(origin: Origin) -> Source:
    laid_out = "how the text was laid out: lists and paragraphs become memories of their own"
    return source("notes", origin, lambda: _found(origin.path), (laid_out, *others(origin.path)))


def _found(path: Path) -> Iterator[Found]:
    for page in pages(path):
        at = moment(page.fields.get("created") or page.fields.get("date"), written_at(page.path))
        for block in _blocks(page.body):
            yield _memory(page, block, at)


@dataclass(slots=True)
class _Block:
    """Lines that belong together, and the headings above them."""

    headings: tuple[str, ...]
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()


def _blocks(body: str) -> Iterator[_Block]:
    headings: tuple[str, ...] = ()
    block, fenced = _Block(headings), False
    for line in body.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        heading, item = _HEADING.fullmatch(line), _ITEM.fullmatch(line)
        begins = not fenced and (heading or item or not line.strip())
        if begins and block.text:
            yield block
        if begins:
            if heading:
                headings = (*headings[: len(heading[1]) - 1], heading[2].strip())
            block = _Block(headings, [item[1]] if item else [])
        else:
            block.lines.append(line)
    if block.text:
        yield block


def _memory(page: Page, block: _Block, at: int) -> Found:
    text = block.text
    seen = _OBSERVATION.fullmatch(text)
    category, words = (seen[1], seen[2]) if seen else (None, text)
    heading = " > ".join(block.headings)
    said: dict[str, Json] = {
        "file": page.name,
        "heading": heading,
        "title": page.fields.get("title"),
        "permalink": page.fields.get("permalink"),
        "links": _LINK.findall(text),
    }
    return Found(
        key="\n".join((page.name, *block.headings, text)),
        content=_under(heading, words),
        at=at,
        updated_at=moment(page.fields.get("modified") or page.fields.get("updated"), at),
        source=page.name,
        tags=(*page.tags, *_TAG.findall(text), *((category,) if category else ())),
        metadata={name: value for name, value in said.items() if value},
    )


def _under(heading: str, words: str) -> str:
    """What stands below a heading, as it can be understood alone."""
    if not heading:
        return words
    return f"{heading}\n{words}" if "\n" in words else f"{heading.rstrip(':')}: {words}"
