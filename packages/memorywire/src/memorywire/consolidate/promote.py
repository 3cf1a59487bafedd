"""Short-term to long-term: of what a session noted, the lasting part stays and the rest goes.

A memory is short-term while it has the tag `short-term`. Every session of every user is a window of its own.
All of it is done by remember and forget, so it is judged, written down and undone like anything else.
"""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorywire.consolidate.people import asked_of_people
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import Conflict, Refused
from memorywire.model.record import Record, Scope
from memorywire.model.requests import Forget
from memorywire.model.where import Compare, Operator, Where
from memorywire.pipeline.context import Context
from memorywire.pipeline.forget import forget
from memorywire.pipeline.remember import remember
from memorywire.pipeline.scan import asking
from memorywire.search.text import terms

SHORT_TERM = "short-term"
_HOUR_MS = DAY_MS // 24


class Window(Struct, frozen=True, kw_only=True):
    """How long and how many a session may note, and from which score on a note is worth keeping.

    The score is between 0 and 1: how recent it is, how often the session speaks of it, how sure it is.
    """

    most: int = 50
    age_ms: int = 6 * _HOUR_MS
    half_life_ms: int = _HOUR_MS
    worth: float = 0.6
    recency: float = 0.2
    salience: float = 0.5
    confidence: float = 0.3


class Promoted(Struct, frozen=True, kw_only=True):
    """What became of the notes; `staged` wait for a person."""

    promoted: tuple[str, ...] = ()
    evicted: tuple[str, ...] = ()
    staged: tuple[str, ...] = ()


async def promote(scope: Scope, context: Context, window: Window) -> Promoted:
    """Look once through every window of the scope."""
    now = context.clock()
    noted = Compare(("tags",), Operator.EQ, SHORT_TERM)
    sessions: dict[object, list[Record]] = {}
    waiting = (await asked_of_people(scope, context)).waiting
    async for record in context.all_matching(Where(scope=scope, alive_at=now, filter=noted)):
        if record.id not in waiting:
            sessions.setdefault((record.scope, record.session_id), []).append(record)
    worth: list[Record] = []
    spare: list[Record] = []
    for notes in sessions.values():
        scored = sorted(zip(scores(notes, window, now), notes, strict=True), key=_best_first)
        worth += [record for score, record in scored if score >= window.worth]
        rest = [record for score, record in scored if score < window.worth]
        spare += [r for at, r in enumerate(rest) if at >= window.most or now - r.created_at > window.age_ms]
    return await _settled(worth, spare, scope, context)


def scores(notes: Sequence[Record], window: Window, now: int) -> list[float]:
    """What each note is worth beside the others of its session."""
    said = [frozenset(terms(note.words)) for note in notes]
    mentions = Counter(term for words in said for term in words)
    return [
        window.recency * 0.5 ** ((now - note.created_at) / window.half_life_ms)
        + window.salience * _salience(words, mentions)
        + window.confidence * note.confidence
        for note, words in zip(notes, said, strict=True)
    ]


def _salience(words: frozenset[str], mentions: Counter[str]) -> float:
    """0 for a note that no other mentions; 1 from three mentions of its words on, on average."""
    again = sum(min(mentions[word] - 1, 2) for word in words)
    return again / (2 * len(words)) if words else 0.0


def _best_first(scored: tuple[float, Record]) -> tuple[float, str]:
    return -scored[0], scored[1].id


async def _settled(
    worth: Sequence[Record], spare: Sequence[Record], scope: Scope, context: Context
) -> Promoted:
    promoted: list[str] = []
    staged: list[str] = []
    for record in worth:
        lasting = tuple(tag for tag in record.tags if tag != SHORT_TERM)
        request = replace(asking(record, hold=False), tags=lasting, derived_from=record.derived_from)
        try:
            receipt = await remember(request, context)
        except (Conflict, Refused):
            continue  # somebody else was faster, or a rule knows better: it stays a note until it is old
        (staged if receipt.pending_approval else promoted).append(record.id)
    if not spare:
        return Promoted(promoted=tuple(promoted), staged=tuple(staged))
    ids = tuple(record.id for record in spare)
    done = await forget(
        Forget(scope=scope, ids=ids, reason="a note of a session that nobody took up"), context
    )
    return Promoted(promoted=tuple(promoted), staged=tuple(staged), evicted=done.forgotten_ids)
