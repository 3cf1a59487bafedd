"""A session's log, read for what the next session should know, do, and never do."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from memorywire.model.answers import Remembered, Status
from memorywire.model.consolidation import Retention
from memorywire.model.errors import StoreUnavailable
from memorywire.model.layer import Conversation, Turn
from memorywire.model.record import Json, MemoryType, Record, Scope, Trust
from memorywire.model.requests import Remember
from memorywire.model.where import Where
from memorywire.pipeline.context import Context
from memorywire.pipeline.extract import Extractor
from memorywire.pipeline.remember import remember

KNOW, DO, BLACKLIST = "know", "do", "blacklist"
# What is said for this once ("don't touch that file") is no rule: each form has a word that makes it last.
_LASTING = {
    BLACKLIST: r"never (?!mind\b|heard\b|knew\b)|(?:do not|don['’]t) ever |"
    r"(?:do not|don['’]t) (?=.*\b(?:again|any ?more|from now on)\b)|from now on,? (?:never|do not|don['’]t) ",
    DO: r"always |from now on,? ",
    KNOW: r"remember that |keep in mind that |note that |for the record[,:]? ",
}
_FORMS = tuple(
    (kind, re.compile(rf"(?:please,? )?(?:{ways}).+", re.IGNORECASE)) for kind, ways in _LASTING.items()
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LONGEST = 400
_USUAL = Retention()


class SessionRules(Struct, frozen=True, kw_only=True):
    """What the next session loads: each memory in one of the three, in the order they were made."""

    know: tuple[Record, ...] = ()
    do: tuple[Record, ...] = ()
    blacklist: tuple[Record, ...] = ()

    def document(self) -> dict[str, Json]:
        return {
            name: [{"id": record.id, "content": record.content} for record in getattr(self, name)]
            for name in (KNOW, DO, BLACKLIST)
        }


class SessionRead(Struct, frozen=True, kw_only=True):
    """What came of a log: receipts of what was kept, how many were known, why the extractor gave nothing."""

    kept: tuple[Remembered, ...]
    known: int
    problem: str | None = None

    def document(self) -> dict[str, Json]:
        said: dict[str, Json] = {
            "kept": [receipt.id for receipt in self.kept if not receipt.pending_approval],
            "proposed": [receipt.proposal_id for receipt in self.kept if receipt.pending_approval],
            "known": self.known,
        }
        return said if self.problem is None else {**said, "problem": self.problem}


async def session_rules(scope: Scope, context: Context) -> SessionRules:
    """Memories with the tag of one of the three, and pinned ones; an untrusted source makes no rules."""
    where = Where(scope=scope, alive_at=context.clock())
    found: dict[str, list[Record]] = {KNOW: [], DO: [], BLACKLIST: []}
    async for record in context.all_matching(where):
        kind = None if record.trust is Trust.UNTRUSTED else _class(record)
        if kind is not None:
            found[kind].append(record)
    return SessionRules(know=tuple(found[KNOW]), do=tuple(found[DO]), blacklist=tuple(found[BLACKLIST]))


def _class(record: Record) -> str | None:
    """The list that the memory belongs to; prohibitions come first, so that none is in two."""
    for name in (BLACKLIST, DO, KNOW):
        if name in record.tags:
            return name
    return (_spoken(record.words) or KNOW) if _USUAL.pinned(record) else None


async def read_session(
    log: bytes, session: str, scope: Scope, context: Context, extractor: Extractor | None
) -> SessionRead:
    """Keep what the user of a session said to know, do or never do, and the facts the extractor finds.

    Read twice, a log changes nothing twice. An extractor that fails, or answers nonsense, adds nothing.
    """
    turns = tuple(_turns(log))
    wanted = [request for turn in turns for request in _rules(turn, session, scope)]
    facts, problem = await _facts(turns, session, scope, extractor)
    receipts = [await remember(request, context) for request in (*wanted, *facts)]
    kept = tuple(receipt for receipt in receipts if receipt.status is not Status.DUPLICATE)
    return SessionRead(kept=kept, known=len(receipts) - len(kept), problem=problem)


def _rules(turn: Turn, session: str, scope: Scope) -> Iterator[Remember]:
    for kind, sentence in rules_in(turn.content) if turn.role == "user" else ():
        yield Remember(
            scope=scope,
            type=MemoryType.SEMANTIC,
            content=sentence,
            tags=(kind,),
            source=source_of(session),
            session_id=session,
        )


def source_of(session: str) -> str:
    """The source that rules from this session carry."""
    return f"session:{session}"


def rules_in(text: str) -> Iterator[tuple[str, str]]:
    """What a person says to know, do or never do from now on, sentence by sentence, and which it is."""
    for sentence in (one.strip() for one in _SENTENCE.split(text)):
        kind = _spoken(sentence)
        if kind is not None and len(sentence) <= _LONGEST and not sentence.endswith("?"):
            yield kind, sentence


def _spoken(sentence: str) -> str | None:
    return next((kind for kind, form in _FORMS if form.match(sentence)), None)


async def _facts(
    turns: Sequence[Turn], session: str, scope: Scope, extractor: Extractor | None
) -> tuple[list[Remember], str | None]:
    if extractor is None or not turns:
        return [], None
    try:
        facts = await extractor.extract(Conversation(turns=tuple(turns)), scope)
    except StoreUnavailable as problem:
        return [], problem.detail
    source = f"extractor:{extractor.name}"
    return [
        Remember(scope=scope, type=MemoryType.SEMANTIC, content=fact.text, source=source, session_id=session)
        for fact in facts
    ], None


def _turns(log: bytes) -> Iterator[Turn]:
    """Of a log of JSON lines: `role` and `content`, bare or inside `message`; others are skipped."""
    for line in log.splitlines():
        try:
            document = json.loads(line)
        except ValueError:
            continue
        inner = document.get("message", document) if isinstance(document, Mapping) else None
        match inner:
            case {"role": str(role), "content": str(content)}:
                yield Turn(role=role, content=content)
            case {"role": str(role), "content": list(parts)}:
                texts = [part["text"] for part in parts if isinstance(part, Mapping) and _is_text(part)]
                if texts:
                    yield Turn(role=role, content="\n".join(texts))


def _is_text(part: Mapping[str, Json]) -> bool:
    return part.get("type") == "text" and isinstance(part.get("text"), str)
