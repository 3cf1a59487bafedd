"""Tokens that somebody else signed: those of an OpenID Connect provider, checked against its public keys."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memorywire.journal.operators import EVERYBODY, Operator, Role
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json

# Only signatures that a public key checks: with a shared secret, whoever checks could sign.
_ALGORITHMS = ("ES256", "ES384", "EdDSA", "PS256", "RS256", "RS384", "RS512")
_FRESH_SECONDS = 300.0
_TIMEOUT = 10
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
        import jwt  # installed with the extra `oidc`, and said here when it is not

        self._jwt = jwt
        self._provider = provider
        self._key: Callable[[str], Any] = (
            jwt.PyJWKClient(provider.keys, lifespan=_FRESH_SECONDS, timeout=_TIMEOUT).get_signing_key_from_jwt
            if provider.keys.startswith("https://")
            else FileKeys(provider.keys, jwt).of
        )

    async def operator(self, token: str) -> Operator | None:
        """The operator that the token speaks for; None for every reason not to believe it."""
        if len(token) > _LONGEST or token.count(".") != 2:
            return None
        return await asyncio.to_thread(self._checked, token)

    def _checked(self, token: str) -> Operator | None:
        try:
            claims = self._jwt.decode(
                token,
                self._key(token),
                algorithms=_ALGORITHMS,
                issuer=self._provider.issuer,
                audience=self._provider.audience,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (self._jwt.PyJWTError, UnicodeError, ValueError):
            return None
        return _operator(claims)


class FileKeys:
    """The keys of a JWKS file, read again from time to time; the only key of a file needs no name."""

    def __init__(self, path: str, jwt: Any, now: Callable[[], float] = time.monotonic) -> None:
        """Raises InvalidRequest when the file cannot be read, so that a wrong path is told at once."""
        self._path = path
        self._jwt = jwt
        self._now = now
        self._read()

    def of(self, token: str) -> Any:
        """The key that a token names."""
        if self._now() - self._read_at >= _FRESH_SECONDS:
            self._read()
        named = self._jwt.get_unverified_header(token).get("kid")
        if named is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        if named not in self._keys:
            raise self._jwt.PyJWKSetError("no such key")
        return self._keys[named]

    def _read(self) -> None:
        try:
            found = self._jwt.PyJWKSet.from_json(Path(self._path).read_text(encoding="utf-8"))
        except (OSError, ValueError, self._jwt.PyJWTError) as error:
            raise InvalidRequest(
                f"cannot read the keys in {self._path}",
                field="oidc_keys",
                fix="name a JWKS file, or an https URL",
            ) from error
        self._keys = {key.key_id: key for key in found.keys}
        self._read_at = self._now()


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
