"""Extraction through an endpoint with a real language model behind it."""

import pytest

from tests.vendors.environments import judged, needs_everything

pytestmark = [pytest.mark.products, needs_everything("SmolLM2")]

CLAIMS = (
    "every_turn_is_kept_whatever_the_model_answers",
    "a_fact_of_the_model_comes_from_a_turn",
    "what_nobody_states_gives_no_fact_though_the_model_proposes_some",
    "a_conversation_longer_than_the_model_can_read_is_kept",
    "a_model_that_talks_without_end_holds_nothing_up",
)


@pytest.mark.parametrize("claim", CLAIMS)
def test_smollm2(claim: str) -> None:
    assert judged("smollm2", "smollm2")[claim] is None


def test_no_claim_is_left_out() -> None:
    assert set(judged("smollm2", "smollm2")) == set(CLAIMS)
