"""The plain rankers rank as their formulas say."""

import math
import struct

from memorywire_evals.baselines import Baselines

REFS = ["one", "two", "three"]
TEXTS = ["red apples and red pears", "green apples", "a long walk by the sea"]
VECTORS = [struct.pack("<2f", *pair) for pair in ((1.0, 0.0), (0.0, 1.0), (0.6, 0.8))]


def _rank(query, vector=(1.0, 0.0)):
    return Baselines(REFS, TEXTS, VECTORS).rank(query, struct.pack("<2f", *vector), 3)


def test_bm25_prefers_the_text_with_more_and_rarer_of_the_words():
    assert _rank("red apples")["bm25"][:2] == ["one", "two"]
    assert _rank("the sea")["bm25"][0] == "three"


def test_bm25_scores_are_the_formula_with_k1_0_9_and_b_0_4():
    ranker = Baselines(REFS, TEXTS, VECTORS)
    # "red" occurs twice in the first text of four terms; the texts have 4, 2 and 3 terms.
    weight = math.log1p((3 - 1 + 0.5) / (1 + 0.5))
    expected = weight * 2 * 1.9 / (2 + 0.9 * (0.6 + 0.4 * 4 / 3))
    assert math.isclose(ranker._bm25("red")[0], expected)


def test_the_embedder_alone_ranks_by_cosine():
    assert _rank("anything")["embedder"] == ["one", "three", "two"]


def test_rrf_adds_reciprocal_ranks():
    # By words one, two, three; by vector two, three, one: 1/61 + 1/63 < 1/62 + 1/61 > 1/63 + 1/62.
    assert _rank("red apples", (0.0, 1.0))["rrf"] == ["two", "one", "three"]


def test_zsum_adds_standardised_scores():
    # By words (s, 0, 0), which is 1.41, -0.71, -0.71; by vector (0, 1, 0.8), which is -1.39, 0.93, 0.46.
    assert _rank("red pears", (0.0, 1.0))["zsum"] == ["two", "one", "three"]


def test_ties_go_to_the_earlier_text():
    assert _rank("unknown words", (0.0, 0.0))["zsum"] == ["one", "two", "three"]


def test_the_recipe_adds_stretched_scores_and_prefers_what_users_said():
    # By words (1, 0, 0), by vector (0, 1, 0.8): .3 against .7 and .56, of which a user said the last.
    query = ("red pears", struct.pack("<2f", 0.0, 1.0), 3)
    assert Baselines(REFS, TEXTS, VECTORS).rank(*query)["recipe"] == ["two", "three", "one"]
    assert Baselines(REFS, TEXTS, VECTORS, [False, False, True]).rank(*query)["recipe"][0] == "three"
