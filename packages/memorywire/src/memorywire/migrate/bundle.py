"""A bundle is a whole memory in one file, one change a line; the same memory always gives the same lines.

docs/spec/bundle.md describes the format. This module writes bundles, validates them and reads their parts.
"""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.acts import Edition, Wanted
from memorywire.journal.ledger import list_tenants
from memorywire.migrate.bundle_lines import decode_change, encode_change, parse_line, read_lines, seal_line
from memorywire.migrate.evidence import export_ledgers, find_signed_journal, sign_bundle, verify_signature
from memorywire.migrate.history import find_own_history_store, list_exported_agents, read_changes
from memorywire.model.change import Change
from memorywire.model.codec import dump, load
from memorywire.model.errors import InvalidRequest
from memorywire.model.proposal import WAITING, Proposal
from memorywire.model.record import Json, Scope
from memorywire.pipeline.context import Context
from memorywire.stores.contract import SupportsChangeLog
from memorywire.wire import spec
from memorywire.wire.spec.keywords import Shape
from memorywire.wire.spec.shapes import Shapes

FORMAT, VERSION = "memorywire-bundle", 1
_PAGE = 100


class ExportOptions(Struct, frozen=True, kw_only=True):
    """The scope of an export (one agent or all, one user or all), and whether it has vectors.

    `governance` includes pending proposals and the rules; `ledger` the ledger. The ledger covers all tenants,
    so with `tenant_only` it is refused if there are others.
    """

    tenant: str
    tenant_only: bool = False
    agents: tuple[str, ...] = ()
    user: str | None = None
    vectors: bool = False
    governance: bool = True
    ledger: bool = False

    @property
    def is_partial(self) -> bool:
        return bool(self.agents) or self.user is not None


class Bundle(Struct, frozen=True, kw_only=True):
    """The manifest of a bundle, the number of lines by kind, its digest, and its signature line."""

    manifest: Mapping[str, Json]
    counts: Mapping[str, int]
    digest: str
    signature: Mapping[str, Json] | None = None


async def export_bundle(
    file: BinaryIO,
    context: Context,
    options: ExportOptions,
    report: Callable[[int], None] = lambda count: None,
) -> Bundle:
    """Write a bundle line by line, with at most a page of memories in memory."""
    if options.ledger and (options.is_partial or await _has_other_tenants(context, options)):
        fix = "export all of them, or leave the ledger out"
        raise InvalidRequest("the ledger covers all tenants, agents and users", field="ledger", fix=fix)
    writer = _Writer(file)
    store = await find_own_history_store(context)
    agents = sorted(await list_exported_agents(store, options.tenant, options.agents, options.user))
    manifest: dict[str, Json] = {
        "kind": "manifest",
        "format": FORMAT,
        "version": VERSION,
        "agents": agents,
        "history": isinstance(store, SupportsChangeLog),
        **({"space": dump(context.embedder.space)} if options.vectors else {}),
    }
    writer.write(manifest)
    for agent in agents:
        scope = Scope(tenant=options.tenant, agent=agent, user=options.user)
        async for change in read_changes(store, scope, vectors=options.vectors):
            writer.write(encode_change(change))
            writer.counts["put"] += len(change.put)
            report(writer.counts["change"])
    if options.governance and context.governance is not None:
        async for line in _list_governance(context, options):
            writer.write(line)
    if options.ledger:
        for number, text in await export_ledgers(context):
            writer.write({"kind": "ledger", "of": number, "line": text})
    counts, digest = dict(writer.counts), writer.sha256.hexdigest()
    writer.write({"kind": "end", "counts": counts, "bundle": digest})
    signature = await sign_bundle(digest, context)
    if signature is not None:
        writer.write(signature)
    return Bundle(manifest=manifest, counts=counts, digest=digest, signature=signature)


async def _has_other_tenants(context: Context, options: ExportOptions) -> bool:
    """Whether the export is limited to one tenant, but the ledger has others."""
    signed = find_signed_journal(context)
    if not options.tenant_only or signed is None:
        return False
    return any(tenant != options.tenant for tenant in await signed[0].audit(list_tenants))


async def _list_governance(context: Context, options: ExportOptions) -> AsyncIterator[dict[str, Json]]:
    journal = context.require_governance().journal
    for agent in options.agents or (None,):
        query = Wanted(tenant=options.tenant, agent=agent, user=options.user, states=WAITING, limit=_PAGE)
        while page := await journal.list_proposals(query):
            for proposal in page:
                # The revision counts the plans of this installation; another one starts at one.
                yield {"kind": "proposal", "proposal": dump(replace(proposal, revision=1))}
            query = replace(query, after=page[-1].id)
    edition = await journal.find_edition(options.tenant)
    if edition is not None and not options.is_partial:
        yield {"kind": "rules", "rules": list(edition.rules), "at": edition.at, "by": edition.by}


class _Writer:
    """Writes sealed lines, counts them by kind, and computes the digest of all of them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()
        self.counts: Counter[str] = Counter()

    def write(self, content: Mapping[str, Json]) -> None:
        line = seal_line(content)
        self.sha256.update(line)
        self._file.write(line)
        self.counts[content["kind"]] += 1


def read_bundle_changes(path: Path, tenant: str) -> Iterator[Change]:
    """Yield the changes of a bundle, in order."""
    return (decode_change(line, tenant) for line in read_lines(path, "change"))


def read_bundle_proposals(path: Path) -> Iterator[Proposal]:
    return (load(Proposal, line["proposal"]) for line in read_lines(path, "proposal"))


def read_bundle_rules(path: Path) -> Edition | None:
    """Return the rules of a bundle; None if it has none."""
    for line in read_lines(path, "rules"):
        return Edition(number=1, at=line["at"], by=line["by"], rules=tuple(line["rules"]))
    return None


def is_bundle(path: Path) -> bool:
    """Whether the first line of the file is the manifest of a bundle."""
    with path.open("rb") as file:
        return f'"format":"{FORMAT}"'.encode() in file.readline(_MANIFEST_BYTES_MAX)


_MANIFEST_BYTES_MAX = 65_536
_DIGEST = "0" * 64  # `parse_line` checked the real one; the schema only requires the field


def validate_bundle(path: Path) -> Bundle:
    """Validate a whole bundle and describe it; raises InvalidRequest with the line's number."""
    counts, sha256, ids = Counter[str](), hashlib.sha256(), set[int]()
    manifest: Mapping[str, Json] | None = None
    end: Mapping[str, Json] | None = None
    signature: Mapping[str, Json] | None = None
    digest = ""  # of the lines before the end
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            content = parse_line(line, number)
            kind = content.get("kind")
            if signature is not None or (end is not None and kind != "signature"):
                raise InvalidRequest(f"line {number} follows the end", field="file")
            if kind == "signature" and end is None:
                raise InvalidRequest(f"line {number} signs the bundle before its end", field="file")
            if manifest is None:
                manifest = _check_manifest(content)
            check_line(content, f"line {number}")
            if f'"kind":"{kind}"'.encode() not in line:  # `read_lines` finds lines by this text
                raise InvalidRequest(f"line {number} is not encoded like the lines of a bundle", field="file")
            if kind == "end":
                end, digest = content, sha256.hexdigest()
            elif kind == "signature":
                signature = content
            else:
                sha256.update(line)
                counts[str(kind)] += 1
                counts["put"] += len(content.get("put", ()))
                _check_content(content, number, ids)
    if manifest is None or end is None:
        raise InvalidRequest(
            "the bundle is incomplete: its last line is missing", field="file", fix="copy it again"
        )
    if end["bundle"] != digest or +counts != end["counts"]:
        raise InvalidRequest(
            "lines of the bundle are missing or were moved", field="file", fix="copy it again"
        )
    if signature is not None:
        verify_signature(signature, digest)
    return Bundle(manifest=manifest, counts=dict(+counts), digest=digest, signature=signature)


def _check_manifest(line: Mapping[str, Json]) -> Mapping[str, Json]:
    if line.get("kind") != "manifest" or line.get("format") != FORMAT:
        raise InvalidRequest("the first line is not the manifest of a bundle", field="file")
    if line.get("version") != VERSION:
        raise InvalidRequest(
            f"the bundle has version {line.get('version')}; this release reads {VERSION}",
            field="file",
            fix="import it with a newer release, or export it again with this one",
        )
    return line


def _check_content(line: Mapping[str, Json], number: int, ids: set[int]) -> None:
    """Raise InvalidRequest for an unreadable proposal, or an id that an earlier line has.

    `ids` are hashes, which take less memory.
    """
    if line["kind"] == "proposal":
        try:
            load(Proposal, line["proposal"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidRequest(f"line {number} has an unreadable proposal", field="file") from error
    elif line["kind"] == "change":
        versions = [(put["record"]["id"], put["record"]["version"]) for put in line["put"]]
        for key in (line["id"], *versions):
            if (mark := hash(key)) in ids:
                name = f"change {key}" if isinstance(key, str) else f"version {key[1]} of memory {key[0]}"
                detail = f"line {number} has {name} for the second time"
                raise InvalidRequest(detail, field="file", fix="export it again")
            ids.add(mark)


def check_line(line: Mapping[str, Json], name: str) -> None:
    """Raise InvalidRequest, with this name of the line, unless it matches the schema of its kind."""
    kind = line.get("kind")
    schemas = _load_schemas()
    if not isinstance(kind, str) or kind not in schemas:
        raise InvalidRequest(f"{name} has an unknown kind of line", field="file")
    faults = schemas[kind].faults({**line, "digest": _DIGEST})
    if faults:
        detail = f"{name} is not a valid {kind}: {max(faults, key=lambda fault: len(fault.path))}"
        raise InvalidRequest(detail, field="file", fix="docs/spec/bundle.md describes each line")


@cache
def _load_schemas() -> Mapping[str, Shape]:
    """The schema of each kind of line."""
    schema = spec.bundle_line()
    shapes = Shapes({one["$id"]: one for one in (*spec.schemas().values(), schema)}.__getitem__)
    kinds = [str(one["$ref"]).rpartition("/")[2] for one in schema["oneOf"]]
    return {kind: shapes.at(f"{schema['$id']}#/$defs/{kind}") for kind in kinds}
