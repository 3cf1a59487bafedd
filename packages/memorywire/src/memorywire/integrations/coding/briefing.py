"""What a model is told: at the start what is pinned and how much there is, at a prompt what answers it."""

from collections.abc import Collection, Sequence

from memorywire.integrations.coding.hosts import Briefing
from memorywire.model.answers import Hit
from memorywire.model.record import Record, Trust
from memorywire.search.render import render
from memorywire.search.token_budget import cost

START_TOKENS = 800
PROMPT_TOKENS = 600
_FIRST = ("blacklist", "do")
_OPENING_TAGS = ("pinned", "know", *_FIRST)
"""Tags of what every session should know, do and never do, as dreaming leaves them."""

PINNED = {
    "or": [{"metadata.pinned": True}, *({"tags": {"contains": tag}} for tag in _OPENING_TAGS)],
}


def opening(pinned: Sequence[Record], *, total: int, waiting: int) -> Briefing:
    """Pinned memories within the budget, the counts, and what waits for a person.

    What came from an untrusted source opens no session, whoever pinned it.
    """
    if not total and not waiting:
        return Briefing()
    counts = f"memorywire keeps {_counted(total)}; the tool `recall` finds the others."
    believed = sorted((one for one in pinned if one.trust is not Trust.UNTRUSTED), key=_urgency)
    hits = [Hit(record=record, score=1.0, stores=()) for record in believed]
    block, shown = _fitting(hits, START_TOKENS - cost(counts))
    return Briefing(
        context="\n".join(part for part in (counts, block) if part), shown=shown, notice=_banner(waiting)
    )


def _urgency(record: Record) -> int:
    """Sorts prohibitions first, then instructions: a budget cuts the end."""
    return next((at for at, tag in enumerate(_FIRST) if tag in record.tags), len(_FIRST))


def answering(hits: Sequence[Hit], *, already: Collection[str]) -> Briefing:
    """Those of the hits that the model has not been shown, within the budget."""
    block, shown = _fitting([hit for hit in hits if hit.id not in already], PROMPT_TOKENS)
    return Briefing(context=block, shown=shown)


def _fitting(hits: Sequence[Hit], budget: int) -> tuple[str, tuple[str, ...]]:
    """The block, and which of the hits are in it: each that did not fit was left out whole."""
    block = render(hits, max_tokens=budget)
    return block, tuple(hit.id for hit in hits if f'<memory id="{hit.id}"' in block)


def _banner(waiting: int) -> str:
    if not waiting:
        return ""
    verb = "awaits" if waiting == 1 else "await"
    return f"{_counted(waiting)} {verb} review: memorywire review"


def _counted(number: int) -> str:
    return f"{number} {'memory' if number == 1 else 'memories'}"
