"""Chooses the lines of a context block: what constrains the answer, and what helps with the task.

A recall returns memories that answer a query. A context block needs memories that help: "is vegetarian"
does not answer "suggest a dinner", but a good answer depends on it. So the floor of a recall does not
apply, and the scores are probabilities of helping and of constraining (see `score`).
"""

import re
from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from memorywire.facts import SINGLE, Kind, Label, is_pinned, replaces
from memorywire.model.answers import Section
from memorywire.model.record import Record, Trust
from memorywire.pipeline.prompt_context.score import Score
from memorywire.pipeline.prompt_context.task import Task
from memorywire.search.text import terms

HELPS, HELPS_ANYWAY = 0.1, 0.15
"""Minimum score of a memory for a line: for a task, and for a prompt that does not seem to be one."""

CERTAIN = 0.3
"""Lines are added until the probability that none of them helps falls to this; then only likely ones."""

LIKELY = 0.4
"""Score from which a memory gets a line regardless of `CERTAIN`."""

MOST = 3
"""The maximum number of memories chosen by score: lower ones seldom help."""

BEARS, BEARS_ANYWAY = 0.03, 0.25
"""Minimum score of a constraint for a line, low because a missing one harms more than a needless one."""

WORDED = 0.5
"""Minimum probability of being a constraint for a memory whose words say that it is one."""

SURELY_BEARS = 0.3
"""Score from which the reason says that a constraint bears on the prompt; below, that it may bear."""

BESIDE_BEST = 0.06
"""The minimum score of a doubtful constraint, as a fraction of the best constraint's score."""

MOST_CONSTRAINTS, MOST_DOUBTFUL = 12, 6
"""The maximum number of constraint lines, and of lines with constraints that only may bear."""

ALWAYS = 0.1
"""Probability of bearing on any prompt from which a constraint holds for every answer. Instructions on
language, length and form are above it, allergies and work rules far below."""

EVERYWHERE = "holds for every answer"

_ALWAYS_SLOTS = frozenset({"answer_language", "answer_format", "answer_length", "tone", "units", "pronouns"})

_SAME = 0.8
"""Two lines are duplicates if they share this fraction of their terms, and all of their numbers."""

_PROFILE = (
    Kind.IDENTITY,
    Kind.RELATION,
    Kind.PREFERENCE,
    Kind.POSSESSION,
    Kind.PLAN,
    Kind.DECISION,
    Kind.EVENT,
    Kind.CONFIGURATION,
    Kind.PROCEDURE,
    Kind.CONSTRAINT,
)

_BINDING = frozenset({"blacklist", "do"})
_NUMBER = re.compile(r"\d+")
_QUESTION = re.compile(r"\?\s*$")


class Candidate(Struct, frozen=True, kw_only=True):
    """A memory with its label, and the probabilities that it helps with the task or constrains it."""

    record: Record
    label: Label | None
    score: float
    bearing: float
    always: float
    is_revised: bool = False  # a newer memory probably has its new state


class Choice(Struct, frozen=True, kw_only=True):
    """A line of the block, before the budget is applied."""

    record: Record
    label: Label | None
    section: Section
    reason: str
    score: float
    is_bound: bool = False  # bears on this prompt, and not on every one


def _build_choice(one: Candidate, section: Section, reason: str, *, is_bound: bool = False) -> Choice:
    return Choice(
        record=one.record,
        label=one.label,
        section=section,
        reason=reason,
        score=one.score,
        is_bound=is_bound,
    )


def build_candidate(
    record: Record, label: Label | None, score: Score, *, is_revised: bool = False
) -> Candidate:
    """Build a candidate from a memory, its label and its score.

    An explicit label, or one with the slot of a constraint, decides whether the memory is a constraint; else
    its vector does, with a minimum if its words say so. Memories of untrusted sources and turns of
    conversations are never constraints.
    """
    if record.trust is Trust.UNTRUSTED or record.speaker is not None:
        constraint = 0.0
    elif not _BINDING.isdisjoint(record.tags):
        constraint = 1.0
    elif label is not None and (label.given or (label.kind is Kind.CONSTRAINT and label.slot is not None)):
        constraint = float(label.kind is Kind.CONSTRAINT)
    else:
        is_worded = label is not None and label.kind is Kind.CONSTRAINT
        constraint = max(score.constraint, WORDED if is_worded else 0.0)
    return Candidate(
        record=record,
        label=label,
        score=score.useful,
        bearing=constraint * score.bears,
        always=score.always,
        is_revised=is_revised,
    )


def choose_lines(task: Task, candidates: Sequence[Candidate], recent: Sequence[Record]) -> list[Choice]:
    """Choose the lines in the order in which they use the budget, each memory once."""
    live = [one for one in drop_retracted(keep_newest(candidates)) if not _is_past(one)]
    lines = _choose_pinned(live)
    lines += _choose_constraints(task, _without(live, lines))
    lines += _choose_profile(task, _without(live, lines))
    lines += [
        _build_choice(
            one,
            Section.MEMORY,
            "helps with the prompt" if one.score >= LIKELY else "may help with the prompt",
        )
        for one in choose_helpful(_without(live, lines), task)
    ]
    lines += _choose_rules(task, _without(live, lines))
    lines = drop_repeats(lines)
    chosen = {line.record.id for line in lines}
    return lines + [
        Choice(record=turn, label=None, section=Section.RECENT, reason="was said a moment ago", score=0.0)
        for turn in recent
        if turn.id not in chosen
    ]


def _is_past(one: Candidate) -> bool:
    """Whether it is probably outdated; never true for pinned memories and labelled constraints."""
    is_constraint = one.label is not None and one.label.kind is Kind.CONSTRAINT
    return one.is_revised and not is_constraint and not is_pinned(one.record)


def _without(candidates: Sequence[Candidate], lines: Sequence[Choice]) -> list[Candidate]:
    chosen = {line.record.id for line in lines}
    return [one for one in candidates if one.record.id not in chosen]


def _choose_pinned(candidates: Sequence[Candidate]) -> list[Choice]:
    """Return all pinned memories, oldest first, so that blocks begin alike for every prompt."""
    pinned = [one for one in candidates if is_pinned(one.record) and one.record.trust is not Trust.UNTRUSTED]
    ordered = sorted(pinned, key=lambda one: (one.record.created_at, one.record.id))
    return [_build_choice(one, Section.CONSTRAINT, "is pinned") for one in ordered]


def _choose_constraints(task: Task, candidates: Sequence[Candidate]) -> list[Choice]:
    """Return the constraints that bear on the task: first those of this prompt, then general ones."""
    lines = [
        replace(
            _build_choice(one, Section.CONSTRAINT, reason, is_bound=reason != EVERYWHERE), score=one.bearing
        )
        for one in candidates
        if _BINDING.isdisjoint(one.record.tags) and (reason := _find_reason_to_bear(one, task)) is not None
    ]
    lines.sort(key=lambda line: (not line.is_bound, -line.score, line.record.id))
    sure = [line for line in lines if line.reason != _MAY_BEAR]
    floor = BESIDE_BEST * max((line.score for line in lines if line.is_bound), default=0.0)
    doubtful = [line for line in lines if line.reason == _MAY_BEAR and line.score >= floor]
    return (sure + doubtful[:MOST_DOUBTFUL])[:MOST_CONSTRAINTS]


_MAY_BEAR = "may bear on the prompt"


def _find_reason_to_bear(candidate: Candidate, task: Task) -> str | None:
    """Return why a constraint bears on the task; None if it does not, or is not a constraint."""
    if not candidate.bearing:
        return None
    label = candidate.label
    if label is not None and label.kind is Kind.CONSTRAINT:
        if label.slot in _ALWAYS_SLOTS:
            return EVERYWHERE
        if task.is_about_person and _is_own(candidate):
            return "is part of the person's profile"
    if candidate.bearing < (BEARS if task.is_related else BEARS_ANYWAY):
        return None
    if candidate.always >= ALWAYS:
        return EVERYWHERE
    return "bears on the prompt" if candidate.bearing >= SURELY_BEARS else _MAY_BEAR


def _choose_profile(task: Task, candidates: Sequence[Candidate]) -> list[Choice]:
    """Return the memories about the user, if the prompt is about them."""
    if not task.is_about_person:
        return []
    about = [one for one in candidates if _is_own(one)]
    ordered = sorted(about, key=_rank_in_profile)
    return [_build_choice(one, Section.PROFILE, "is part of the person's profile") for one in ordered]


def _is_own(candidate: Candidate) -> bool:
    """Whether the memory belongs to or is about the user, rather than the agent."""
    label = candidate.label
    return candidate.record.scope.user is not None or (label is not None and label.subject == "user")


def _rank_in_profile(candidate: Candidate) -> tuple[int, int, str]:
    place = len(_PROFILE) if candidate.label is None else _PROFILE.index(candidate.label.kind)
    return place, -candidate.record.moment, candidate.record.id


def _choose_rules(task: Task, candidates: Sequence[Candidate]) -> list[Choice]:
    """Return the rules of earlier sessions (to do, never to do) that bear on the task."""
    rules = [
        (one, _find_reason_to_bear(one, task))
        for one in candidates
        if not _BINDING.isdisjoint(one.record.tags)
    ]
    return [_build_choice(one, Section.RULE, reason) for one, reason in rules if reason is not None]


def choose_helpful(candidates: Sequence[Candidate], task: Task) -> list[Candidate]:
    """Return the memories that help with the task, best first; more if it is less certain which do."""
    fit = [
        one
        for one in candidates
        if one.score >= (HELPS if task.is_related else HELPS_ANYWAY)
        and _BINDING.isdisjoint(one.record.tags)
        and not _only_asks(one.record, task)
    ]
    lines: list[Candidate] = []
    missing = 1.0
    for one in sorted(fit, key=lambda one: (-one.score, one.record.id))[:MOST]:
        if missing <= CERTAIN and one.score < LIKELY:
            break
        lines.append(one)
        missing *= 1 - one.score
    return lines


def _only_asks(record: Record, task: Task) -> bool:
    """Whether it is a question, a turn of the assistant, or the prompt itself, stored just before."""
    if record.speaker == "assistant":
        return True
    is_turn = record.conversation is not None or record.speaker is not None
    return is_turn and (
        _QUESTION.search(record.words) is not None or frozenset(terms(record.words)) == task.words
    )


_TAKES_BACK = re.compile(
    r"\b(?:forget|no longer|any ?more|scratch|take (?:that|it) back|not true|never mind|stopped|quit|sold"
    r"|broke up|used to|not .{1,40} after all)\b",
    re.IGNORECASE,
)
"""A cheap test before a turn is parsed for retractions."""


def drop_retracted(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Drop turns that only retract something, and the earlier turns that stated it.

    The facts themselves have ended; their turns are still stored, but must not bring them back. A turn of
    the assistant, of an untrusted source or of another user retracts nothing.
    """
    turns = [one for one in candidates if one.record.speaker not in (None, "assistant")]
    ended: set[str] = set()
    for turn in turns:
        if turn.record.trust is Trust.UNTRUSTED or _TAKES_BACK.search(turn.record.words) is None:
            continue
        from memorywire.facts.reader import Act, read_turn
        from memorywire.facts.retractions import is_about

        statements = read_turn(turn.record.words)
        taken_back = [one.text for one in statements if one.act is Act.RETRACT]
        if taken_back and len(taken_back) == len(statements):
            ended.add(turn.record.id)
        ended.update(
            other.record.id
            for other in turns
            if other.record.moment < turn.record.moment
            and other.record.scope == turn.record.scope
            and any(is_about(other.record.words, target) for target in taken_back)
        )
    return [one for one in candidates if one.record.id not in ended]


def keep_newest(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Drop memories that a newer one replaces or was derived from; the order stays.

    A memory of an untrusted source never hides a trusted one.
    """
    slots: dict[tuple[str | None, str | None, str], list[Candidate]] = {}
    sources: set[str] = set()
    for one in candidates:
        if one.record.trust is not Trust.UNTRUSTED:
            sources.update(one.record.derived_from)
        if one.label is not None and one.label.slot is not None:
            slot = "likes" if one.label.slot == "dislikes" else one.label.slot
            slots.setdefault((one.record.scope.user, one.label.subject, slot), []).append(one)
    ended = {older.record.id for group in slots.values() for older in _find_replaced(group)} | sources
    return [one for one in candidates if one.record.id not in ended]


def _find_replaced(group: list[Candidate]) -> list[Candidate]:
    if len(group) < _TWO or len(group) > _MANY or not _has_one_value(group):
        return []
    by_age = sorted(group, key=lambda one: (one.record.moment, one.record.id))
    return [
        older
        for place, older in enumerate(by_age)
        if any(_is_replaced(older, newer) for newer in by_age[place + 1 :])
    ]


_TWO, _MANY = 2, 64  # a slot with many values is a list, and none of them replaces another


def _has_one_value(group: Sequence[Candidate]) -> bool:
    """Whether values of the slot replace each other, or one of them is denied."""
    labels = [one.label for one in group if one.label is not None]
    return labels[0].slot in _REPLACING or len({label.negative for label in labels}) > 1


_REPLACING = SINGLE | {"diet", "likes", "dislikes"}


def _is_replaced(older: Candidate, newer: Candidate) -> bool:
    """Whether the newer memory gives another value of the same slot."""
    if older.label is None or newer.label is None:
        return False
    if newer.record.trust is Trust.UNTRUSTED is not older.record.trust:
        return False
    return replaces(newer.label, older.label) or (
        newer.label.slot in SINGLE and None in (newer.label.value, older.label.value)
    )


def drop_repeats(lines: Sequence[Choice]) -> list[Choice]:
    """Drop lines that nearly duplicate an earlier one."""
    distinct: list[tuple[Choice, _Said]] = []
    for line in lines:
        summary = _summarise(line.record)
        if not any(_is_same(summary, other) for _, other in distinct):
            distinct.append((line, summary))
    return [line for line, _ in distinct]


_Said: TypeAlias = tuple[frozenset[str], frozenset[str]]
"""The index terms of a memory, and its numbers."""


def _summarise(record: Record) -> _Said:
    return frozenset(terms(record.words)), frozenset(_NUMBER.findall(record.words))


def _is_same(one: _Said, other: _Said) -> bool:
    words, numbers = one
    other_words, other_numbers = other
    return (
        bool(words)
        and numbers == other_numbers
        and len(words & other_words) >= _SAME * len(words | other_words)
    )
