"""Reads policies from TOML documents, with validation, and converts them back."""

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json, Trust
from memorywire.policy.judge import Policy, SecretAction
from memorywire.policy.patterns import kind_of
from memorywire.policy.rules import (
    Budget,
    Rule,
    Verdict,
    budget_from,
    budget_to,
    count,
    flag,
    implies,
    mapping,
    one_of,
    rule_from,
    rule_to,
    share,
    texts,
    unknown_key,
    verdict_on_request,
)


class Profile(StrEnum):
    """The shipped profiles, from the least to the most strict."""

    OPEN = "open"
    BALANCED = "balanced"
    STRICT = "strict"


def profile_text(profile: Profile) -> str:
    """Return the TOML of a shipped profile."""
    return (Path(__file__).parent / "profiles" / f"{profile}.toml").read_text(encoding="utf-8")


E = TypeVar("E", bound=StrEnum)
V = TypeVar("V")

_KEYS = (
    *("profile", "complete", "disable", "default", "default_trust", "pending_days", "learned", "four_eyes"),
    *("rule", "trust", "sources", "secrets", "budget", "bundle_keys", "source_share"),
)


def policy_from_toml(document: str | Mapping[str, Json]) -> Policy:
    """Read a policy from a TOML text or an equivalent mapping; raises InvalidRequest if it is invalid.

    The policy extends a shipped profile (`balanced` by default): its rules precede those of the profile.
    """
    if not isinstance(document, str):
        return _build_policy(document)
    try:
        return _build_policy(tomllib.loads(document))
    except tomllib.TOMLDecodeError as error:
        raise InvalidRequest(f"the policy is not TOML: {error}", field="policy") from error


def policy_to_dict(policy: Policy) -> dict[str, Json]:
    """Return the complete policy as a mapping that `policy_from_toml` reads back without any profile."""
    return {
        "profile": policy.profile,
        "complete": True,
        "default": str(policy.default),
        "default_trust": str(policy.default_trust),
        "sources": list(policy.sources),
        "pending_days": policy.pending_days,
        "learned": policy.learned,
        "four_eyes": policy.four_eyes,
        "rule": [rule_to(rule) for rule in policy.rules],
        "trust": {pattern: str(level) for pattern, level in policy.trust},
        "secrets": {pattern: str(action) for pattern, action in policy.secrets},
        "budget": {pattern: budget_to(budget) for pattern, budget in policy.budgets},
        "bundle_keys": list(policy.bundle_keys),
        "source_share": policy.source_share,
    }


def with_rules(base: Policy, *lists: Json) -> Policy:
    """Return the policy with lists of rules before its own, each list checked like the rules of a file.

    Two lists may use the same name for a rule, because different people write them.
    """
    rules: tuple[Rule, ...] = ()
    for tables in lists:
        _prepend_rules(tables, base.rules)
        rules += rules_from(tables)
    return replace(base, rules=rules + base.rules)


@cache
def _load_shipped(profile: Profile) -> Policy:
    return replace(policy_from_toml(profile_text(profile)), profile=str(profile))


def _build_policy(table: Mapping[str, Json]) -> Policy:
    for key in table:
        if key not in _KEYS:
            raise unknown_key(key, _KEYS, key)
    profile = one_of(Profile, table.get("profile", Profile.BALANCED), "profile")
    complete = flag(table.get("complete", False), "complete")
    base = Policy(profile=str(profile)) if complete else _load_shipped(profile)
    disabled = texts(table["disable"], "disable") if table.get("disable") is not None else ()
    for name in disabled:
        if name not in {rule.name for rule in base.rules}:
            raise unknown_key(name, [rule.name for rule in base.rules], f"disable.{name}")
    rules = [replace(rule, enabled=rule.enabled and rule.name not in disabled) for rule in base.rules]
    return Policy(
        profile=base.profile,
        rules=_prepend_rules(table.get("rule", []), rules),
        default=verdict_on_request(table.get("default", base.default), "default"),
        trust=_first(_levels(table.get("trust", {}), Trust, "trust"), base.trust),
        sources=_sources(table, base),
        default_trust=one_of(Trust, table.get("default_trust", base.default_trust), "default_trust"),
        secrets=_first(_scopes(table.get("secrets", {})), base.secrets),
        pending_days=count(table.get("pending_days", base.pending_days), "pending_days"),
        learned=flag(table.get("learned", base.learned), "learned"),
        four_eyes=flag(table.get("four_eyes", base.four_eyes), "four_eyes"),
        budgets=_first(_budgets(table.get("budget", {})), base.budgets),
        bundle_keys=_list_of(table.get("bundle_keys", ()), "bundle_keys") or base.bundle_keys,
        source_share=share(table.get("source_share", base.source_share), "source_share"),
    )


def rules_from(tables: Json) -> tuple[Rule, ...]:
    """Read rules from a list of tables; raises InvalidRequest for an invalid list or rule."""
    if not isinstance(tables, list | tuple):
        raise InvalidRequest("rule is not a list of rules", field="rule", fix="write [[rule]] above each")
    return tuple(rule_from(table) for table in tables)


def _prepend_rules(tables: Json, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Prepend the rules of the tables; raises for a rule that can never match, and for duplicate names."""
    own = rules_from(tables)
    for earlier, later in combinations((rule for rule in own if rule.enabled), 2):
        # An allow needs all memories of a change to match, a hold any: an allow does not always cover a hold.
        partial = earlier.verdict is Verdict.ALLOW is not later.verdict
        if partial and earlier.when.about_records:
            continue
        if (earlier.verdict is Verdict.REDACT) is not (later.verdict is Verdict.REDACT):
            continue  # redaction and verdicts apply to different things
        if not earlier.learned and implies(later.when, earlier.when):
            raise InvalidRequest(
                f"rule {later.name} can never match: {earlier.name}, which stands before it, matches first",
                field=f"rule.{later.name}",
                fix="move it up, or drop it",
            )
    counts = Counter(rule.name for rule in (*own, *rules))
    name, count = counts.most_common(1)[0] if counts else ("", 0)
    if count > 1:
        fix = "rename one; a rule of the profile is switched off by disable = [...]"
        raise InvalidRequest(f"two rules are called {name}", field=f"rule.{name}", fix=fix)
    return (*own, *rules)


def _levels(table: Json, kinds: type[E], place: str) -> dict[str, E]:
    return {key: one_of(kinds, word, f"{place}.{key}") for key, word in mapping(table, place).items()}


def _sources(table: Mapping[str, Json], base: Policy) -> tuple[str, ...]:
    """Return the source kinds that the document names, and those of the profile.

    If the document sets `default_trust`, that applies to all other sources, including the profile's kinds.
    """
    own = _list_of(table.get("sources", ()), "sources")
    for kind in own:
        if kind_of(kind) != kind:
            raise InvalidRequest(
                f"sources names {kind!r}, which is more than a kind",
                field="sources",
                fix=f'write "{kind_of(kind)}", or [trust] "{kind}" = "standard"',
            )
    default_sources = () if "default_trust" in table else base.sources
    return tuple(dict.fromkeys((*own, *default_sources)))


def _list_of(words: Json, place: str) -> tuple[str, ...]:
    """Read a list of texts, which may be empty."""
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise InvalidRequest(f"{place} is not a list of texts", field=place, fix='write ["one", "two"]')
    return tuple(words)


def _scopes(table: Json) -> dict[str, SecretAction]:
    levels = _levels(table, SecretAction, "secrets")
    for pattern in levels:
        if pattern.count("/") not in (0, 2):
            raise InvalidRequest(
                f"secrets.{pattern} is not a scope", field="secrets", fix="write agent, or tenant/agent/user"
            )
    return levels


def _budgets(table: Json) -> dict[str, Budget]:
    limits = mapping(table, "budget")
    for pattern in limits:
        if not pattern.startswith(("agent:", "caller:")):
            raise InvalidRequest(
                f"budget.{pattern} is nobody's", field="budget", fix='write "agent:NAME" or "caller:NAME"'
            )
    return {pattern: budget_from(limit, f"budget.{pattern}") for pattern, limit in limits.items()}


def _first(own: dict[str, V], base: Iterable[tuple[str, V]]) -> tuple[tuple[str, V], ...]:
    """Return the document's patterns, then the profile's other patterns."""
    return tuple((own | {pattern: word for pattern, word in base if pattern not in own}).items())
