"""Tokens of an identity provider: believed when everything about them is right, and only then."""

import json
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from memorywire.model.errors import InvalidRequest
from memorywire_server.auth import OidcVerifier, Provider
from tests.http.elsewhere import NOTICED
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
            OidcVerifier(Provider(issuer=ISSUER, audience=AUDIENCE, keys=str(tmp_path / path)))


class KeyServer:
    """A provider's public keys behind TLS, with a certificate that only those trust who were told to."""

    def __init__(self, folder: Path, keys: Path) -> None:
        self.asked = 0
        self.certificate = folder / "certificate.pem"
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked += 1
                body = keys.read_bytes()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, _certified(self.certificate))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"https://localhost:{self.server.server_port}/jwks.json"


def _certified(certificate: Path) -> Path:
    """Write a certificate for this machine that signs itself; the path of its key."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate.write_bytes(signed.public_bytes(Encoding.PEM))
    path = certificate.with_name("key.pem")
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return path


@pytest.fixture
def key_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KeyServer]:
    monkeypatch.setenv("no_proxy", "*")
    running = KeyServer(tmp_path, jwks(tmp_path))
    thread = threading.Thread(target=running.server.serve_forever, args=[NOTICED])
    thread.start()
    yield running
    running.server.shutdown()
    thread.join()
    running.server.server_close()


def test_keys_at_an_https_url_are_fetched_once_from_whom_the_machine_trusts(
    key_server: KeyServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(key_server.certificate))
    with serving(provider=Provider(issuer=ISSUER, audience=AUDIENCE, keys=key_server.url)) as server:
        for name in ("ana", "ben"):
            Client(server.client.url, token(sub=name)).remember(f"{name} was here", agent="support")
        assert Client(server.client.url, token(key=OTHER)).get("/v0/capabilities").status == 401
        assert key_server.asked == 1


def test_keys_of_a_server_that_nobody_vouches_for_are_not_believed(key_server: KeyServer):
    with serving(provider=Provider(issuer=ISSUER, audience=AUDIENCE, keys=key_server.url)) as server:
        reply = Client(server.client.url, token()).get("/v0/capabilities")
        assert (reply.status, reply.json["code"]) == (401, "unauthenticated")
        assert key_server.asked == 0
        assert server.operator("own").get("/v0/capabilities").status == 200


def test_keys_that_anybody_on_the_way_could_change_are_refused():
    with pytest.raises(InvalidRequest):
        OidcVerifier(Provider(issuer=ISSUER, audience=AUDIENCE, keys="http://id.example.org/jwks.json"))
