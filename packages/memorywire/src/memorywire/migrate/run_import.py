"""Imports a bundle, a file of another format or a service: reads it as changes and applies them."""

import asyncio
import csv
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, TypeAlias

from msgspec import field
from msgspec.structs import asdict, replace

from memorywire.migrate.apply import ApplyOptions, apply_changes, parse_remap
from memorywire.migrate.bundle import Bundle, check_line, is_bundle, read_bundle_changes, validate_bundle
from memorywire.migrate.bundle_lines import encode_change, seal_line
from memorywire.migrate.conflicts import OnConflict
from memorywire.migrate.evidence import (
    find_signed_journal,
    is_known_key,
    save_ledgers,
    verify_ledgers,
    verify_signature,
)
from memorywire.migrate.history import derive_batch_id
from memorywire.migrate.importers import (
    Origin,
    Service,
    Source,
    list_formats,
    read_service,
    read_source,
    recognise_service,
)
from memorywire.migrate.proposals import check_rules, import_governance
from memorywire.migrate.sanitize import TrustLimit, trust_by_source, trust_nothing, trust_operator
from memorywire.model.change import Change
from memorywire.model.codec import dump
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import DEFAULT_TENANT, Json, Scope
from memorywire.model.secrets import Confidential
from memorywire.pipeline.context import Context

Report: TypeAlias = Callable[[int, int], None]
"""Called with the number of processed changes and the total."""

_READ_AHEAD = 256
_LEDGER_LOST = "the ledger of the bundle: the journal here is in memory and cannot save it"


class ImportRequest(Confidential, frozen=True, kw_only=True):
    """The source of an import, its format, and the default owner of its memories.

    `address` is that of a service, instead of a file; `keys` are keys of services, by product. `explicit` is
    the set of given options among `agent_id` and `user_id`: memories of other owners are then refused.
    `trusted`: the operator trusts the content.
    """

    HIDDEN: ClassVar = frozenset({"keys"})

    path: Path = Path()
    address: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    agent: str
    user: str | None = None
    explicit: frozenset[str] = frozenset()
    kind: str = "auto"
    tenant: str = DEFAULT_TENANT
    on_conflict: str = OnConflict.SKIP
    remap: tuple[str, ...] = ()
    dry_run: bool = False
    ledger: bool = True
    trusted: bool = False

    @property
    def scope(self) -> Scope:
        return Scope(tenant=self.tenant, agent=self.agent, user=self.user)

    def build_options(self, source: str, trusting: TrustLimit) -> ApplyOptions:
        """Build the options; the batch is the same for the same import, so that a repetition continues it."""
        agents, users = parse_remap(self.remap)
        name = "\n".join((source, self.on_conflict, *self.remap, self.agent, self.user or ""))
        return ApplyOptions(
            tenant=self.tenant,
            batch=derive_batch_id(name),
            on_conflict=OnConflict(self.on_conflict),
            agents=agents,
            users=users,
            dry_run=self.dry_run,
            trusting=trust_operator if self.trusted else trusting,
        )


async def import_memories(request: ImportRequest, context: Context, report: Report) -> dict[str, Json]:
    """Import; returns the counts, the batch for an undo, and what could not be imported."""
    if await asyncio.to_thread(_names_bundle, request):
        return await _import_bundle(request, context, report)
    source = await asyncio.to_thread(_read_source, request)
    with TemporaryDirectory(prefix="memorywire-") as folder:
        buffer = Path(folder, "changes")
        total = await asyncio.to_thread(_buffer_changes, source, buffer)
        await asyncio.to_thread(_check_owners, buffer, request)
        changes = read_in_thread(read_bundle_changes(buffer, request.tenant))
        options = request.build_options(source.name, await asyncio.to_thread(_trust_importer, request))
        result = await apply_changes(changes, context, options, lambda count: report(count, total))
    answer = {"proposals": 0, "ledgers": [], **asdict(result), "losses": list(source.losses)}
    return answer | {"source": source.name, "dry_run": request.dry_run}


async def _import_bundle(request: ImportRequest, context: Context, report: Report) -> dict[str, Json]:
    path = request.path
    bundle = await asyncio.to_thread(validate_bundle, path)
    await asyncio.to_thread(check_rules, path, context)
    await asyncio.to_thread(_check_owners, path, request)
    ledgers = await asyncio.to_thread(verify_ledgers, path) if request.ledger else []
    key, is_known = await _find_signer(bundle, context, request.tenant)
    is_trusted = is_known or request.trusted
    options = request.build_options(bundle.digest, trust_operator if is_trusted else trust_nothing)
    changes = read_bundle_changes(path, request.tenant)
    # A forged vector could match any query, and to check one costs as much as to embed the text.
    if not is_known or bundle.manifest.get("space") not in (None, dump(context.embedder.space)):
        changes = (
            replace(change, put=tuple(replace(put, vector=None) for put in change.put)) for change in changes
        )
    total = bundle.counts.get("change", 0)
    result = await apply_changes(
        read_in_thread(changes), context, options, lambda count: report(count, total)
    )
    governance: dict[str, Json] = {"proposals": 0, "rules": "none"}
    if not request.remap:  # proposals and rules belong to the original owners
        governance = await import_governance(
            path, context, request.tenant, dry_run=request.dry_run, is_trusted=is_trusted
        )
    if not request.dry_run:
        await save_ledgers(path, ledgers, options.batch, context, request.tenant)
    is_ledger_lost = bool(ledgers) and find_signed_journal(context) is None
    counts = {**asdict(result), **governance, "ledgers": [asdict(one) for one in ledgers]}
    counts |= {"signed_by": key, "trusted": is_trusted}
    losses = [_LEDGER_LOST] if is_ledger_lost else []
    return {**counts, "losses": losses, "source": "bundle", "dry_run": request.dry_run}


async def _find_signer(bundle: Bundle, context: Context, tenant: str) -> tuple[str | None, bool]:
    """Return the key that signed the bundle, and whether it is known here."""
    if bundle.signature is None:
        return None, False
    verifier = verify_signature(bundle.signature, bundle.digest)
    policy = None if context.governance is None else await context.governance.rulebook.policy(tenant)
    trusted_keys = () if policy is None else policy.bundle_keys
    return str(verifier), await asyncio.to_thread(is_known_key, verifier, trusted_keys, context)


def _check_owners(path: Path, request: ImportRequest) -> None:
    """Raise InvalidRequest if a memory belongs to another agent or user than the explicit one. Blocks."""
    if not request.explicit:
        return
    options = request.build_options("", trust_nothing)
    for change in read_bundle_changes(path, request.tenant):
        scopes = [put.record.scope for put in options.remap(change).put]
        for name, expected in (("agent", request.agent), ("user", request.user)):
            others = {getattr(scope, name) for scope in scopes} - {expected}
            if f"{name}_id" in request.explicit and others:
                owner = min(map(str, others))
                fix = f"leave out --{name}, or rename the owner with --remap {name}={owner}:{expected}"
                raise InvalidRequest(f"the file has memories of {name} {owner}", field=name, fix=fix)


def _trust_importer(request: ImportRequest) -> TrustLimit:
    """Return the trust limit by source; the importer itself set the names of formats and files. Blocks."""
    path = request.path
    files = [path] if path.is_file() else path.rglob("*") if request.address is None else ()
    return trust_by_source(frozenset(list_formats()) | {file.name for file in files})


def _names_bundle(request: ImportRequest) -> bool:
    if request.kind != "auto" or request.address is not None or not request.path.is_file():
        return request.kind == "bundle" and request.address is None
    return is_bundle(request.path)


def _read_source(request: ImportRequest) -> Source:
    if request.address is None:
        with _report_unreadable():
            return read_source(request.kind, Origin(path=request.path, scope=request.scope))
    service = Service(url=request.address, scope=request.scope)
    kind = recognise_service(service) if request.kind == "auto" else request.kind
    return read_service(kind, replace(service, key=request.keys.get(kind)))


def _buffer_changes(source: Source, path: Path) -> int:
    """Write the changes of the source to a file, each once; return their number. Blocks.

    All changes are read before any is applied. Raises InvalidRequest unless all are valid.
    """
    count = 0
    change_ids: set[int] = set()  # hashes, here and below, to save memory
    versions: dict[int, int] = {}
    with path.open("wb") as file, _report_unreadable(change_ids):
        for change in source.changes():
            mark = hash(change.id)
            if mark in change_ids:
                continue
            count += 1
            for put in change.put:
                if versions.setdefault(hash((put.record.id, put.record.version)), mark) != mark:
                    raise InvalidRequest(
                        f"memory {count} has the id {put.record.id}, which another memory has too",
                        field="file",
                    )
            line = encode_change(change)
            text = seal_line(line)  # raises for a value that is not valid JSON
            check_line(line, f"memory {count}")
            file.write(text)
            change_ids.add(mark)
    return count


@contextmanager
def _report_unreadable(change_ids: set[int] | None = None) -> Iterator[None]:
    """Raise errors of an importer as InvalidRequest, with the number of changes that were read."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InvalidRequest("the file is not UTF-8", field="file", fix="save it as UTF-8") from error
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError, csv.Error) as error:
        place = f"an item after memory {len(change_ids)}" if change_ids else "an item of the file"
        if isinstance(error, KeyError):
            raise InvalidRequest(f"{place} lacks {error.args[0]!r}", field="file") from error
        raise InvalidRequest(
            f"{place} cannot be read ({type(error).__name__})",
            field="file",
            fix="correct the file, or name its format with --from",
        ) from error


async def read_in_thread(changes: Iterable[Change]) -> AsyncIterator[Change]:
    """Yield changes from a file, which a thread reads in batches."""
    source = iter(changes)
    while page := await asyncio.to_thread(lambda: list(islice(source, _READ_AHEAD))):
        for change in page:
            yield change
