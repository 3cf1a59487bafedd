"""What becomes of JSON values, requests and records: every field that can carry words is read."""

from random import Random

import pytest
from msgspec.structs import replace

from memorywire.model.errors import SecretLeakage
from memorywire.model.record import Json, MemoryType, Record, Scope
from memorywire.model.requests import Remember
from memorywire.policy.redact import Finding, Redactor, redact_remember, scan_record
from tests.redaction.corpus.shapes import draw

TOKEN = draw("ghp_{alnum:36}", Random(1))
KEY = draw("{alnum:30}", Random(2))
MARK = "[REDACTED:github-token]"
PLAIN = Remember(scope=Scope(agent="a"), type=MemoryType.SEMANTIC, content="Ana likes tea")


def test_values_are_redacted_at_any_depth_and_findings_name_the_place():
    value = {"auth": {"note": f"use {TOKEN}", "list": ["x", [TOKEN]]}, "n": 1, "ok": True, "none": None}
    clean, found = Redactor().json(value, "metadata")
    assert clean == {"auth": {"note": f"use {MARK}", "list": ["x", [MARK]]}, "n": 1, "ok": True, "none": None}
    assert found == (
        Finding("github-token", "metadata.auth.note"),
        Finding("github-token", "metadata.auth.list[1][0]"),
    )


def test_keys_are_redacted_and_stay_apart():
    other = draw("ghp_{alnum:36}", Random(5))
    clean, found = Redactor().json({TOKEN: 1, other: 2}, "metadata")
    assert clean == {MARK: 1, f"{MARK} 2": 2}
    assert found == (Finding("github-token", "metadata keys"),)


def test_the_name_of_a_field_says_what_its_value_is():
    redactor = Redactor()
    for name in ("apiKey", "client_secret", "accessToken", "signing_key"):
        assert redactor.json({name: KEY}, "m") == (
            {name: "[REDACTED:assigned-secret]"},
            (Finding("assigned-secret", f"m.{name}"),),
        ), name
    assert redactor.json({"db_password": "Tiger42!"}, "m")[1] == (Finding("password", "m.db_password"),)
    assert redactor.json({"Authorization": KEY}, "m")[1] == (
        Finding("authorization-header", "m.Authorization"),
    )


@pytest.mark.parametrize(
    "value",
    [
        {"token_count": "18231x", "max_tokens": "4096t", "tokenizer": "cl100k_base", "next_token": KEY[:20]},
        {"commit": draw("{hex:40}", Random(3)), "request_id": KEY, "session": draw("{hex:24}", Random(4))},
        {"password": "${DB_PASSWORD}", "api_key": "YOUR_API_KEY", "secret": "see the vault", "token": None},
        {"key": "value", "author": "Ana", "secretary": "Ben", "passenger": "Chloe2", "pin_count": 4},
    ],
)
def test_ordinary_fields_stay(value: Json):
    assert Redactor().json(value, "metadata") == (value, ())


def test_a_registered_number_is_found_as_a_number():
    redactor = Redactor({"door": "48151623"})
    assert redactor.json({"code": 48151623, "year": 2026}, "m") == (
        {"code": "[REDACTED:door]", "year": 2026},
        (Finding("door", "m.code"),),
    )


def test_every_field_of_a_request_is_read():
    request = replace(
        PLAIN,
        content={"steps": [f"log in with {TOKEN}"]},
        metadata={"auth": {"token": KEY}, TOKEN: 1},
        tags=("home", TOKEN, draw("ghp_{alnum:36}", Random(6))),
        source=f"https://bot:{TOKEN}@example.com",
        session_id=f"run {TOKEN}",
        privacy_intent={"why": TOKEN},
    )
    clean, found = redact_remember(request, Redactor())
    assert TOKEN not in repr(clean)
    assert KEY not in repr(clean)
    assert clean.tags == ("home", MARK)
    assert [finding.place for finding in found] == [
        "content.steps[0]",
        "metadata.auth.token",
        "metadata keys",
        "tags[1]",
        "tags[2]",
        "source",
        "session_id",
        "privacy_intent.why",
    ]
    assert TOKEN not in repr(found)


def test_a_request_without_secrets_is_the_same_request():
    request = replace(PLAIN, metadata={"n": [1, {"x": "y"}]}, tags=("a", "b"), session_id=KEY, id="m-1")
    assert redact_remember(request, Redactor({"mine": "never said"})) == (request, ())


@pytest.mark.parametrize("field", ["id", "idempotency_key"])
def test_a_secret_in_an_id_is_refused_without_showing_it(field: str):
    with pytest.raises(SecretLeakage) as caught:
        redact_remember(replace(PLAIN, **{field: f"x-{TOKEN}"}), Redactor())
    problem = caught.value.problem()
    assert (problem["code"], problem["field"]) == ("secret_leakage", field)
    assert TOKEN not in str(problem)


def test_a_secret_among_referenced_ids_or_owners_is_refused():
    redactor = Redactor({"mine": "correct-horse-7"})
    requests = {
        "supersedes.1": replace(PLAIN, supersedes=("m-1", "correct-horse-7")),
        "derived_from.0": replace(PLAIN, derived_from=("correct-horse-7",)),
        "user_id": replace(PLAIN, scope=Scope(agent="a", user="correct-horse-7")),
    }
    for field, request in requests.items():
        with pytest.raises(SecretLeakage) as caught:
            redact_remember(request, redactor)
        assert caught.value.field == field


def test_ids_may_be_random():
    ids = (draw(shape, Random(7)) for shape in ("{alnum:40}", "{hex:64}", "idem_{url:43}", "key_{lower:32}"))
    for id in ids:
        request = replace(PLAIN, id=id, idempotency_key=id, session_id=id)
        assert redact_remember(request, Redactor()) == (request, ())


def test_a_kept_record_is_scanned_in_every_field():
    record = Record(
        id=TOKEN,
        scope=Scope(agent="a", user=TOKEN),
        type=MemoryType.EPISODIC,
        content=f"note {TOKEN}",
        created_at=1,
        updated_at=1,
        metadata={"token": KEY},
        tags=(TOKEN,),
        source=TOKEN,
        session_id=TOKEN,
    )
    found = scan_record(record, Redactor())
    assert [finding.place for finding in found] == [
        "content",
        "metadata.token",
        "tags[0]",
        "source",
        "session_id",
        "id",
        "user_id",
    ]
    assert TOKEN not in repr(found)
    assert scan_record(record, Redactor(patterns=False)) == ()
