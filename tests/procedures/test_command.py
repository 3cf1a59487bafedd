"""`memorywire procedure` shows, moves and draws what another process remembered."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.shell import Shell
from tests.procedures.samples import refund, way

FACTS = ("--fact", "approved=true", "--fact", "blocked=false")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = Shell(tmp_path / "home")
    shell.remember(json.dumps(refund()), "--type", "procedural", "--structured", "--id", "r1")
    return shell


def test_a_step_is_taken_shown_and_told(shell: Shell):
    assert shell("procedure", "allowed", "r1", *FACTS).out.splitlines() == ["pay", "close", "note"]
    moved = shell("procedure", "trigger", "r1", "pay", *FACTS)
    assert moved.out.startswith("asked -> paid\n")
    assert shell("procedure", "show", "r1").out.startswith("refund: paid (version 2)\n")
    steps = shell("procedure", "history", "r1", "--json").json["steps"]
    assert [(step["state"], step["triggers"]) for step in steps] == [("asked", []), ("paid", ["pay"])]
    undone = shell("undo", shell("procedure", "trigger", "r1", "close", "--json").json["change_id"])
    assert undone.code == 0
    assert shell("procedure", "show", "r1", "--json").json["definition"] == refund(current="paid")


def test_a_refusal_says_why_and_what_else(shell: Shell):
    held = shell("procedure", "trigger", "r1", "pay", "--fact", "approved=false", "--fact", "blocked=false")
    assert (held.code, "approved does not hold" in held.err) == (3, True)
    unknown = shell("procedure", "allowed", "r1", "--json")
    assert (unknown.code, unknown.problem["field"]) == (2, "facts.approved")
    maybe = shell("procedure", "allowed", "r1", "--fact", "approved=maybe", "--json")
    assert (maybe.code, maybe.problem["field"]) == (2, "fact")
    assert shell("procedure", "show", "nobody").code == 3
    assert shell("get", "r1", "--json").json["version"] == 1


def test_a_drawing_is_text_for_other_programs(shell: Shell):
    assert shell("procedure", "draw", "r1").out.startswith("stateDiagram-v2\n")
    picture = shell("procedure", "draw", "r1", "--as", "svg").out
    assert ElementTree.fromstring(picture).tag.endswith("svg")


def test_a_definition_with_a_callback_is_refused_at_the_door(shell: Shell):
    refused = shell("remember", json.dumps(way(before="os.system")), "--type", "procedural", "--json")
    assert (refused.code, refused.problem["field"]) == (2, "content.transitions[0].before")
