"""Learned rules: suggests rules, with evidence, for what people repeatedly decided the same way."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from memorywire.model.record import Json, MemoryType, Trust
from memorywire.policy.judge import Case
from memorywire.policy.patterns import fold_case
from memorywire.policy.rules import Condition, Operation, Rule, Verdict

THRESHOLD = 5


class Features(Struct, frozen=True, kw_only=True):
    """The features of a decided case, without any content.

    A feature that differs between the memories of one case is None. `may_be_automatic` is False for cases
    that a learned rule may never allow.
    """

    tenant: str
    agent: str
    operation: str
    type: MemoryType | None = None
    source: str | None = None
    tags: frozenset[str] = frozenset()
    may_be_automatic: bool = False


class Decided(Struct, frozen=True, kw_only=True):
    """A person's decision on an unchanged proposal; automatic decisions do not count as evidence.

    An approval after an edit is neither a yes nor a no to the pattern, and must not be included.
    """

    id: str
    features: Features
    approved: bool
    by: str
    at: int
    automatic: bool = False


class Suggestion(Struct, frozen=True, kw_only=True):
    """A suggested rule, and the decisions that support it, oldest first."""

    rule: Rule
    evidence: tuple[str, ...]


class _Pattern(NamedTuple):
    """The common features of decisions for one agent; the source "" means none, None means any."""

    tenant: str
    agent: str
    operation: str
    type: MemoryType | None
    source: str | None
    tag: str | None

    @property
    def key(self) -> tuple[str, ...]:
        """The key for sorting and naming; more specific patterns sort first."""
        parts = ("~" if part is None else f"={part}" for part in self[3:])
        return (*self[:3], str(self.count(None)), *parts)

    def wider(self) -> Iterator["_Pattern"]:
        """Yield every pattern that leaves one or more parts of this one open."""
        choices = product({None, self.type}, {None, self.source}, {None, self.tag})
        others = (self._replace(type=type, source=source, tag=tag) for type, source, tag in choices)
        return (other for other in others if other != self)


class _Tally(Struct):
    approved: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    may_be_automatic: bool = True

    def consistent(self, threshold: int) -> bool:
        return not (self.approved and self.rejected) and len(self.evidence) >= threshold

    @property
    def evidence(self) -> list[str]:
        return self.approved or self.rejected


def features(case: Case) -> Features:
    """Return the features of a case, to be stored with the decision on it."""
    memories = case.records or case.ending
    types = {record.type for record in memories}
    sources = {fold_case(record.source or "") for record in memories}
    tags = [frozenset(fold_case(tag) for tag in record.tags) for record in memories]
    return Features(
        tenant=case.scope.tenant,
        agent=case.scope.agent,
        operation=case.operation,
        type=types.pop() if len(types) == 1 else None,
        source=sources.pop() if len(sources) == 1 else None,
        tags=frozenset.intersection(*tags) if tags else frozenset(),
        may_be_automatic=case.may_be_automatic,
    )


def features_to(features: Features) -> dict[str, Json]:
    """Return the features as JSON for storage."""
    return asdict(features) | {"tags": sorted(features.tags)}


def features_from(data: Mapping[str, Json]) -> Features:
    """Read features from the JSON of `features_to`."""
    kind = data["type"]
    return Features(
        **{**data, "type": None if kind is None else MemoryType(kind), "tags": frozenset(data["tags"])}
    )


def suggest(decisions: Sequence[Decided], threshold: int = THRESHOLD) -> list[Suggestion]:
    """Suggest rules for patterns decided alike at least `threshold` times and never otherwise, surest first.

    To allow, a pattern must name type and source, and none of its evidence may be procedural, destructive or
    from an untrusted source; the rule repeats these limits. To refuse, it must name a source or a tag. Of
    patterns with the same evidence the most specific is suggested, and none that a wider one makes redundant.
    """
    tallies: dict[_Pattern, _Tally] = defaultdict(_Tally)
    people = (decision for decision in decisions if not decision.automatic)
    for decision in sorted(people, key=lambda one: (one.at, one.id)):
        for pattern in _patterns(decision.features):
            tally = tallies[pattern]
            (tally.approved if decision.approved else tally.rejected).append(decision.id)
            tally.may_be_automatic &= decision.features.may_be_automatic
    sure = {
        pattern: tally
        for pattern, tally in tallies.items()
        if tally.consistent(threshold) and _may_be_suggested(pattern, tally)
    }
    closest: dict[tuple[str, ...], _Pattern] = {}
    for pattern in sorted(sure, key=lambda one: one.key):
        closest.setdefault(tuple(sure[pattern].evidence), pattern)
    suggestions = [
        Suggestion(rule=_rule(pattern, sure[pattern]), evidence=evidence)
        for evidence, pattern in closest.items()
        if not any(len(sure[other].evidence) > len(evidence) for other in pattern.wider() if other in sure)
    ]
    return sorted(suggestions, key=lambda one: (-len(one.evidence), one.rule.name))


def _patterns(features: Features) -> Iterator[_Pattern]:
    """Yield every pattern that the decision matches; skips names with `*`, which would match too much."""
    if "*" in f"{features.tenant}{features.agent}":
        return
    types = {None, features.type}
    sources = {None, features.source if "*" not in (features.source or "") else None}
    tags = (None, *(tag for tag in features.tags if "*" not in tag))
    for type, source, tag in product(types, sources, tags):
        yield _Pattern(features.tenant, features.agent, features.operation, type, source, tag)


def _may_be_suggested(pattern: _Pattern, tally: _Tally) -> bool:
    if pattern.operation not in list(Operation):
        return False
    if tally.approved:
        return tally.may_be_automatic and pattern.type is not None and pattern.source is not None
    return bool(pattern.source) or pattern.tag is not None


def _rule(pattern: _Pattern, tally: _Tally) -> Rule:
    verdict = Verdict.ALLOW if tally.approved else Verdict.REFUSE
    when = Condition(
        tenant=(pattern.tenant,),
        agent=(pattern.agent,),
        operation=(Operation(pattern.operation),),
        type=() if pattern.type is None else (pattern.type,),
        source=() if pattern.source is None else (pattern.source,),
        tags=() if pattern.tag is None else (pattern.tag,),
    )
    if verdict is Verdict.ALLOW:
        when = replace(
            when,
            trust=(Trust.STANDARD, Trust.TRUSTED),
            destructive=False,
            contains_secret=False,
            looks_like_instruction=False,
        )
    times = f"{'approved' if tally.approved else 'rejected'} {len(tally.evidence)} times, never otherwise"
    mark = hashlib.blake2b("\0".join(pattern.key).encode(), digest_size=5).hexdigest()
    name = f"learned-{verdict}-{pattern.operation}-{mark}"
    return Rule(name=name, verdict=verdict, when=when, note=times, learned=True)
