"""Tokens that somebody else signed: those of an OpenID Connect provider, checked against its public keys."""

import asyncio
import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from memorywire.journal.operators import EVERYBODY, Operator, Role
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.runtime.http import HttpClient, HttpError

# Only signatures that a public key checks: with a shared secret, whoever checks could sign.
_ALGORITHMS = ("ES256", "ES384", "EdDSA", "PS256", "RS256", "RS384", "RS512")
_FRESH_SECONDS = 300.0
_RETRY_SECONDS = 10.0  # tokens with invented key ids must not each cause a request to the provider
_TIMEOUT = 10.0
_MOST_BYTES = 1024 * 1024
_LONGEST = 8_192
_CLAIM = "memorywire"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Who signs, for whom, and where the keys are: the path of a JWKS file, or its https URL.

    The claim `memorywire` says what the bearer may do: `{"role": "writer", "tenants": [...], "agents":
    [...]}`. Without tenants a token opens nothing.
    """

    issuer: str
    audience: str
    keys: str


class Passports:
    """Reads tokens of one provider."""

    def __init__(self, provider: Provider) -> None:
        import jwt  # installed with the extra `oidc`

        self._jwt = jwt
        self._provider = provider
        self._keys = KeySet(provider.keys, jwt)

    async def operator(self, token: str) -> Operator | None:
        """The operator that the token speaks for; None for every reason not to believe it."""
        if len(token) > _LONGEST or token.count(".") != 2:
            return None
        return await asyncio.to_thread(self._checked, token)

    def _checked(self, token: str) -> Operator | None:
        try:
            claims = self._jwt.decode(
                token,
                self._keys.find(token),
                algorithms=_ALGORITHMS,
                issuer=self._provider.issuer,
                audience=self._provider.audience,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (self._jwt.PyJWTError, InvalidRequest, UnicodeError, ValueError):
            return None
        return _operator(claims)


class KeySet:
    """The public keys of a JWKS file or https URL, read again every five minutes.

    A key id that is not in the set of a URL also reads it again, because providers rotate their keys.
    """

    def __init__(self, location: str, jwt: Any, now: Callable[[], float] = time.monotonic) -> None:
        """Raises InvalidRequest for a file that cannot be read, so that a wrong path is reported at start."""
        self._location = location
        self._jwt = jwt
        self._now = now
        self._keys: dict[str | None, Any] = {}
        self._read_at = -math.inf
        self._http: HttpClient | None = None
        if location.startswith("https://"):
            self._http = HttpClient(location, timeout=_TIMEOUT, max_bytes=_MOST_BYTES, use_proxy=True)
        else:
            self._read()

    def find(self, token: str) -> Any:
        """Return the key that the token names; the only key of a set needs no name. Raises PyJWTError."""
        age = self._now() - self._read_at
        key_id = self._jwt.get_unverified_header(token).get("kid")
        is_new = self._http is not None and key_id not in self._keys and age >= _RETRY_SECONDS
        if age >= _FRESH_SECONDS or is_new:
            self._read()
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        if key_id not in self._keys:
            raise self._jwt.PyJWKSetError("no such key")
        return self._keys[key_id]

    def _read(self) -> None:
        try:
            keys = self._jwt.PyJWKSet.from_json(self._load()).keys
        except (OSError, ValueError, self._jwt.PyJWTError) as error:
            raise InvalidRequest(
                f"cannot read the keys in {self._location}",
                field="oidc_keys",
                fix="name a JWKS file, or an https URL",
            ) from error
        self._keys = {key.key_id: key for key in keys if key.public_key_use in ("sig", None)}
        self._read_at = self._now()

    def _load(self) -> str:
        if self._http is None:
            return Path(self._location).read_text(encoding="utf-8")
        target = urlsplit(self._location)._replace(scheme="", netloc="", fragment="").geturl()
        try:
            response = self._http.request("GET", target)
        except HttpError as error:
            raise self._jwt.PyJWKClientConnectionError(error.reason) from error
        if not response.is_ok:
            raise self._jwt.PyJWKClientConnectionError(f"HTTP {response.status}")
        return response.body.decode()


def _operator(claims: Mapping[str, Json]) -> Operator | None:
    """The operator that the claim describes; what it does not say plainly is not granted."""
    granted = claims.get(_CLAIM)
    if not isinstance(granted, dict) or granted.get("role") not in [*Role]:
        return None
    tenants: Json = granted.get("tenants")
    agents: Json = granted.get("agents", list(EVERYBODY))
    if not (_patterns(tenants) and _patterns(agents)):
        return None
    return Operator(
        name=json.dumps(claims["sub"], ensure_ascii=True)[1:-1],
        role=Role(granted["role"]),
        made_at=0,
        tenants=tuple(tenants),
        agents=tuple(agents),
    )


def _patterns(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) and one for one in value)
