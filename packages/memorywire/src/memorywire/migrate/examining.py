"""Examining a bundle before any of it is believed: every line, their order, the whole."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from memorywire.migrate.bundle import FORMAT, VERSION, Bundle
from memorywire.migrate.lines import opened
from memorywire.migrate.signatures import verify_signature
from memorywire.model.codec import load
from memorywire.model.errors import InvalidRequest
from memorywire.model.proposal import Proposal
from memorywire.model.record import Json
from memorywire.wire import spec
from memorywire.wire.spec.keywords import Shape
from memorywire.wire.spec.shapes import Shapes

_DIGEST = "0" * 64  # each line was opened by its own, which its form cannot tell


def examine(path: Path) -> Bundle:
    """What the bundle says of itself; raises InvalidRequest, naming the line, unless all of it is sound."""
    examiner = _Examiner()
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            examiner.line(line, number)
    return examiner.bundle()


class _Examiner:
    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._whole = hashlib.sha256()
        self._before = ""
        self._manifest: Mapping[str, Json] | None = None
        self._end: Mapping[str, Json] | None = None
        self._signature: Mapping[str, Json] | None = None
        self._ids: set[int] = set()  # as hashes: so they fit into memory

    def line(self, line: bytes, number: int) -> None:
        said = opened(line, number)
        signs = said.get("kind") == "signature"
        if self._signature is not None or (self._end is not None and not signs):
            raise InvalidRequest(f"line {number} stands behind the end", field="file")
        if signs and self._end is None:
            raise InvalidRequest(f"line {number} signs what has not ended", field="file")
        if self._manifest is None:
            self._manifest = _manifest(said)
        refuse_other_forms(said, f"line {number}")
        if f'"kind":"{said["kind"]}"'.encode() not in line:  # by this its readers find it
            raise InvalidRequest(f"line {number} is not spelt as lines of a bundle are", field="file")
        if said["kind"] == "end":
            self._end, self._before = said, self._whole.hexdigest()
            return
        if signs:
            self._signature = said
            return
        self._whole.update(line)
        self._counts[said["kind"]] += 1
        if said["kind"] == "change":
            self._counts["put"] += len(said["put"])
            self._refuse_twins(said, number)
        elif said["kind"] == "proposal":
            _refuse_unreadable(said, number)

    def _refuse_twins(self, change: Mapping[str, Json], number: int) -> None:
        begun = [(put["record"]["id"], put["record"]["version"]) for put in change["put"]]
        for what in (change["id"], *begun):
            if (mark := hash(what)) in self._ids:
                named = (
                    f"change {what}" if isinstance(what, str) else f"version {what[1]} of memory {what[0]}"
                )
                raise InvalidRequest(
                    f"line {number} has {named} for the second time", field="file", fix="export it again"
                )
            self._ids.add(mark)

    def bundle(self) -> Bundle:
        if self._manifest is None or self._end is None:
            raise InvalidRequest(
                "the bundle is cut off: its last line is missing", field="file", fix="copy it again"
            )
        counts = {kind: count for kind, count in self._counts.items() if count}
        if self._end["bundle"] != self._before or counts != self._end["counts"]:
            raise InvalidRequest(
                "lines of the bundle are missing or were moved", field="file", fix="copy it again"
            )
        if self._signature is not None:
            verify_signature(self._signature, self._before)
        return Bundle(manifest=self._manifest, counts=counts, digest=self._before, signature=self._signature)


def _manifest(line: Mapping[str, Json]) -> Mapping[str, Json]:
    if line.get("kind") != "manifest" or line.get("format") != FORMAT:
        raise InvalidRequest("the first line is no manifest of a bundle", field="file")
    if line.get("version") != VERSION:
        raise InvalidRequest(
            f"the bundle is of version {line.get('version')}, this release reads {VERSION}",
            field="file",
            fix="import it with a newer release, or export it again with this one",
        )
    return line


def refuse_other_forms(line: Mapping[str, Json], named: str) -> None:
    """Raise InvalidRequest, naming the line so, unless it has the form that lines of its kind have."""
    kind = line.get("kind")
    forms = _forms()
    if not isinstance(kind, str) or kind not in forms:
        raise InvalidRequest(f"{named} is of no kind that a bundle has", field="file")
    faults = forms[kind].faults({**line, "digest": _DIGEST})
    if faults:
        raise InvalidRequest(
            f"{named} has not the form of a {kind}: {max(faults, key=lambda one: len(one.path))}",
            field="file",
            fix="docs/spec/bundle.md has the form of each line",
        )


def _refuse_unreadable(line: Mapping[str, Json], number: int) -> None:
    try:
        load(Proposal, line["proposal"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidRequest(f"line {number} holds no proposal that can be read", field="file") from error


@cache
def _forms() -> Mapping[str, Shape]:
    """The form of each kind of line."""
    schema = spec.bundle_line()
    shapes = Shapes({one["$id"]: one for one in (*spec.schemas().values(), schema)}.__getitem__)
    kinds = [str(one["$ref"]).rpartition("/")[2] for one in schema["oneOf"]]
    return {kind: shapes.at(f"{schema['$id']}#/$defs/{kind}") for kind in kinds}
