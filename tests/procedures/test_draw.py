"""A picture shows every state and every way, says the same each time, and carries no markup of others."""

import re
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given, settings
from msgspec.structs import replace

from memorywire.procedures.draw import mermaid, svg
from memorywire.procedures.parse import parse
from tests.procedures.samples import refund
from tests.procedures.strategies import sound_definitions

_NS = "{http://www.w3.org/2000/svg}"


def _texts(picture: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(picture).iter(f"{_NS}text")]


def test_mermaid_text_names_every_state_and_every_way():
    assert mermaid(parse(refund(current="paid"))).splitlines() == [
        "stateDiagram-v2",
        '    state "asked" as s0',
        '    state "paid" as s1',
        '    state "closed" as s2',
        "    [*] --> s0",
        "    s0 --> s1 : pay [approved, not blocked]",
        "    s1 --> s0 : ask",
        "    s2 --> s0 : ask",
        "    s0 --> s2 : close",
        "    s1 --> s2 : close",
        "    s2 --> s2 : close",
        "    s0 --> s0 : note (stays)",
        "    s1 --> s1 : note (stays)",
        "    s1 --> s1 : retry",
        "    classDef current font-weight:bold,stroke-width:3px",
        "    class s1 current",
    ]


def test_a_state_called_like_a_word_of_mermaid_is_only_a_label():
    drawn = mermaid(parse(refund(initial="end", current="end", states=["end", "state"], transitions=[])))
    assert '    state "end" as s0' in drawn.splitlines()
    assert "    [*] --> s0" in drawn.splitlines()


def test_a_picture_shows_the_states_the_ways_and_where_it_stands():
    picture = svg(parse(refund(current="paid")))
    texts = _texts(picture)
    assert {"asked", "paid", "closed", "pay [approved, not blocked]", "note (stays)"} <= set(texts)
    current = [rect for rect in ElementTree.fromstring(picture) if "current" in rect.get("class", "")]
    assert len(current) == 1


def test_every_way_leads_from_its_state_to_its_state():
    definition = parse(refund())
    parts = list(ElementTree.fromstring(svg(definition)))
    boxes = {text.text: box for box, text in pairwise(parts) if "state" in box.get("class", "")}

    def state_at(x: float, y: float) -> str:
        for state, box in boxes.items():
            left, top, wide, high = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
            if -0.1 < x - left < wide + 0.1 and -0.1 < y - top < high + 0.1:
                return state
        return "nowhere"

    curves = [part.attrib["d"] for part in parts if part.get("class") == "way"][1:]
    points = [[float(number) for number in re.findall(r"[\d.]+", curve)] for curve in curves]
    drawn = {(state_at(*point[:2]), state_at(*point[-2:])) for point in points}
    assert drawn == {(way.source, way.target) for way in definition.transitions}


def test_a_picture_does_not_trust_the_names_it_is_given():
    forged = replace(
        parse(refund()), name="<script>", states=("asked", "<b>&"), transitions=(), current="<b>&"
    )
    picture = svg(forged)
    assert "<script>" not in picture
    assert "<b>&" in _texts(picture)


def test_a_long_label_is_cut_and_whole_in_its_title():
    asked = ["approved_by_the_manager", "approved_by_the_owner"]
    picture = svg(parse(refund(transitions=[["pay", "asked", "paid", asked]])))
    whole = "pay [approved_by_the_manager, approved_by_the_owner]"
    assert f"<title>{whole}</title>" in picture
    assert whole not in _texts(picture)


@settings(max_examples=50, deadline=None)
@given(document=sound_definitions())
def test_any_definition_is_drawn_whole_inside_the_frame_and_always_the_same(document):
    definition = parse(document)
    picture = svg(definition)
    assert picture == svg(parse(document))
    root = ElementTree.fromstring(picture)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    texts = list(root.iter(f"{_NS}text"))
    assert {*definition.states} <= {text.text for text in texts}
    assert all(0 < float(t.attrib["x"]) < width and 0 < float(t.attrib["y"]) < height for t in texts)
    ways = {(way.source, way.target) for way in definition.transitions}
    curves = [path for path in root.iter(f"{_NS}path") if path.get("class") == "way"]
    assert len(curves) == len(ways) + 1  # and the one that leads to the initial state
