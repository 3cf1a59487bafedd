"""A small campaign of generated requests, always the same; the random one is `make fuzz`."""

from tests.http.tools import tool


def test_generated_requests_find_no_fault_and_no_undocumented_answer():
    found = tool("fuzz_http").campaign(200, seed=1)
    assert found.failures == []
    assert found.cases >= 200
    assert found.faults == 0
    assert {200, 401, 404, 422} <= set(found.statuses)
