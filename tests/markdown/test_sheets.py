"""A memory becomes a sheet and the same memory again; what people write is read as they mean it."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from memorywire.model.record import MemoryType, Record, Scope, Standing, Trust
from memorywire.stores.sheet import Broken, Defaults, read, sheet
from memorywire_testing.samples import NOW

ANA = Scope(agent="assistant", user="ana")
DEFAULTS = Defaults(scope=Scope(agent="assistant"), id="a-file", written_at=NOW)

SEED = """---
# A memory item, shown as Markdown YAML frontmatter
id: mem_8f2a1c
content: "Forward Windows env vars into WSL login shells via WSLENV."
created_at: 2026-06-16T22:14:05Z
session: sess_2026-06-16_a
relevancy: 0.82            # 0..1, decays over time
source: agent_step        # agent_step | user | tool | reconciled
tags: [wsl, env, secrets]
backends: [markdown, sqlite]
status: active            # active | superseded | blacklisted
supersedes: null          # id of the item this replaces, if any
---
"""

_texts = st.text(st.characters(exclude_categories=["Cs"]))
_moments = st.integers(-(10**15), 10**15)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_names = st.lists(_texts, max_size=3).map(tuple)
_records = st.builds(
    Record,
    id=_texts.filter(bool),
    scope=st.builds(Scope, agent=st.just("assistant"), user=st.none() | _texts),
    type=st.sampled_from(MemoryType),
    content=_texts | st.dictionaries(_texts, _json, max_size=3),
    created_at=_moments,
    updated_at=_moments,
    version=st.integers(1, 2**40),
    confidence=st.floats(0, 1),
    metadata=st.dictionaries(_texts, _json, max_size=3),
    tags=_names,
    source=st.none() | _texts,
    session_id=st.none() | _texts,
    occurred_at=st.none() | _moments,
    expires_at=st.none() | _moments,
    standing=st.sampled_from(Standing),
    supersedes=_names,
    merged_from=_names,
    derived_from=_names,
    trust=st.sampled_from(Trust),
)


@given(_records)
@settings(max_examples=400, deadline=None)
def test_every_memory_comes_back_from_its_sheet(record: Record) -> None:
    assert read(sheet(record), DEFAULTS) == record


@given(_records)
@settings(max_examples=200, deadline=None)
def test_the_front_matter_is_yaml(record: Record) -> None:
    front = sheet(record).split("\n---\n", 1)[0].removeprefix("---\n")
    read_by_others = yaml.safe_load(front)
    assert (read_by_others["id"], read_by_others.get("source")) == (record.id, record.source)
    assert read_by_others.get("tags", []) == list(record.tags)


def test_the_sheet_of_the_design_is_read() -> None:
    record = read(SEED, DEFAULTS)
    assert record.content == "Forward Windows env vars into WSL login shells via WSLENV."
    assert (record.id, record.session_id, record.source) == ("mem_8f2a1c", "sess_2026-06-16_a", "agent_step")
    assert (record.confidence, record.tags, record.supersedes) == (0.82, ("wsl", "env", "secrets"), ())
    assert record.created_at == record.updated_at == 1_781_648_045_000
    assert record.metadata == {"backends": ["markdown", "sqlite"]}


def test_a_sheet_need_say_nothing_but_its_text() -> None:
    record = read("---\n---\nTea is at five.\n", DEFAULTS)
    assert record == Record(
        id="a-file",
        scope=Scope(agent="assistant"),
        type=MemoryType.SEMANTIC,
        content="Tea is at five.",
        created_at=NOW,
        updated_at=NOW,
    )


def test_lists_may_be_written_as_lines_and_texts_in_quotes() -> None:
    record = read("---\ntags:\n  - home\n  - 'it''s tea'\nsource: 'a: b'\n---\nTea.\n", DEFAULTS)
    assert (record.tags, record.source) == (("home", "it's tea"), "a: b")


def test_what_was_superseded_or_blacklisted_answers_only_when_asked_for() -> None:
    for word in ("superseded", "blacklisted", "archived"):
        assert read(f"---\nstatus: {word}\n---\nTea.\n", DEFAULTS).standing is Standing.ARCHIVED


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Tea is at five.\n", "no front matter"),
        ("---\nid: a\nTea is at five.\n", "no front matter"),
        ("---\nid: a\nnonsense\n---\nTea.\n", "line 3"),
        ("---\nid: a\nid: b\n---\nTea.\n", "line 3"),
        ("---\ntags: {home: [}\n---\nTea.\n", "line 2"),
        ("---\ncreated_at: yesterday\n---\nTea.\n", "created_at is not a time"),
        ("---\ntype: funny\n---\nTea.\n", "type is not one of"),
        ("---\nrelevancy: 2\n---\nTea.\n", "relevancy"),
        ("---\nversion: 0\n---\nTea.\n", "version"),
        ("---\nmetadata: [a]\n---\nTea.\n", "metadata"),
        ("---\ncontent: 7\n---\n", "content"),
        ("---\nid: ''\n---\nTea.\n", "id is empty"),
        ("---\nagent: somebody\n---\nTea.\n", "another agent"),
    ],
)
def test_a_sheet_that_cannot_be_read_says_why(text: str, wrong: str) -> None:
    with pytest.raises(Broken, match=wrong):
        read(text, DEFAULTS)
