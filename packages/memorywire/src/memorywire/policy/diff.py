"""What a change would do to memory, field by field: the page a reviewer decides on."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from memorywire.model.change import Change
from memorywire.model.record import Json, Record
from memorywire.model.values import dataclass
from memorywire.policy.segments import Segment, segments
from memorywire.policy.visible import visible, visible_json

_PLAIN_FIELDS = (
    *("type", "confidence", "source", "trust", "session_id", "tags", "occurred_at", "expires_at"),
    *("standing", "supersedes", "merged_from", "derived_from"),
)
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Modified:
    """A field that says something else; where both are texts, `segments` say it word by word."""

    field: str
    before: Json
    after: Json
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """Fields by path (`content`, `metadata.a.b`): those that came, those that went, those that changed."""

    added: Mapping[str, Json] = field(default_factory=dict)
    removed: Mapping[str, Json] = field(default_factory=dict)
    modified: tuple[Modified, ...] = ()


def diff(before: Record | None, after: Record | None) -> Diff:
    """How one version differs from the other; None is no version at all. Times of keeping do not count."""
    old = {} if before is None else dict(_facts(before))
    new = {} if after is None else dict(_facts(after))
    return Diff(
        added={path: value for path, value in new.items() if path not in old},
        removed={path: value for path, value in old.items() if path not in new},
        modified=tuple(
            _modified(path, old[path], value)
            for path, value in new.items()
            if path in old and not _same(old[path], value)
        ),
    )


def diff_change(change: Change, before: Mapping[str, Record]) -> dict[str, list[dict[str, Json]]]:
    """The `{added, removed, modified}` of a governance review, every text in its visible form.

    `before` holds the current versions of what the change touches; what is not in it is new, or is
    removed without a word of what it said.
    """
    added: list[dict[str, Json]] = []
    modified: list[dict[str, Json]] = []
    for put in change.put:
        told = {"id": visible(put.record.id), "version": put.record.version}
        if put.record.id in before:
            told["from_version"] = before[put.record.id].version
            modified.append(told | diff_to(diff(before[put.record.id], put.record)))
        else:
            added.append(told | {"fields": visible_json(diff(None, put.record).added)})
    return {"added": added, "removed": list(_removed(change, before)), "modified": modified}


def diff_to(found: Diff) -> dict[str, Json]:
    """The difference as JSON for a reviewer's eyes: nothing in it is invisible, nothing is cut short."""
    return {
        "added": visible_json(found.added),
        "removed": visible_json(found.removed),
        "modified": [
            {
                "field": visible(one.field),
                "before": visible_json(one.before),
                "after": visible_json(one.after),
                **({"segments": visible_json(one.segments)} if one.segments else {}),
            }
            for one in found.modified
        ],
    }


def _removed(change: Change, before: Mapping[str, Record]) -> Iterator[dict[str, Json]]:
    for end in change.end:
        into = {} if end.into is None else {"into": visible(end.into)}
        yield _gone(end.id, before) | {"reason": str(end.reason), "erased": False} | into
    for id in change.erase:
        yield _gone(id, before) | {"reason": "erased", "erased": True}


def _gone(id: str, before: Mapping[str, Record]) -> dict[str, Json]:
    record = before.get(id)
    version = {} if record is None else {"version": record.version}
    return {"id": visible(id), **version, "fields": visible_json(diff(record, None).removed)}


def _facts(record: Record) -> Iterator[tuple[str, Json]]:
    """What a record says, as paths and values; empty values are left out."""
    yield from _leaves("content", record.content)
    for name in _PLAIN_FIELDS:
        value = getattr(record, name)
        if value is not None and value != ():
            yield name, list(value) if isinstance(value, tuple) else value
    if record.scope.user is not None:
        yield "user_id", record.scope.user
    if record.metadata:
        yield from _leaves("metadata", record.metadata)


def _leaves(path: str, value: Json) -> Iterator[tuple[str, Json]]:
    if not isinstance(value, Mapping) or not value:
        yield path, value
        return
    for key, inner in value.items():
        step = key if _PLAIN_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
        yield from _leaves(f"{path}.{step}", inner)


def _modified(path: str, before: Json, after: Json) -> Modified:
    words = segments(before, after) if isinstance(before, str) and isinstance(after, str) else ()
    return Modified(field=path, before=before, after=after, segments=words)


def _same(before: Json, after: Json) -> bool:
    """Whether two JSON values are written the same: true is not 1, at any depth."""
    return json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
