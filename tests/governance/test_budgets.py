"""No window of a minute or a day ever holds more than its budget, and the wait that is told is enough."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorywire.model.clock import DAY_MS
from memorywire.model.errors import BudgetExceeded, InvalidRequest
from memorywire.policy.rules import MINUTE_MS, Budget, Usage, spend

NOW = 1_800_000_000_000
TEN = Budget(per_minute=10)


def left(budget: Budget, usage: Usage, now: int) -> int:
    """How much can be spent at once now, found by trying."""
    room = 0
    try:
        while True:
            spend(budget, usage, room + 1, now)
            room += 1
    except BudgetExceeded:
        return room


def test_what_fits_is_spent_and_what_does_not_is_refused_with_the_wait():
    usage = spend(TEN, Usage(), 7, NOW)
    assert left(TEN, usage, NOW) == 3
    with pytest.raises(BudgetExceeded) as caught:
        spend(TEN, usage, 4, NOW)
    assert caught.value.code == "budget_exceeded"
    assert caught.value.retry_after == 61
    assert "61 s" in caught.value.problem()["fix"]
    assert left(TEN, spend(TEN, usage, 3, NOW), NOW) == 0


def test_more_than_the_whole_budget_is_never_worth_waiting_for():
    with pytest.raises(BudgetExceeded) as caught:
        spend(TEN, Usage(), 11, NOW)
    assert caught.value.retry_after is None


def test_the_day_counts_beside_the_minute():
    budget = Budget(per_minute=10, per_day=15)
    usage = spend(budget, Usage(), 10, NOW)
    usage = spend(budget, usage, 5, NOW + 2 * MINUTE_MS)
    later = NOW + 4 * MINUTE_MS
    assert left(budget, usage, later) == 0
    with pytest.raises(BudgetExceeded, match="day") as caught:
        spend(budget, usage, 1, later)
    assert caught.value.retry_after is not None
    assert left(budget, usage, later + 1000 * caught.value.retry_after) == 10


def test_without_limits_everything_may_be_spent():
    usage = spend(Budget(), Usage(), 10**9, NOW)
    assert sum(n for _, n in spend(Budget(), usage, 10**9, NOW).day) == 2 * 10**9


def test_a_budget_of_nothing_allows_nothing():
    none = Budget(per_day=0)
    assert left(none, spend(none, Usage(), 0, NOW), NOW) == 0
    with pytest.raises(BudgetExceeded):
        spend(none, Usage(), 1, NOW)


@pytest.mark.parametrize("limit", [-1, 1.5, True, "9"])
def test_a_limit_is_a_whole_number(limit: object):
    with pytest.raises(InvalidRequest) as caught:
        Budget(per_minute=limit)
    assert caught.value.field == "per_minute"


def test_a_clock_that_steps_back_refills_nothing():
    usage = spend(TEN, Usage(), 10, NOW)
    assert left(TEN, usage, NOW - 30_000) == 0
    assert left(TEN, usage, NOW + 2 * MINUTE_MS) == 10


def test_a_clock_that_was_far_ahead_does_not_block_for_ever():
    usage = spend(TEN, Usage(), 10, NOW + 365 * DAY_MS)
    assert left(TEN, usage, NOW + 365 * DAY_MS) == 0
    assert left(TEN, usage, NOW) == 10


def test_usage_stays_small_however_long_it_is_counted():
    budget = Budget(per_minute=10**6, per_day=10**9)
    usage = Usage()
    for second in range(0, 3 * 86_400, 61):
        usage = spend(budget, usage, 1, NOW + second * 1000)
    assert len(usage.minute) + len(usage.day) < 130
    assert sum(n for _, n in usage.day) in range(1416, 1442)


STEPS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 999, 1000, 20_000, 59_999, 60_000, DAY_MS // 3, DAY_MS]), st.integers(0, 6)
    ),
    max_size=25,
)


@given(STEPS)
def test_no_window_holds_more_than_its_budget_and_the_wait_is_enough(steps: list[tuple[int, int]]):
    budget = Budget(per_minute=7, per_day=12)
    usage, now, spent = Usage(), NOW, []
    for wait, n in steps:
        now += wait
        if n <= left(budget, usage, now):
            usage = spend(budget, usage, n, now)
            spent.append((now, n))
        else:
            with pytest.raises(BudgetExceeded) as caught:
                spend(budget, usage, n, now)
            spend(budget, usage, n, now + 1000 * caught.value.retry_after)
    for window, limit in ((MINUTE_MS, 7), (DAY_MS, 12)):
        assert all(sum(n for at, n in spent if end - window < at <= end) <= limit for end, _ in spent)
