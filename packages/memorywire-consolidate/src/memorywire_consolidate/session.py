"""Reads rules and facts from session logs.

Each is stored by `remember`, so it is judged, recorded and undone like any other change.
"""

import json
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from memorywire.facts import Kind, label_text
from memorywire.facts.rules import BLACKLIST, DO, KNOW, find_rules, match_rule, session_source
from memorywire.model.answers import Remembered, Status
from memorywire.model.consolidation import Retention, SessionRule, SessionRules
from memorywire.model.errors import StoreUnavailable
from memorywire.model.layer import Conversation, Fact, Turn
from memorywire.model.query import Where
from memorywire.model.record import Json, MemoryType, Scope, Trust
from memorywire.model.requests import Remember
from memorywire.pipeline.context import Context
from memorywire.pipeline.extract import Extractor
from memorywire.pipeline.remember import remember

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
    """Return whether a fact is an instruction to the agent; `find_rules` already extracts those."""
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
