"""What a reviewer sees of a change: all of it, word by word, with nothing hidden."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.record import MemoryType, Standing, Trust
from memorywire.policy.diff import diff, diff_change, segments, visible
from tests.governance.samples import ANA, a_memory

OLD = a_memory("Ana drinks green tea", tags=("drink",), metadata={"a": {"b": 1}, "gone": True})
NEW = replace(
    OLD,
    content="Ana drinks black tea",
    version=2,
    updated_at=9,
    tags=("drink", "tea"),
    metadata={"a": {"b": 2}, "new": "x"},
    trust=Trust.UNTRUSTED,
)


def test_a_diff_names_each_field_that_came_went_or_changed():
    found = diff(OLD, NEW)
    assert found.added == {"metadata.new": "x"}
    assert found.removed == {"metadata.gone": True}
    changed = {one.field: (one.before, one.after) for one in found.modified}
    assert changed == {
        "content": ("Ana drinks green tea", "Ana drinks black tea"),
        "trust": ("standard", "untrusted"),
        "tags": (["drink"], ["drink", "tea"]),
        "metadata.a.b": (1, 2),
    }


def test_content_is_compared_word_by_word():
    content = next(one for one in diff(OLD, NEW).modified if one.field == "content")
    assert content.segments == (("=", "Ana drinks "), ("-", "green"), ("+", "black"), ("=", " tea"))


def test_neighbouring_words_that_changed_are_one_change():
    assert segments("a red fast car", "a blue slow car") == (
        ("=", "a "),
        ("-", "red fast"),
        ("+", "blue slow"),
        ("=", " car"),
    )


def test_a_new_memory_is_all_added_and_a_lost_one_all_removed():
    assert diff(None, OLD).added == diff(OLD, None).removed
    assert diff(None, OLD).added["content"] == "Ana drinks green tea"
    assert not diff(None, OLD).modified


def test_bookkeeping_is_no_difference():
    later = replace(OLD, version=5, updated_at=77, recalled_at=78)
    assert diff(OLD, later) == diff(OLD, OLD)
    assert diff(OLD, replace(OLD, standing=Standing.ARCHIVED)) != diff(OLD, OLD)


def test_keys_that_look_alike_stay_apart():
    one = a_memory(metadata={"a.b": 1, "a": {"b": 2}, 'c "."d ': 3, "c ": {"d ": 4}})
    assert len([path for path in diff(None, one).added if path.startswith("metadata")]) == 4


def test_true_is_not_one():
    assert diff(a_memory(metadata={"x": [1]}), a_memory(metadata={"x": [True]})).modified


def test_structured_content_is_compared_by_path():
    old = a_memory({"name": "ship", "states": ["a", "b"]}, type=MemoryType.PROCEDURAL)
    new = replace(old, content={"name": "ship it", "states": ["a", "b"]})
    (only,) = diff(old, new).modified
    assert (only.field, only.segments) == ("content.name", (("=", "ship"), ("+", " it")))


def _change(**given) -> Change:
    return Change(id="c1", operation="merge", scope=ANA, at=5, **given)


def test_a_change_is_told_as_added_removed_and_modified():
    fresh = a_memory("new", id="m2")
    lost = a_memory("lost", id="m3")
    erased = a_memory("erased", id="m4", version=3)
    change = _change(
        put=(Put(record=NEW, base=Base.LIVE), Put(record=fresh, base=Base.NOTHING)),
        end=(End(id="m3", version=1, reason=EndReason.MERGED, into="m1"),),
        erase=("m4", "m5"),
    )
    told = diff_change(change, {one.id: one for one in (OLD, lost, erased)})
    assert [(one["id"], one["fields"]["content"]) for one in told["added"]] == [("m2", "new")]
    assert [(one["id"], one["from_version"], one["version"]) for one in told["modified"]] == [("m1", 1, 2)]
    assert [(one["id"], one["reason"], one["erased"]) for one in told["removed"]] == [
        ("m3", "merged", False),
        ("m4", "erased", True),
        ("m5", "erased", True),
    ]
    assert told["removed"][0]["into"] == "m1"
    assert told["removed"][1]["fields"]["content"] == "erased"
    assert told["removed"][2]["fields"] == {}
    assert json.loads(json.dumps(told)) == told


def test_long_content_is_not_cut_short():
    text = "word " * 13_000
    told = diff_change(_change(put=(Put(record=a_memory(text), base=Base.NOTHING),)), {})
    assert told["added"][0]["fields"]["content"] == text


HIDING = {
    "bidi override": ("safe\u202eevil", "safe⟦U+202E⟧evil"),
    "zero width space": ("pay\u200bpal", "pay⟦U+200B⟧pal"),
    "ANSI escape": ("\x1b[2Jgone", "⟦U+001B⟧[2Jgone"),
    "C1 control": ("a\x9bb", "a⟦U+009B⟧b"),
    "tag characters": ("a\U000e0041", "a⟦U+E0041⟧"),
    "carriage return": ("good\rbad", "good⟦U+000D⟧bad"),
    "no-break space": ("a\u00a0b", "a⟦U+00A0⟧b"),
    "Hangul filler": ("a\u3164b", "a⟦U+3164⟧b"),
    "variation selector": ("a\ufe01b", "a⟦U+FE01⟧b"),
    "a Cyrillic a": ("p\u0430ypal", "p⟦U+0430⟧ypal"),
    "our own brackets": ("⟦U+202E⟧", "⟦U+27E6⟧U+202E⟦U+27E7⟧"),
}
PLAIN = [
    "tea\n\tand cake",
    "Ana trinkt grünen Tee",
    "Анна пьёт чай",
    "アナは緑茶を飲む",
    "❤️ it",
    "a β-carotene",
]


@pytest.mark.parametrize("name", HIDING)
def test_what_hides_is_made_visible_everywhere_in_the_diff(name: str):
    raw, shown = HIDING[name]
    assert visible(raw) == shown
    put = Put(record=a_memory(raw, source=raw, tags=(raw,), metadata={"k": [{"v": raw}]}), base=Base.NOTHING)
    (told,) = diff_change(_change(put=(put,)), {})["added"]
    assert (told["fields"]["content"], told["fields"]["source"], told["fields"]["tags"]) == (
        shown,
        shown,
        [shown],
    )
    assert told["fields"]["metadata.k"] == [{"v": shown}]
    modified = diff_change(_change(put=(put,)), {"m1": a_memory("other")})["modified"][0]["modified"]
    assert [one["segments"][-1][1] for one in modified if one["field"] == "content"] == [shown]


@pytest.mark.parametrize("text", PLAIN)
def test_ordinary_writing_stays_as_it_is(text: str):
    assert visible(text) == text


TEXTS = st.text(alphabet="ab \n.\u202e⟦U+0⟧а", max_size=12)


@given(one=TEXTS, other=TEXTS)
def test_two_texts_that_differ_look_different(one: str, other: str):
    assert (visible(one) == visible(other)) == (one == other)


SENTENCES = st.lists(st.sampled_from(["tea ", "green", " ", "\n", ". ", "茶", "é", ","]), max_size=30).map(
    "".join
)


@given(before=SENTENCES, after=SENTENCES)
def test_the_segments_hold_both_texts_whole(before: str, after: str):
    found = segments(before, after)
    assert "".join(text for mark, text in found if mark in "=-") == before
    assert "".join(text for mark, text in found if mark in "=+") == after
    assert all(text for _, text in found)


def test_words_without_spaces_between_them_are_compared_by_character():
    assert segments("アナは緑茶を飲む", "アナは紅茶を飲む") == (
        ("=", "アナは"),
        ("-", "緑"),
        ("+", "紅"),
        ("=", "茶を飲む"),
    )


def test_texts_with_too_many_changed_words_are_compared_by_sentence():
    before = "".join(f"First {i}. The fact number {i} stays. " for i in range(150))
    after = "".join(f"Later {i + 1}! The fact number {i} stays. " for i in range(150))
    found = segments(before, after)
    assert ("=", " The fact number 7 stays.") in found
    assert "".join(text for mark, text in found if mark in "=+") == after


def test_what_is_appended_to_a_long_text_is_told_exactly_however_much_it_is():
    before, more = "x y. " * 9_000, "z! " * 9_000
    assert segments(before, before + more) == (("=", before), ("+", more))
    assert segments(before + more, before) == (("=", before), ("-", more))


def test_a_long_text_whose_middle_changed_beyond_comparison_keeps_its_ends():
    head, tail = "the head " * 900, " the tail" * 900
    found = segments(f"{head}{'a ' * 900}{tail}", f"{head}{'b c ' * 900}{tail}")
    assert [mark for mark, _ in found] == ["=", "-", "+", "="]
    assert found[0][1].startswith(head.strip())


def test_texts_with_nothing_in_common_are_replaced_whole():
    before, after = "a " * 3000, "b\n" * 3000
    assert segments(before, after) == (("-", before), ("+", after))
    assert segments("", "x") == (("+", "x"),)
    assert segments("x", "x") == (("=", "x"),)
