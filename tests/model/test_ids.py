"""Ids sort in the order they were minted, whatever the clock does."""

import threading
import uuid
from collections.abc import Callable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from memorywire.model.ids import IdMint


def _zeros(count: int) -> bytes:
    return bytes(count)


def _ticking(*moments: int) -> Callable[[], int]:
    ticks: Iterator[int] = iter(moments)
    return lambda: next(ticks)


def _moment(id: str) -> int:
    return uuid.UUID(id).int >> 80


def test_an_id_is_a_uuid_of_version_7_that_holds_its_moment() -> None:
    minted = uuid.UUID(IdMint(lambda: 1_750_000_000_123)())
    assert minted.version == 7
    assert minted.variant == uuid.RFC_4122
    assert minted.int >> 80 == 1_750_000_000_123


@given(st.lists(st.integers(0, 2**47), min_size=1, max_size=60))
def test_ids_sort_as_minted_for_any_clock(moments: list[int]) -> None:
    mint = IdMint(_ticking(*moments), _zeros)
    minted = [mint() for _ in moments]
    assert minted == sorted(set(minted))


def test_ids_of_one_moment_are_minted_as_one_by_one() -> None:
    asked = {1000: 3, 400: 2, 1001: 4098, 1002: 1, 2000: 0, 2001: 1}  # one clock looks for each, one for all
    mint = IdMint(_ticking(*asked), _zeros)
    single = IdMint(_ticking(*(now for now, count in asked.items() for _ in range(count))), _zeros)
    minted = [mint.many(count) for count in asked.values()]
    assert minted == [[single() for _ in range(count)] for count in asked.values()]
    every = [id for some in minted for id in some]
    assert every == sorted(set(every))


def test_ids_of_one_moment_have_lots_of_their_own() -> None:
    drawn: list[int] = []

    def lots(count: int) -> bytes:
        drawn.append(count)
        return bytes(range(count))

    tails = [uuid.UUID(id).int & 0xFFFF for id in IdMint(lambda: 1000, lots).many(3)]
    assert (tails, drawn) == ([0x0607, 0x0E0F, 0x1617], [24])


def test_a_clock_that_steps_back_is_not_followed() -> None:
    mint = IdMint(_ticking(1000, 400, 401, 1001))
    minted = [mint() for _ in range(4)]
    assert minted == sorted(minted)
    assert [_moment(id) for id in minted] == [1000, 1000, 1000, 1001]


def test_a_full_millisecond_runs_ahead_of_the_clock() -> None:
    mint = IdMint(lambda: 1000, _zeros)
    minted = [mint() for _ in range(4096 * 2 + 1)]
    assert minted == sorted(set(minted))
    assert _moment(minted[4095]) == 1000
    assert _moment(minted[4096]) == 1001
    assert _moment(minted[-1]) == 1002


def test_two_mints_of_one_moment_do_not_collide() -> None:
    first, second = IdMint(lambda: 1000), IdMint(lambda: 1000)
    assert not {first() for _ in range(500)} & {second() for _ in range(500)}


def test_threads_never_mint_the_same_id() -> None:
    mint = IdMint(lambda: 1000, _zeros)
    minted: list[str] = []
    threads = [threading.Thread(target=lambda: minted.extend(mint() for _ in range(500))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(minted)) == 4000
