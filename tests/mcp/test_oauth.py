"""Signing in: a client without a token finds the provider by the challenge and the metadata alone."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.client.auth.utils import (
    build_protected_resource_metadata_discovery_urls,
    extract_resource_metadata_from_www_auth,
)
from mcp.shared.auth import ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed

from memorywire_server.auth import Provider
from memorywire_server.mcp.mount import METADATA, PATH, mcp_mount, metadata_mount
from tests.http.server import Client, Server, serving
from tests.http.test_passports import AUDIENCE, ISSUER, jwks, token
from tests.mcp.test_sessions import ACCEPT, INITIALIZE


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    keys = jwks(tmp_path_factory.mktemp("keys"))
    provider = Provider(issuer=ISSUER, audience=AUDIENCE, keys=str(keys))

    def mounts(container: Any) -> list[Any]:
        return [mcp_mount(container, provider=provider), metadata_mount(provider, PATH)]

    with serving(provider=provider, mounts=mounts) as running:
        yield running


def challenge(client: Client, **headers: str) -> tuple[int, str]:
    reply = client.post(PATH, INITIALIZE, Accept=ACCEPT, **headers)
    return reply.status, reply.headers.get("www-authenticate", "")


def test_a_client_finds_the_provider_and_comes_in_with_its_token(server: Server):
    url = f"{server.client.url}{PATH}"
    status, told = challenge(server.client)
    answer: Any = SimpleNamespace(status_code=status, headers={"WWW-Authenticate": told})
    metadata_url = extract_resource_metadata_from_www_auth(answer)
    assert (status, metadata_url) == (401, f"{server.client.url}{METADATA}{PATH}")
    for known in build_protected_resource_metadata_discovery_urls(metadata_url, url):
        reply = server.client.get(known.removeprefix(server.client.url))
        metadata = ProtectedResourceMetadata.model_validate_json(reply.body)
        assert reply.status == 200
        assert [str(one).rstrip("/") for one in metadata.authorization_servers] == [ISSUER]
        assert check_resource_allowed(requested_resource=url, configured_resource=str(metadata.resource))
    signed = Client(server.client.url, token(memorywire={"role": "agent", "tenants": ["acme"]}))
    assert challenge(signed) == (200, "")


def test_a_token_that_is_not_taken_is_said_to_be_invalid(server: Server):
    status, told = challenge(Client(server.client.url, "mw_wrong"))
    assert (status, 'error="invalid_token"' in told) == (401, True)
    assert challenge(server.client)[1].count("error=") == 0


def test_behind_tls_the_addresses_are_of_the_proxy(server: Server):
    _, told = challenge(server.client, X_Forwarded_Proto="https")
    assert 'resource_metadata="https://' in told
    reply = server.client.send("GET", f"{METADATA}{PATH}", headers={"X-Forwarded-Proto": "https"})
    assert reply.json["resource"] == f"{server.client.url.replace('http:', 'https:')}{PATH}"


def test_an_audience_that_is_a_url_of_this_server_is_the_resource(tmp_path: Path):
    for audience, resource in (
        ("https://memory.example.org/mcp", "https://memory.example.org/mcp"),
        ("https://memory.example.org", "https://memory.example.org"),
        ("https://other.example.org", "https://memory.example.org/mcp"),
    ):
        provider = Provider(issuer=ISSUER, audience=audience, keys=str(jwks(tmp_path)))
        mounted = [metadata_mount(provider, PATH)]
        names = ("memory.example.org",)
        with serving(provider=provider, mounts=lambda _, found=mounted: found, hosts=names) as server:
            headers = {"Host": "memory.example.org", "X-Forwarded-Proto": "https"}
            reply = server.client.send("GET", f"{METADATA}{PATH}", headers=headers)
            assert reply.json["resource"] == resource


def test_the_metadata_has_two_addresses_and_is_only_read(server: Server):
    assert server.client.get(f"{METADATA}/elsewhere").status == 404
    assert server.client.post(METADATA, {}).status == 405


def test_without_a_provider_there_is_nobody_to_sign_in_with():
    with serving(mounts=lambda container: [mcp_mount(container)]) as server:
        server.operator("ana")
        assert challenge(server.client) == (401, "Bearer")
        assert server.client.get(METADATA).status in (401, 404)
