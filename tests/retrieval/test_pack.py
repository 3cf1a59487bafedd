"""A budget of tokens is filled in rank order with what fits."""

from memorywire.model.query import Scored
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.search.token_budget import cost, pack, tokens


def scored(id, content):
    record = Record(
        id=id, scope=Scope(agent="a"), type=MemoryType.PROCEDURAL, content=content, created_at=0, updated_at=0
    )
    return Scored(record=record, score=0.5, signals={})


def ids(candidates):
    return [one.record.id for one in candidates]


def test_a_token_is_four_bytes_rounded_up():
    assert [tokens(scored("x", "x" * n).record) for n in (1, 4, 5)] == [1, 1, 2]
    assert tokens(scored("x", {"a": "bb"}).record) == 3


def test_text_of_another_script_costs_more_tokens_a_letter():
    """The same count of characters: English, Russian, Chinese, Japanese, Korean."""
    sayings = ("green tea at seven", "зелёныйчайвсемь!!!", "绿茶" * 9, "おちゃ" * 6, "녹차를" * 6)
    assert {len(said) for said in sayings} == {18}
    assert [cost(said) for said in sayings] == [5, 9, 14, 14, 14]


def test_what_does_not_fit_is_passed_over_for_what_does():
    ranked = [scored("a", "x" * 40), scored("b", "x" * 400), scored("c", "x" * 40), scored("d", "x")]
    packed, skipped = pack(ranked, 20, 5)
    assert (ids(packed), ids(skipped)) == (["a", "c"], ["b", "d"])


def test_k_bounds_what_is_packed_and_nothing_behind_it_is_called_skipped():
    ranked = [scored("a", "x"), scored("b", "x"), scored("c", "x" * 400)]
    packed, skipped = pack(ranked, 20, 2)
    assert (ids(packed), ids(skipped)) == (["a", "b"], [])


def test_without_a_budget_everything_up_to_k_fits():
    assert ids(pack([scored("a", "x" * 9999), scored("b", "x")], None, 2)[0]) == ["a", "b"]
