"""Tokens of an identity provider: believed when everything about them is right, and only then."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from memorywire.model.errors import InvalidRequest
from memorywire.servers.passports import Passports, Provider
from tests.http.server import Client, Server, serving

KEY, OTHER = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
ISSUER, AUDIENCE = "https://id.example.org", "memorywire"
GRANT = {"role": "writer", "tenants": ["acme"], "agents": ["support"]}


def jwks(folder: Path) -> Path:
    key = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(KEY.public_key()))
    path = folder / "jwks.json"
    path.write_text(json.dumps({"keys": [{**key, "kid": "one", "alg": "ES256", "use": "sig"}]}))
    return path


def claims(**changed: Any) -> dict[str, Any]:
    said = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ana",
        "exp": time.time() + 60,
        "memorywire": GRANT,
        **changed,
    }
    return {name: value for name, value in said.items() if value is not None}


def token(key: Any = KEY, kid: str | None = "one", algorithm: str = "ES256", **changed: Any) -> str:
    return jwt.encode(claims(**changed), key, algorithm, headers={"kid": kid} if kid else None)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    keys = jwks(tmp_path_factory.mktemp("keys"))
    with serving(provider=Provider(issuer=ISSUER, audience=AUDIENCE, keys=str(keys))) as running:
        yield running


def test_a_bearer_may_do_what_the_claim_grants_and_is_named_in_the_ledger(server: Server):
    client = Client(server.client.url, token())
    client.remember("signed elsewhere", agent="support")
    assert client.post("/v0/recall", {"agent_id": "sales", "query": "x"}).status == 403
    assert client.get("/v0/debts").status == 403
    admin = Client(server.client.url, token(kid=None, memorywire={"role": "admin", "tenants": ["acme"]}))
    entries = admin.get("/v0/audit", operation="remember").json["entries"]
    assert [entry["actor"] for entry in entries] == ["oidc:ana"]


def test_our_own_tokens_are_taken_as_well_and_nobody_comes_in_without(server: Server):
    assert server.client.get("/v0/capabilities").status == 401
    assert server.operator("own").get("/v0/capabilities").status == 200


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://evil.example.org"},
        {"aud": "another"},
        {"exp": time.time() - 3600},
        {"exp": None},
        {"sub": None},
        {"iss": None},
        {"aud": None},
        {"nbf": time.time() + 3600},
        {"memorywire": None},
        {"memorywire": {"role": "admin"}},
        {"memorywire": {"role": "king", "tenants": ["acme"]}},
        {"memorywire": {"role": "admin", "tenants": []}},
        {"memorywire": {"role": "admin", "tenants": "acme"}},
        {"memorywire": {"role": ["admin"], "tenants": ["acme"]}},
        {"memorywire": "admin"},
        {"key": OTHER},
        {"kid": "two"},
    ],
    ids=lambda changed: "-".join(changed),
)
def test_what_is_not_right_is_not_believed(server: Server, changed: dict[str, Any]):
    assert Client(server.client.url, token(**changed)).get("/v0/capabilities").status == 401


def test_a_token_without_a_signature_or_with_a_shared_secret_is_not_believed(server: Server):
    unsigned = jwt.encode(claims(), None, "none")
    secret = jwt.encode(claims(), "x" * 32, "HS256", headers={"kid": "one"})
    changed = token()[:-8] + "AAAAAAAA"
    for bad in (unsigned, secret, changed, "a.b.c", "..", token() + "x" * 9000):
        assert Client(server.client.url, bad).get("/v0/capabilities").status == 401


def test_keys_that_cannot_be_read_are_told_at_once(tmp_path: Path):
    (tmp_path / "bad.json").write_text("{}")
    for path in ("nothing.json", "bad.json"):
        with pytest.raises(InvalidRequest):
            Passports(Provider(issuer=ISSUER, audience=AUDIENCE, keys=str(tmp_path / path)))
