"""Random lives of a store, compared with the oracle at every turn.

The default profile is short; `HYPOTHESIS_PROFILE=thorough pytest tests/stores/test_machine.py` is long.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from msgspec.structs import replace

from memorywire.model.query import Where
from memorywire.model.record import Record
from memorywire.stores.memory import MemoryStore
from memorywire_testing.samples import SPACE
from tests.stores.lives import Lives

PATIENT = settings(deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
PROFILES = {
    "default": settings(PATIENT, max_examples=60, stateful_step_count=40, derandomize=True, database=None),
    "thorough": settings(PATIENT, max_examples=3000, stateful_step_count=80),
}
PROFILE = PROFILES[os.environ.get("HYPOTHESIS_PROFILE", "default")]


class InSqlite(Lives):
    url = "sqlite://"


class ForgetsTheUser(MemoryStore):
    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        return await super().find(replace(where, scope=replace(where.scope, user=None)), after, limit)


class InForgetsTheUser(Lives):
    async def opened(self) -> ForgetsTheUser:
        return ForgetsTheUser(SPACE)


def test_sqlite_lives_like_the_oracle() -> None:
    run_state_machine_as_test(InSqlite, settings=PROFILE)


def test_a_store_that_forgets_the_user_is_caught() -> None:
    with pytest.raises(AssertionError):
        run_state_machine_as_test(InForgetsTheUser, settings=settings(PROFILE, phases=[Phase.generate]))


def test_no_difference_is_found_where_there_is_none() -> None:
    run_state_machine_as_test(Lives, settings=settings(PROFILE, max_examples=10))
