"""What a schema cannot count is refused all the same, before it is kept; what is not counted is named."""

import pytest

from memorywire.model.answers import Status
from memorywire.model.errors import InvalidRequest
from memorywire.model.requests import METADATA_BYTES_MAX
from memorywire.pipeline import rules as past
from tests.engine.stage import STORES, play

pytestmark = pytest.mark.parametrize("url", STORES)
FRAME = len('{"a":""}')


def test_metadata_is_bounded(url):
    """Proves RM-18."""

    async def story(memory, clock):
        room = METADATA_BYTES_MAX - FRAME
        kept = await memory.remember("as much as fits", metadata={"a": "é" * (room // 2)})
        with pytest.raises(InvalidRequest) as caught:
            await memory.remember("a byte too much", metadata={"a": "x" * (room + 1)})
        assert (kept.status, caught.value.field) == (Status.COMMITTED, "metadata")
        assert (await memory.list()).total == 1
        assert (await memory.call("capabilities", {}))["limits"]["metadata_bytes_max"] == METADATA_BYTES_MAX

    play(url, story)


def test_a_merge_keeps_metadata_within_its_bound(url):
    """Proves RM-18."""

    async def story(memory, clock):
        half = METADATA_BYTES_MAX // 2
        one = await memory.remember("one", metadata={"a": "x" * half})
        two = await memory.remember("two", metadata={"b": "x" * half})
        with pytest.raises(InvalidRequest) as caught:
            await memory.merge(one.id, [two.id], strategy="merge_content")
        assert caught.value.field == "strategy"
        assert (await memory.merge(one.id, [two.id])).version == 2

    play(url, story)


def test_a_rule_tried_on_more_than_is_counted_says_so(url, monkeypatch):
    async def story(memory, clock):
        for number in range(3):
            await memory.remember(f"salary {number}")
        rule = {"name": "salaries", "verdict": "hold", "content_contains": ["salary"]}
        whole = await memory.test_rule(rule)
        monkeypatch.setattr(past, "_MOST", 2)
        part = await memory.test_rule(rule)
        clock.pass_days(40)
        later = await memory.test_rule(rule)
        return [(trial.total, trial.matched, trial.degraded) for trial in (whole, part, later)]

    assert play(url, story) == [(3, 3, ()), (2, 2, ("older_changes",)), (0, 0, ())]
