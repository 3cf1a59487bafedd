"""What a rule keeps from a caller is in nothing that this caller reads, and in all that others read."""

import asyncio
import json

import pytest
from msgspec.structs import replace

from memorywire import Memory
from memorywire.app.dispatch import dispatch
from memorywire.model.errors import InvalidRequest
from memorywire.wire.codec import encode
from tests.engine.quick import Quick
from tests.engine.stage import STORES, HandClock

RULE = {
    "name": "private",
    "verdict": "redact",
    "operation": ["recall"],
    "tags": ["private", "secret"],
    "caller": ["agent:*"],
}
PAY = "Ana earns 4200 a month"


def with_memory(url, work, rules=(RULE,), policy="open"):
    async def run():
        async with Memory("agent", [url], policy=policy, embedder=Quick(), clock=HandClock()) as memory:
            await memory.remember(PAY, id="pay", tags=["private"], metadata={"amount": "4200 EUR"})
            await memory.remember("Ana likes tea", id="tea")
            if rules:
                await memory.set_rules(list(rules))
            await work(memory)

    asyncio.run(run())


async def read_everything(memory, caller):
    """The answers of all operations that return memories, as JSON, by operation."""
    container = await memory._open()
    container = replace(container, context=container.as_caller(caller))

    async def ask(operation, **fields):
        payload = {"agent_id": "agent", **fields}
        return encode(await dispatch(operation, payload, container, tenant="default"))

    recalled = await ask("recall", query=PAY, min_relevance="off")
    answers = {
        "recall": recalled,
        "why": await ask("why", recall_id=recalled["recall_id"]),
        "get": await ask("get", id="pay"),
        "list": await ask("list"),
        "history": await ask("history", id="pay"),
        "context": await ask("context", prompt="how much does Ana earn a month?"),
        "profile": await ask("profile"),
    }
    del answers["why"]["query"]
    return {name: json.dumps(answer) for name, answer in answers.items()}


@pytest.mark.parametrize("url", STORES)
def test_nothing_that_a_caller_reads_has_what_a_rule_redacts(url):
    """Proves RD-1."""

    async def work(memory):
        for name, text in (await read_everything(memory, "agent:helper")).items():
            assert "4200" not in text, name
        found = await read_everything(memory, "operator:ana")  # control: it was the caller
        assert all("4200" in found[name] for name in ("recall", "why", "get", "list", "history"))

    with_memory(url, work)


@pytest.mark.parametrize("url", STORES)
def test_a_redacted_memory_is_found_and_others_are_untouched(url):
    async def work(memory):
        hits = {hit.id: hit for hit in await memory.recall(PAY, min_relevance="off")}
        assert (hits["pay"].content, hits["pay"].record.metadata) == ("[REDACTED:private]", {})
        assert hits["pay"].record.tags == ("private",)
        assert hits["tea"].content == "Ana likes tea"

    with_memory(url, work, [{**RULE, "caller": ["local"]}])


def test_an_older_version_is_judged_by_its_own_labels():
    async def work(memory):
        await memory.remember("Ana earns enough", id="pay", if_version=1)
        first, second = await memory.history("pay")
        assert first.record.content == "[REDACTED:private]"
        assert second.record.content == "Ana earns enough"

    with_memory(STORES[1], work, [{**RULE, "caller": ["local"]}])


def test_a_rule_about_reading_holds_no_recall_and_no_write():
    async def work(memory):
        await memory.remember("Ana earns more", tags=["private"])
        assert (await memory.recall("Ana", min_relevance="off")).hits

    with_memory(STORES[0], work, [{**RULE, "caller": ["local"]}])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"operation": ["recall", "forget"]}, "operation"),
        ({"operation": ["remember"]}, "operation"),
        ({"contains_secret": True}, "contains_secret"),
        ({"by_filter": True}, "by_filter"),
        ({"not": {"destructive": True}}, "destructive"),
        ({"reviewers": 2}, "reviewers"),
    ],
)
def test_a_rule_that_cannot_redact_is_refused_and_changes_nothing(change, field):
    async def work(memory):
        with pytest.raises(InvalidRequest) as refusal:
            await memory.set_rules([{**RULE, **change}])
        assert refusal.value.field == f"rule.private.{field}"
        assert (await memory.rules()).edition == 1

    with_memory(STORES[0], work)
