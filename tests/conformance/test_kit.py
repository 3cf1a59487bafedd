"""The kit finds what is broken, passes what is not, and says which is which in every form."""

import asyncio
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from memorywire import Memory
from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Where
from memorywire.model.record import Record
from memorywire.stores.memory import MemoryStore
from memorywire.stores.registry import open_store
from memorywire_testing import oracle, paper, report
from memorywire_testing.checks import CHECKS, LASTING
from memorywire_testing.expect import Broken
from memorywire_testing.report import Mark, Report
from memorywire_testing.run import examine, examine_url, load_exemptions, select_checks
from memorywire_testing.samples import SPACE, HandClock, WordEmbedder
from tests.conformance.broken import Fleeting, Forgetful, Late, Leaky, Overlapping, Simple, Trimming

SHARING = select_checks(("another_agent", "crowd", "filters_apply"))


async def _sound() -> MemoryStore:
    return MemoryStore(SPACE)


async def _leaky() -> MemoryStore:
    return Leaky(SPACE)


async def _late() -> MemoryStore:
    return Late(SPACE)


async def _forgetful() -> MemoryStore:
    return Forgetful(SPACE)


async def _simple() -> MemoryStore:
    return Simple(SPACE)


def _examined(make: object, **options: object) -> Report:
    return asyncio.run(examine(make, SHARING, **options))


def test_a_store_that_shows_memories_to_strangers_fails() -> None:
    found = _examined(_leaky)
    assert "another_agent_sees_nothing" in {result.check for result in found.failures}
    assert not found.passed
    assert _examined(_sound).passed


def test_a_store_that_filters_after_the_limit_fails() -> None:
    assert "a_crowd_of_another_type_does_not_hide_mine" in {one.check for one in _examined(_late).failures}


def test_a_store_that_calls_itself_durable_and_is_not_fails() -> None:
    async def fleeting() -> MemoryStore:
        return Fleeting(SPACE)

    found = asyncio.run(examine(fleeting, LASTING))
    assert {one.check for one in found.failures} == {check.name for check in LASTING}
    modest = asyncio.run(examine(_sound, LASTING))
    assert {one.mark for one in modest.results} == {Mark.SKIPPED}


@pytest.mark.parametrize("scheme", ["sqlite", "graph", "markdown"])
def test_a_durable_store_has_everything_when_it_is_opened_again(scheme: str, tmp_path: Path) -> None:
    url = f"{scheme}:///{tmp_path}/kept"
    found = asyncio.run(examine(lambda: open_store(url, space=SPACE), LASTING))
    assert [one.detail for one in found.failures] == []
    assert found.marked(Mark.PASSED)


def test_a_failure_says_which_verb_was_asked_and_what_differs() -> None:
    async def trimming() -> MemoryStore:
        return Trimming(SPACE)

    (leak,) = asyncio.run(examine(_leaky, select_checks(("another_agent_sees",)))).failures
    assert re.search(r"\[scopes\.py:\d+: .*store\.get\(", str(leak.detail))
    (trimmed,) = asyncio.run(examine(trimming, select_checks(("every_script",)))).failures
    assert str(trimmed.detail).startswith("content of ")
    assert "created_at" not in str(trimmed.detail)


def test_a_store_whose_pages_overlap_fails_and_is_not_asked_for_ever() -> None:
    async def overlapping() -> MemoryStore:
        return Overlapping(SPACE)

    found = asyncio.run(examine(overlapping, select_checks(("paging_by_id",))))
    assert "the page behind" in str(found.failures[0].detail)


def test_what_a_store_does_not_claim_is_skipped_and_not_failed() -> None:
    found = asyncio.run(examine(_simple, CHECKS))
    assert found.passed
    assert len(found.marked(Mark.SKIPPED)) > 20
    assert "needs" in str(found.marked(Mark.SKIPPED)[0].detail)


def test_an_exemption_excuses_a_failure_but_not_a_success() -> None:
    name = "another_agent_sees_nothing"
    excused = _examined(_leaky, exempt={name: "the product has one namespace"})
    assert [(one.check, one.detail) for one in excused.marked(Mark.EXEMPT)] == [
        (name, "the product has one namespace")
    ]
    stale = _examined(_sound, exempt={name: "the product has one namespace"})
    assert [one.check for one in stale.failures] == [name]


def test_exemptions_are_data_with_reasons(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[redis]\nthe_user_is_a_field = "users are not kept"\n', encoding="utf-8")
    assert load_exemptions("redis", file) == {"the_user_is_a_field": "users are not kept"}
    assert load_exemptions("other", file) == {}
    for text, problem in (
        ('[redis]\nno_such_check = "x"\n', "unknown check"),
        ('[redis]\nthe_user_is_a_field = " "\n', "without a reason"),
        ("[redis", "not TOML"),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InvalidRequest, match=problem):
            load_exemptions("redis", file)


def test_every_shipped_exemption_names_a_check_and_a_reason() -> None:
    import tomllib
    from importlib.resources import files

    text = (files("memorywire_testing") / "exemptions.toml").read_text(encoding="utf-8")
    for scheme in tomllib.loads(text):
        assert load_exemptions(scheme)


@pytest.mark.parametrize("url", ["memory://", "sqlite://"])
def test_the_sixteen_scenarios_of_the_paper_pass(url: str) -> None:
    found = asyncio.run(paper.play(lambda: open_store(url, space=SPACE)))
    assert [one.check for one in found.results if one.mark is not Mark.PASSED] == []
    assert len(found.results) == 16


def test_a_scenario_fails_where_the_store_loses_memories() -> None:
    found = asyncio.run(paper.play(_forgetful))
    assert "multi_remember_then_recall" in {one.check for one in found.failures}


async def _too_many(self: object, where: Where, after: str | None, limit: int, page: int) -> list[Record]:
    return []


NO_PROTOCOL = {
    "the store has no name": {"name": ""},
    "its features are not": {"features": ["vector"]},
    "count is no async method": {"count": lambda self, where: 0},
    "health is no async method": {"health": None},
    "find asks for more": {"find": _too_many},
    "without the methods of Tracker": {"touch": None},
}


@pytest.mark.parametrize("fault", NO_PROTOCOL)
def test_a_store_that_is_not_of_the_protocol_fails_that_scenario(fault: str) -> None:
    kind: type[MemoryStore] = type("Wrong", (MemoryStore,), NO_PROTOCOL[fault])

    async def examined() -> None:
        store = kind(SPACE)
        async with Memory("a", [MemoryStore(SPACE)], embedder=WordEmbedder()) as memory:
            await paper.isinstance_protocol(paper.Stage(memory=memory, store=store, clock=HandClock()))

    with pytest.raises(Broken, match=fault):
        asyncio.run(examined())


def test_a_life_at_random_finds_a_store_that_loses_changes() -> None:
    found = asyncio.run(oracle.live(_forgetful, seed=3, lives=2, steps=60))
    assert len(found.failures) == 2
    again = asyncio.run(oracle.live(_forgetful, seed=3, lives=2, steps=60))
    assert [_nameless(one.detail) for one in again.results] == [
        _nameless(one.detail) for one in found.results
    ]
    assert asyncio.run(oracle.live(_sound, seed=3, lives=2, steps=60)).passed


def _nameless(detail: str | None) -> str:
    """Without the agent's name, which is another one in every life."""
    return re.sub(r"agent-[0-9a-f]+", "agent", str(detail))


def test_lives_at_random_are_lived_alike_by_the_embedded_store() -> None:
    found = asyncio.run(
        oracle.live(lambda: open_store("sqlite://", space=SPACE), seed=11, lives=2, steps=120)
    )
    assert [one.detail for one in found.failures] == []


def test_a_report_reads_the_same_in_every_form() -> None:
    found = _examined(_leaky)
    said = json.loads(report.as_json(found))
    assert said["passed"] is False
    assert said["counts"]["failed"] == len(found.failures)
    suite = ElementTree.fromstring(report.as_junit(found))
    assert suite.attrib["failures"] == str(len(found.failures))
    assert len(suite.findall("testcase")) == len(found.results)
    assert len(suite.findall("testcase/failure")) == len(found.failures)
    page = report.as_html(found)
    assert page.count("<tr class=") == len(found.results)
    assert "<script" not in page
    total = len(found.failures) + len(found.marked(Mark.PASSED))
    assert f"{total - len(found.failures)}/{total}" in report.badge(found)
    assert "#c62828" in report.badge(found)
    assert "#2e7d32" in report.badge(_examined(_sound))


def test_a_check_nobody_knows_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="there is no such check"):
        asyncio.run(examine_url("memory://", seed=1, checks=("nonsense",)))
