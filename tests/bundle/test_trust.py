"""Who signed a bundle decides how far it is believed, and whether its vectors are used."""

import base64
import struct
from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.journal.acts import Wanted
from memorywire.migrate.bundle import read_bundle_changes
from memorywire.migrate.bundle_lines import parse_line
from memorywire.migrate.sanitize import is_unit_vector
from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Where
from memorywire.model.record import DEFAULT_TENANT, Json, Scope, Trust
from memorywire.pipeline.context import Context
from tests.bundle.story import export_to, imported, on, resealed

WORDS = "Ana banks with Meridian"


def _exported(tmp_path: Path, path: Path, *, vectors: bool = False, rules: bool = False) -> str:
    """A bundle of one trusted memory from an installation with a signing key; the key."""

    async def story(memory: Memory, context: Context) -> str:
        await memory.remember(WORDS, source="chat")
        if rules:
            await memory.set_rules([{"name": "all", "verdict": "allow", "everything": True}])
        bundle = await export_to(path, context, vectors=vectors)
        assert bundle.signature is not None
        return str(bundle.signature["key"])

    return on(f"sqlite:///{tmp_path}/from.db", story, policy="balanced")


async def _levels(context: Context) -> list[Trust]:
    where = Where(scope=Scope(agent="agent", tenant=DEFAULT_TENANT), alive_at=0)
    return [record.trust for record in await context.store.find(where, None, 100)]


def test_a_bundle_from_elsewhere_is_untrusted_until_the_operator_vouches_for_it(tmp_path: Path) -> None:
    path = tmp_path / "bundle.jsonl"
    key = _exported(tmp_path, path, rules=True)

    async def story(memory: Memory, context: Context) -> None:
        answer = await imported(path, context, trusted=False)
        assert (answer["signed_by"], answer["trusted"]) == (key, False)
        assert (answer["memories"], answer["held"], answer["rules"]) == (0, 1, "not trusted")
        [proposal] = await context.require_governance().journal.list_proposals(Wanted(tenant=DEFAULT_TENANT))
        assert proposal.rule == "untrusted-source"

    on("memory://", story, policy="balanced")

    async def open_story(memory: Memory, context: Context) -> None:
        await imported(path, context, trusted=False)
        assert await _levels(context) == [Trust.UNTRUSTED]

    on("memory://", open_story, policy="open")

    async def vouched(memory: Memory, context: Context) -> None:
        answer = await imported(path, context, trusted=True)
        assert (answer["memories"], answer["held"], answer["rules"]) == (1, 0, "imported")

    on("memory://", vouched, policy="balanced")


def test_ones_own_bundle_and_one_of_a_named_key_are_believed(tmp_path: Path) -> None:
    path, named = tmp_path / "bundle.jsonl", tmp_path / "policy.toml"
    key = _exported(tmp_path, path)
    named.write_text(f'bundle_keys = ["{key}"]\n')

    async def story(memory: Memory, context: Context) -> None:
        answer = await imported(path, context, trusted=False)
        assert answer["trusted"] is True
        assert answer["memories"] + answer["already"] == 1

    on("memory://", story, policy=str(named))
    on(f"sqlite:///{tmp_path}/from.db", story, policy="balanced")


def test_a_bundle_that_was_written_anew_is_unsigned_and_a_moved_signature_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bundle.jsonl"
    _exported(tmp_path, path)
    signature = path.read_bytes().splitlines(keepends=True)[-1]
    assert parse_line(signature, 1)["kind"] == "signature"

    def forge(lines: list[dict[str, Json]]) -> None:
        lines[1]["put"][0]["record"]["content"] = "Ana banks with EvilBank"

    resealed(path, forge)

    async def story(memory: Memory, context: Context) -> None:
        answer = await imported(path, context, trusted=False)
        assert (answer["signed_by"], answer["trusted"]) == (None, False)
        path.write_bytes(path.read_bytes() + signature)
        with pytest.raises(InvalidRequest, match="signature of the bundle is not valid"):
            await imported(path, context, trusted=True)

    on(f"sqlite:///{tmp_path}/from.db", story, policy="balanced")


def test_vectors_of_a_bundle_that_no_known_key_signed_are_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "bundle.jsonl"
    _exported(tmp_path, path, vectors=True)
    [honest] = [put.vector for change in read_bundle_changes(path, DEFAULT_TENANT) for put in change.put]
    assert honest is not None
    size = len(honest) // 4

    def forge(lines: list[dict[str, Json]]) -> None:
        forged = struct.pack(f"<{size}f", 1.0, *([0.0] * (size - 1)))
        lines[1]["put"][0]["vector"] = base64.b64encode(forged).decode()

    resealed(path, forge)

    async def story(memory: Memory, context: Context) -> None:
        await imported(path, context, trusted=True)
        again = tmp_path / "again.jsonl"
        await export_to(again, context, vectors=True)
        [kept] = [put.vector for change in read_bundle_changes(again, DEFAULT_TENANT) for put in change.put]
        assert kept == honest

    on("sqlite://", story, policy="balanced")


def test_a_vector_that_is_not_finite_or_not_of_length_one_is_not_used() -> None:
    def packed(*numbers: float) -> bytes:
        return struct.pack(f"<{len(numbers)}f", *numbers)

    assert is_unit_vector(packed(0.6, 0.8), 2)
    unsound = [packed(3.0, 4.0), packed(0.0, 0.0), packed(float("nan"), 1.0), packed(float("inf"), 0.0), b""]
    assert not any(is_unit_vector(vector, 2) for vector in (*unsound, packed(1.0)))


def test_rows_of_a_table_are_believed_by_their_source_and_those_without_by_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "id,content,source\n1,Ana drinks tea,\n2,Ana banks with EvilBank,scraper:7\n3,x,\u0441hat\n"
    )

    async def story(memory: Memory, context: Context) -> None:
        answer = await imported(path, context, trusted=False)
        assert (answer["memories"], answer["held"]) == (1, 1)
        assert [problem["field"] for problem in answer["problems"]] == ["source"]

    on("memory://", story, policy="balanced")
