"""What somebody takes back in a conversation ends in Postgres as in the other stores."""

import pytest

from tests.kv.stage import play
from tests.layer.test_taking_back import CASES, take_back


@pytest.mark.parametrize("case", CASES)
def test_taking_back_ends_the_speakers_own_fact_and_no_other(case: str, schema: str) -> None:
    play(take_back(*CASES[case]), schema, policy="balanced")
