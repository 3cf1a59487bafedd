"""A small campaign of generated requests; the large one is `tools/fuzz_http.py --cases 20000`."""

import importlib.util

from tests.gates.source import ROOT

_SPEC = importlib.util.spec_from_file_location("fuzz_http", ROOT / "tools" / "fuzz_http.py")


def test_generated_requests_find_no_fault_and_no_undocumented_answer():
    assert _SPEC is not None
    assert _SPEC.loader is not None
    tool = importlib.util.module_from_spec(_SPEC)
    _SPEC.loader.exec_module(tool)
    found = tool.campaign(200)
    assert found.failures == []
    assert found.cases >= 200
    assert found.faults == 0
    assert {200, 401, 404, 422} <= set(found.statuses)
