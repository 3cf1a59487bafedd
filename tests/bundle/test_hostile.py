"""A bundle that is not sound is refused with the place that is wrong, and nothing of it comes in."""

import hashlib
import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from memorywire import Memory
from memorywire.journal.acts import Wanted
from memorywire.migrate.bundle import validate_bundle
from memorywire.migrate.bundle_lines import parse_line, seal_line
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import DEFAULT_TENANT
from memorywire.pipeline.context import Context
from tests.bundle.story import bundle_of, imported, on, resealed

Lines = list[dict[str, Any]]


def _first(lines: Lines) -> dict[str, Any]:
    return next(line for line in lines if line.get("put"))


def _a_version_of_tomorrow(lines: Lines) -> None:
    lines[0]["version"] = 2


def _a_change_without_a_moment(lines: Lines) -> None:
    del _first(lines)["at"]


def _a_memory_whose_moment_is_text(lines: Lines) -> None:
    _first(lines)["put"][0]["record"]["created_at"] = "yesterday"


def _a_field_that_nobody_knows(lines: Lines) -> None:
    _first(lines)["run"] = "rm -rf /"


def _a_change_twice(lines: Lines) -> None:
    lines.append(deepcopy(_first(lines)))


def _a_version_twice(lines: Lines) -> None:
    lines.append(deepcopy(_first(lines)) | {"id": "another change"})


def _a_line_of_no_kind(lines: Lines) -> None:
    lines.append({"kind": "surprise"})


def _a_line_without_a_kind(lines: Lines) -> None:
    lines.append({"say": "hello"})


def _a_proposal_that_is_none(lines: Lines) -> None:
    lines.append({"kind": "proposal", "proposal": {"$": "Proposal", "id": "p"}})


def _rules_that_are_none(lines: Lines) -> None:
    lines.append({"kind": "rules", "rules": [{"name": "r", "verdict": "perhaps"}], "at": 1, "by": "x"})


def _a_ledger_that_is_none(lines: Lines) -> None:
    lines.append({"kind": "ledger", "of": 1, "line": "{}"})


HOSTILE: tuple[tuple[Callable[[Lines], None], str], ...] = (
    (_a_version_of_tomorrow, "has version 2; this release reads 1"),
    (_a_change_without_a_moment, "line 2 is not a valid change"),
    (_a_memory_whose_moment_is_text, "put/0/record/created_at"),
    (_a_field_that_nobody_knows, "line 2 is not a valid change"),
    (_a_change_twice, "has change .* for the second time"),
    (_a_version_twice, "has version 1 of memory .* for the second time"),
    (_a_line_of_no_kind, "an unknown kind of line"),
    (_a_line_without_a_kind, "an unknown kind of line"),
    (_a_proposal_that_is_none, "an unreadable proposal"),
    (_rules_that_are_none, "verdict|perhaps"),
    (_a_ledger_that_is_none, "the ledger in the bundle is not valid"),
)


@pytest.mark.parametrize(("edit", "said"), HOSTILE, ids=[edit.__name__ for edit, _ in HOSTILE])
def test_it_is_refused_and_nothing_comes_in(tmp_path: Path, edit: Callable[[Lines], None], said: str) -> None:
    path = tmp_path / "one.jsonl"
    bundle_of(path, "memory://")
    resealed(path, edit)

    async def story(memory: Memory, context: Context) -> None:
        with pytest.raises(InvalidRequest, match=said):
            await imported(path, context)
        assert (await memory.list()).total == 0
        journal = context.require_governance().journal
        assert await journal.list_proposals(Wanted(tenant=DEFAULT_TENANT)) == []
        assert await journal.find_edition(DEFAULT_TENANT) is None

    on("sqlite://", story)


def test_a_line_that_is_spelt_in_another_way_is_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    bundle_of(path, "memory://")
    manifest, change, *rest, end = path.read_bytes().splitlines(keepends=True)
    wide = json.dumps(parse_line(change, 2)).encode()
    change = wide[:-1] + b',"digest":"' + hashlib.sha256(wide).hexdigest().encode() + b'"}\n'
    body = b"".join((manifest, change, *rest))
    last = parse_line(end, 3) | {"bundle": hashlib.sha256(body).hexdigest()}
    path.write_bytes(body + seal_line(last))
    with pytest.raises(InvalidRequest, match="line 2 is not encoded"):
        validate_bundle(path)


def test_one_that_was_only_sealed_anew_comes_in(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    bundle_of(path, "memory://")
    resealed(path, lambda lines: None)

    async def story(memory: Memory, context: Context) -> None:
        assert (await imported(path, context))["changes"] > 0
        assert (await memory.list()).total > 0

    on("sqlite://", story)
