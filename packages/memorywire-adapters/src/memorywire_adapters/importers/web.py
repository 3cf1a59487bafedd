"""Calls the APIs of other products: JSON over HTTP, without redirects."""

import json
from collections.abc import Iterator, Mapping
from typing import ClassVar
from urllib.parse import urlencode, urlsplit

from msgspec import field

from memorywire.model.codec import parse_json
from memorywire.model.errors import InvalidRequest, StoreCorrupt, StoreUnavailable
from memorywire.model.record import Json
from memorywire.model.secrets import Confidential
from memorywire.runtime import http

_TIMEOUT_SECONDS = 60.0
_BYTES_MAX = 256 * 1024 * 1024
_MISSING = 404
_REFUSED = (401, 403)
_PAGE = 100
_JSON = {"accept": "application/json", "content-type": "application/json"}


class Site(Confidential, frozen=True, kw_only=True):
    """The address of a service and the headers sent with each request. Its methods block."""

    HIDDEN: ClassVar = frozenset({"headers"})

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def get(self, path: str, **parameters: Json) -> Json:
        return self._request("GET", path, parameters, None)

    def post(self, path: str, body: Json, **parameters: Json) -> Json:
        return self._request("POST", path, parameters, json.dumps(body).encode())

    def has(self, path: str) -> bool:
        """Return whether the service has this path: any status but 404."""
        return self._send("GET", path, {}, None)[0] != _MISSING

    def pages(self, path: str, **parameters: Json) -> Iterator[Mapping[str, Json]]:
        """Yield the items of a paginated list; each next page starts after the id of the last item."""
        after: dict[str, Json] = {}
        while page := self.get(path, limit=_PAGE, **parameters, **after):
            items = _check_list(page)
            yield from items
            if len(items) < _PAGE:
                return
            after = {"after": items[-1]["id"]}

    def _request(self, verb: str, path: str, parameters: Mapping[str, Json], body: bytes | None) -> Json:
        status, body_text = self._send(verb, path, parameters, body)
        if status in _REFUSED:
            raise InvalidRequest(
                f"the service refused the request: {status}",
                field="key",
                fix="set its API key in the environment",
            )
        if status not in range(200, 300):
            raise StoreUnavailable(f"the service answered {path} with {status}", field="url")
        try:
            return parse_json(body_text)
        except ValueError as error:
            raise StoreCorrupt(f"the service answered {path} with something that is not JSON") from error

    def _send(
        self, verb: str, path: str, parameters: Mapping[str, Json], body: bytes | None
    ) -> tuple[int, bytes]:
        url = f"{self.url.rstrip('/')}{path}" + (f"?{urlencode(parameters)}" if parameters else "")
        headers = {**_JSON, **self.headers}
        try:
            response = http.request(verb, url, body, headers, timeout=_TIMEOUT_SECONDS, max_bytes=_BYTES_MAX)
        except http.HttpError as error:
            raise StoreUnavailable(
                f"{urlsplit(self.url).hostname} does not answer: {error.reason}",
                field="url",
                fix="check that the service runs",
            ) from error
        return response.status, response.body


def _check_list(page: Json) -> list[Mapping[str, Json]]:
    if not isinstance(page, list) or not all(isinstance(item, dict) for item in page):
        raise StoreCorrupt("the service answered with something that is not a list of items")
    return page
