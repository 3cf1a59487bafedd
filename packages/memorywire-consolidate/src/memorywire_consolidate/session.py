"""What sessions leave: rules and facts read from a log, and short-term notes that are promoted or forgotten.

A memory is short-term while it has the tag `short-term`. Each session of each user is a window of its own.
All of it goes through remember and forget, so it is judged, recorded and undone like any other change.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorywire.facts import Kind, label_text
from memorywire.facts.rules import BLACKLIST, DO, KNOW, find_rules, match_rule, session_source
from memorywire.model.answers import Remembered, Status
from memorywire.model.clock import DAY_MS
from memorywire.model.consolidation import Retention, SessionRule, SessionRules
from memorywire.model.errors import Conflict, Refused, StoreUnavailable
from memorywire.model.layer import Conversation, Fact, Turn
from memorywire.model.query import Compare, Operator, Where
from memorywire.model.record import Json, MemoryType, Record, Scope, Trust
from memorywire.model.requests import Forget, Remember
from memorywire.pipeline.context import Context
from memorywire.pipeline.extract import Extractor
from memorywire.pipeline.forget import forget
from memorywire.pipeline.remember import remember
from memorywire.pipeline.scan import asking
from memorywire.search.text import terms
from memorywire_consolidate.runs import load_decisions

_DEFAULTS = Retention()


class SessionRead(Struct, frozen=True, kw_only=True):
    """The result of reading a log: receipts, the number of duplicates, and the problem of the extractor."""

    kept: tuple[Remembered, ...]
    known: int
    problem: str | None = None

    def document(self) -> dict[str, Json]:
        document: dict[str, Json] = {
            "kept": [receipt.id for receipt in self.kept if not receipt.pending_approval],
            "proposed": [receipt.proposal_id for receipt in self.kept if receipt.pending_approval],
            "known": self.known,
        }
        return document if self.problem is None else {**document, "problem": self.problem}


async def session_rules(scope: Scope, context: Context) -> SessionRules:
    """Return the memories with one of the three tags, and pinned ones; never from an untrusted source."""
    where = Where(scope=scope, alive_at=context.clock())
    rules: dict[str, list[SessionRule]] = {KNOW: [], DO: [], BLACKLIST: []}
    async for record in context.all_matching(where):
        # Prohibitions come first, so that each memory is in one list.
        kind = next((name for name in (BLACKLIST, DO, KNOW) if name in record.tags), None)
        if kind is None and _DEFAULTS.pinned(record):
            kind = match_rule(record.words) or KNOW
        if kind is not None and record.trust is not Trust.UNTRUSTED:
            rules[kind].append(SessionRule(id=record.id, content=record.words))
    return SessionRules(**{name: tuple(several) for name, several in rules.items()})


async def read_session(
    log: bytes, session: str, scope: Scope, context: Context, extractor: Extractor | None
) -> SessionRead:
    """Remember what the user of a session said to know, do or never do, and the facts of the extractor.

    Reading a log twice changes nothing. An extractor that fails adds nothing.
    """
    turns = tuple(_parse_turns(log))
    memory = Remember(scope=scope, type=MemoryType.SEMANTIC, content="", session_id=session)
    requests = [
        replace(memory, content=sentence, tags=(kind,), source=session_source(session))
        for turn in turns
        if turn.role == "user"
        for kind, sentence in find_rules(turn.content)
    ]
    problem = None
    if extractor is not None and turns:
        try:
            facts = await extractor.extract(Conversation(turns=turns), scope)
            source = f"extractor:{extractor.name}"
            new = [fact for fact in facts if not fact.retracts and not _is_instruction(fact)]
            requests += [replace(memory, content=fact.text, source=source) for fact in new]
        except StoreUnavailable as error:
            problem = error.detail
    receipts = [await remember(request, context) for request in requests]
    new_receipts = tuple(receipt for receipt in receipts if receipt.status is not Status.DUPLICATE)
    return SessionRead(kept=new_receipts, known=len(receipts) - len(new_receipts), problem=problem)


def _is_instruction(fact: Fact) -> bool:
    """Whether a fact is an instruction to the agent: those are rules of the session already."""
    label = label_text(fact.text)
    return label is not None and label.kind is Kind.CONSTRAINT and label.subject is None


def _parse_turns(log: bytes) -> Iterator[Turn]:
    """Parse a log of JSON lines: `role` and `content`, bare or inside `message`; skips other lines."""
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
                texts = [
                    part["text"]
                    for part in parts
                    if isinstance(part, Mapping)
                    and part.get("type") == "text"
                    and isinstance(part.get("text"), str)
                ]
                if texts:
                    yield Turn(role=role, content="\n".join(texts))


SHORT_TERM = "short-term"
_HOUR_MS = DAY_MS // 24


class Window(Struct, frozen=True, kw_only=True):
    """How old and how many notes of a session may be, and the score from which a note is promoted.

    The score is between 0 and 1: recency, salience (how often the session mentions it) and confidence.
    """

    most: int = 50
    age_ms: int = 6 * _HOUR_MS
    half_life_ms: int = _HOUR_MS
    worth: float = 0.6
    recency: float = 0.2
    salience: float = 0.5
    confidence: float = 0.3


class Promotion(Struct, frozen=True, kw_only=True):
    """The notes that were promoted and forgotten; `staged` ones wait for a person."""

    promoted: tuple[str, ...] = ()
    evicted: tuple[str, ...] = ()
    staged: tuple[str, ...] = ()


async def promote(scope: Scope, context: Context, window: Window) -> Promotion:
    """Promote or forget the notes of every session of the scope, once."""
    now = context.clock()
    is_note = Compare(("tags",), Operator.EQ, SHORT_TERM)
    sessions: dict[object, list[Record]] = {}
    waiting = (await load_decisions(scope, context)).waiting
    async for record in context.all_matching(Where(scope=scope, alive_at=now, filter=is_note)):
        if record.id not in waiting:
            sessions.setdefault((record.scope, record.session_id), []).append(record)
    worth: list[Record] = []
    spare: list[Record] = []
    for notes in sessions.values():
        scores = zip(score_notes(notes, window, now), notes, strict=True)
        notes_by_score = sorted(scores, key=lambda pair: (-pair[0], pair[1].id))
        worth += [record for score, record in notes_by_score if score >= window.worth]
        rest = [record for score, record in notes_by_score if score < window.worth]
        spare += [r for at, r in enumerate(rest) if at >= window.most or now - r.created_at > window.age_ms]
    return await _apply(worth, spare, scope, context)


def score_notes(notes: Sequence[Record], window: Window, now: int) -> list[float]:
    """Return the score of each note among those of its session."""
    note_terms = [frozenset(terms(note.words)) for note in notes]
    mentions = Counter(term for words in note_terms for term in words)
    return [
        window.recency * 0.5 ** ((now - note.created_at) / window.half_life_ms)
        + window.salience * _measure_salience(words, mentions)
        + window.confidence * note.confidence
        for note, words in zip(notes, note_terms, strict=True)
    ]


def _measure_salience(words: frozenset[str], mentions: Counter[str]) -> float:
    """Return 0 for a note that no other mentions; 1 from three mentions of its words on, on average."""
    again = sum(min(mentions[word] - 1, 2) for word in words)
    return again / (2 * len(words)) if words else 0.0


async def _apply(
    worth: Sequence[Record], spare: Sequence[Record], scope: Scope, context: Context
) -> Promotion:
    promoted_ids: list[str] = []
    proposal_ids: list[str] = []
    for record in worth:
        lasting = tuple(tag for tag in record.tags if tag != SHORT_TERM)
        lasting_note = replace(asking(record, hold=False), tags=lasting, derived_from=record.derived_from)
        try:
            receipt = await remember(lasting_note, context)
        except (Conflict, Refused):
            continue  # it changed meanwhile, or a rule refused it: it stays a note until it is old
        (proposal_ids if receipt.pending_approval else promoted_ids).append(record.id)
    evicted_ids: tuple[str, ...] = ()
    if spare:
        ids = tuple(record.id for record in spare)
        request = Forget(scope=scope, ids=ids, reason="a session note that was not promoted")
        evicted_ids = (await forget(request, context)).forgotten_ids
    return Promotion(promoted=tuple(promoted_ids), staged=tuple(proposal_ids), evicted=evicted_ids)
