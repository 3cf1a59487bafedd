"""Signed hits: anybody with the public key can check what a recall handed out."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from memorywire import Memory, verify_hit
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest
from memorywire.sync import Memory as BlockingMemory
from tests.engine.quick import Quick

FACTS = {
    "tea": {"metadata": {"cup": 1, "größe": 0.5, "deep": {"a": [1, None, True]}}, "tags": ["drink"]},
    "rain": {"user_id": "ana", "occurred_at": 1_760_000_000_000, "session_id": "s", "confidence": 0.3},
    "cat": {"source": "user:ana"},
}


def signed(folder: Path):
    """The public key, and the answer of a recall whose hits are signed, as JSON."""

    async def run():
        url = f"sqlite:///{folder / 'memory.db'}"
        async with Memory("agent", [url], policy="open", embedder=Quick()) as memory:
            for name, fields in FACTS.items():
                await memory.remember(f"Ana likes {name} – ☂", **fields)
            query = {
                "agent_id": "agent",
                "query": "what does Ana like?",
                "min_relevance": "off",
                "sign": True,
            }
            return await memory.audit_key(), await memory.call("recall", query)

    return asyncio.run(run())


def test_a_signed_hit_verifies_with_the_public_key_alone(tmp_path: Path):
    """Proves SH-1."""
    key, answer = signed(tmp_path)
    assert len(answer["results"]) == len(FACTS)
    (tmp_path / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
    script = (
        "import json, sys; from memorywire import verify_hit\n"
        "answer = json.load(open(sys.argv[1], encoding='utf-8'))\n"
        "print([verify_hit(hit, sys.argv[2]) for hit in answer['results']])\n"
    )
    elsewhere = [sys.executable, "-c", script, str(tmp_path / "answer.json"), key]
    done = subprocess.run(elsewhere, capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.strip() == str([True] * len(FACTS))


def test_no_field_of_a_signed_hit_can_be_changed(tmp_path: Path):
    """Proves SH-1."""
    key, answer = signed(tmp_path)
    other, strange = signed(tmp_path / "other")
    for hit, foreign in zip(answer["results"], strange["results"], strict=True):
        assert verify_hit(hit, key)
        assert not verify_hit(hit, other)
        assert not verify_hit({**hit, "signed": foreign["signed"]}, key)
        outside = {"score", "supporting", "source_store", "stores", "signed"}
        for name in hit.keys() - outside:
            assert not verify_hit({**hit, name: "x" if hit[name] != "x" else "y"}, key), name
            assert not verify_hit({n: value for n, value in hit.items() if n != name}, key), name
        assert not verify_hit({**hit, "occurred_at": 1}, key)
        for name in hit["signed"]:
            assert not verify_hit({**hit, "signed": {**hit["signed"], name: "x"}}, key), name
        assert verify_hit({**hit, "score": 0.0, "stores": []}, key)  # control: these are not signed


def test_the_blocking_client_verifies_what_it_recalled(tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    with BlockingMemory("agent", [url], policy="open", embedder=Quick()) as memory:
        memory.remember("Ana likes tea")
        (hit,) = memory.recall("tea", sign=True, min_relevance="off")
        assert memory.verify_hit(hit)
        assert verify_hit(hit, memory.audit_key())
        with pytest.raises(InvalidRequest) as refusal:
            memory.verify_hit(memory.recall("tea", min_relevance="off").hits[0])
        assert refusal.value.field == "signed"
        with pytest.raises(InvalidRequest) as refusal:
            memory.verify_hit(hit, "no key")
        assert refusal.value.field == "key"


def test_a_ledger_that_is_in_no_file_refuses_to_sign():
    """Proves SH-2."""

    async def run(policy):
        async with Memory("agent", ["memory://"], policy=policy, embedder=Quick()) as memory:
            await memory.remember("Ana likes tea")
            with pytest.raises(CapabilityUnsupported) as refusal:
                await memory.recall("tea", sign=True)
            assert refusal.value.field == "sign"

    for policy in ("open", None):
        asyncio.run(run(policy))
