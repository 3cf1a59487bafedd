"""What the files of an agent say, beside what the books remember of them: hand edits are found here."""

from collections import Counter

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.model.kv import saying
from memorywire.model.record import Record, Scope
from memorywire.search.reference import Candidate, Vector, floats
from memorywire.stores.markdown.folder import Folder, Index, Stamp, fingerprint
from memorywire.stores.markdown.sheet import Broken, Defaults, read
from memorywire.stores.products.drafts import Line, State
from memorywire.stores.products.product import floats_of
from memorywire.stores.products.sidecar import Sidecar

_NO_LIMIT = 1_000_000_000


class Page(Struct, frozen=True):
    """A file as it was read: the record in it, or what is wrong with it."""

    stamp: Stamp
    fingerprint: str
    record: Record | None
    terms: Counter[str]
    vector: Vector | None = None
    broken: str | None = None


class AgentFiles(Struct):
    """The memories of an agent, as files and books agree on them, and the files that hold none."""

    listing: dict[str, Stamp] = field(default_factory=dict)
    memories: dict[str, Candidate] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    edition: int = -1


class Reader:
    """Reads what changed since it last looked, and brings the books up to date with it."""

    def __init__(self, folder: Folder, sidecar: Sidecar, index: Index) -> None:
        self._folder = folder
        self._sidecar = sidecar
        self._index = index
        self._pages: dict[Scope, dict[str, Page]] = {}
        self._agents: dict[Scope, AgentFiles] = {}

    def read_agent(self, scope: Scope) -> AgentFiles:
        """The agent's shelf as its files are now."""
        agent = replace(scope, user=None)
        listing = self._folder.list_files(agent)
        state = self._agents.get(agent)
        if state is None or state.listing != listing or state.edition != self._sidecar.edition():
            state = self._agents[agent] = self._read_state(agent, listing)
        return state

    def invalidate(self, scope: Scope) -> None:
        """Look again the next time, whatever the files say."""
        self._agents.pop(replace(scope, user=None), None)

    def fingerprints(self) -> set[str]:
        """Of every file that has been read and is still there."""
        return {page.fingerprint for pages in self._pages.values() for page in pages.values()}

    def _read_state(self, agent: Scope, listing: dict[str, Stamp]) -> AgentFiles:
        read_agent = AgentFiles(listing=listing, edition=self._sidecar.edition())
        lines = {line.id: line for line in self._sidecar.page(agent, None, _NO_LIMIT)}
        owners = self._find_owners(self._read_all(agent, listing), read_agent, lines)
        missing = [self._claim_file(page, place, lines, read_agent) for place, page in owners.items()]
        ids = {page.record.id for page in owners.values() if page.record is not None}
        missing_lines = [line for line in lines.values() if line.id not in ids and line.key not in listing]
        changes = [line for line in missing if line is not None]
        changes += [
            replace(line, state=State.ENDED, digest=None, key=None, handle=None) for line in missing_lines
        ]
        if changes:
            self._sidecar.amend(changes)
        return read_agent

    def _read_all(self, agent: Scope, listing: dict[str, Stamp]) -> dict[str, Page]:
        """Every file of the agent, read again only if it changed."""
        before = self._pages.get(agent, {})
        self._pages[agent] = {
            place: before[place]
            if place in before and before[place].stamp == stamp
            else self._read(agent, place, stamp)
            for place, stamp in listing.items()
        }
        return self._pages[agent]

    def _find_owners(
        self, pages: dict[str, Page], read_agent: AgentFiles, lines: dict[str, Line]
    ) -> dict[str, Page]:
        """The file of each memory; where two files claim one id, the place known to the books wins."""
        owners: dict[str, Page] = {}
        places: dict[str, str] = {}
        book_places = {line.key for line in lines.values()}
        for place, page in sorted(pages.items(), key=lambda one: (one[0] not in book_places, one[0])):
            if page.record is None:
                read_agent.broken[place] = str(page.broken)
            elif page.record.id in places:
                read_agent.broken[place] = f"its id is also in {places[page.record.id]}"
            else:
                places[page.record.id] = place
                owners[place] = page
        return owners

    def _read(self, agent: Scope, place: str, stamp: Stamp) -> Page:
        content = self._folder.read(place)
        name = fingerprint(content)
        id = place.rsplit("/", 1)[-1].removesuffix(".md")
        defaults = Defaults(scope=agent, id=id, written_at=stamp[2] // 1_000_000)
        try:
            record = read(content.decode(), defaults)
        except UnicodeDecodeError:
            return Page(stamp, name, None, Counter(), broken="it is not UTF-8")
        except Broken as broken:
            return Page(stamp, name, None, Counter(), broken=broken.detail)
        # A file that people wrote has none: it is found by its words.
        bits = self._sidecar.vector(name)
        vector = None if bits is None else floats(floats_of(bits))
        return Page(stamp, name, record, self._index.get_words(name, record.text), vector)

    def _claim_file(
        self, page: Page, place: str, lines: dict[str, Line], read_agent: AgentFiles
    ) -> Line | None:
        """Put the memory of the file on the shelf; gives the line that the books still lack, if any."""
        record = page.record
        if record is None:
            return None
        line = lines.get(record.id) or self._sidecar.line(record.scope.tenant, record.id)
        refusal = _find_refusal(record, line)
        if refusal is not None:
            read_agent.broken[place] = refusal
            return None
        is_known = line is not None and line.live and line.handle == page.fingerprint
        version = record.version if line is None else line.version + (0 if is_known else 1)
        recalled_at = None if line is None else line.recalled_at
        current = replace(record, version=version, recalled_at=recalled_at)
        read_agent.memories[record.id] = Candidate(current, page.vector, page.terms)
        if is_known and line is not None and line.key == place:
            return None
        return _line(current, place, page.fingerprint)


def _line(record: Record, place: str, name: str) -> Line:
    return Line(
        id=record.id,
        scope=record.scope,
        version=record.version,
        digest=saying(record),
        expires_at=record.expires_at,
        key=place,
        handle=name,
        recalled_at=record.recalled_at,
    )


def _find_refusal(record: Record, line: Line | None) -> str | None:
    if line is None:
        return None
    if line.state is State.ERASED:
        return "its memory was erased; remove the file"
    if line.scope != record.scope:
        return "its id belongs to another agent or user"
    return None
