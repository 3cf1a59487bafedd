"""Compiles the part of JSON Schema 2020-12 that the wire format uses into functions that find faults.

An unsupported keyword is an error of the compilation; it is never ignored.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from memorywire.wire.spec.keywords import (
    FALSE,
    FINE,
    KEYWORDS,
    KINDS,
    SAYS_NOTHING,
    Build,
    Check,
    Fault,
    Part,
    Schema,
    Shape,
    join_checks,
)


class Shapes:
    """The schemas of some documents, each compiled on first use.

    `read` returns a document by its address; its references are relative to that address.
    """

    def __init__(self, read: Callable[[str], Schema]) -> None:
        self._read = read
        self._compiled: dict[str, Shape] = {}
        self._begun: set[str] = set()

    def at(self, address: str) -> Shape:
        """Return the compiled schema at an address, which may end in a pointer: `document#/$defs/name`."""
        shape = self._compiled.get(address)
        if shape is None:
            document, _, pointer = address.partition("#")
            self._begun.add(address)
            shape = self._compiled[address] = self.of(
                _resolve_pointer(self._read(document), pointer), document
            )
        return shape

    def of(self, schema: Schema, home: str) -> Shape:
        """Compile a schema that is part of the document `home`."""
        if isinstance(schema, bool):
            faults = FINE if schema else (Fault(keyword=FALSE, schema=schema),)
            return Shape(dict.fromkeys(KINDS, lambda _: faults))
        parts = list(self._parts(schema, home))
        return Shape(
            (kind, join_checks([one for kinds, one in parts if name in kinds]))
            for kind, name in KINDS.items()
        )

    def refer(self, address: str) -> Shape:
        if address in self._begun and address not in self._compiled:
            return _Later(self, address)
        return self.at(address)

    def _parts(self, schema: Mapping[str, Any], home: str) -> Iterator[Part]:
        """Yield the checks of each keyword, those of references last, so that the nearest fault comes first.

        Related keywords are compiled together at the first of them.
        """
        builds: set[Build] = set()
        for keyword in sorted(schema, key="$ref".__eq__):
            if keyword in SAYS_NOTHING:
                continue
            if keyword not in KEYWORDS:
                raise ValueError(f"{keyword} is not a supported keyword")
            build = KEYWORDS[keyword]
            if build not in builds:
                yield from build(schema, self, home)
            builds.add(build)


class _Later(Shape):
    """A reference in a recursive schema, resolved on use."""

    def __init__(self, shapes: Shapes, address: str) -> None:
        super().__init__()
        self._shapes, self._address = shapes, address

    def __missing__(self, kind: type) -> Check:
        return self._shapes.at(self._address)[kind]

    def of(self, kind: type) -> Check:
        return self.faults


def _resolve_pointer(document: Schema, pointer: str) -> Schema:
    from urllib.parse import unquote

    for step in pointer.split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        document = document[int(name) if isinstance(document, list) else name]
    return document
