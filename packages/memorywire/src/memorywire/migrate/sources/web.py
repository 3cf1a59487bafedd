"""Services of other products, asked over HTTP: a JSON question, a JSON answer, nothing followed elsewhere."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from memorywire.model.errors import InvalidRequest, StoreCorrupt, StoreUnavailable
from memorywire.model.jsontext import parse_json
from memorywire.model.record import Json
from memorywire.runtime import http

_PATIENCE = 60.0  # seconds
_MOST_BYTES = 256 * 1024 * 1024
_MISSING = 404
_REFUSED = (401, 403)
_PAGE = 100
_JSON = {"accept": "application/json", "content-type": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The address of a service, and what every question carries. Blocks: it is for a thread."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def get(self, path: str, **asked: Json) -> Json:
        return self._answered("GET", path, asked, None)

    def post(self, path: str, body: Json, **asked: Json) -> Json:
        return self._answered("POST", path, asked, json.dumps(body).encode())

    def has(self, path: str) -> bool:
        """Whether the service knows this path at all."""
        return self._asked("GET", path, {}, None)[0] != _MISSING

    def pages(self, path: str, **asked: Json) -> Iterator[Mapping[str, Json]]:
        """The items of a list that is continued behind the id of its last item."""
        after: dict[str, Json] = {}
        while page := self.get(path, limit=_PAGE, **asked, **after):
            items = _listed(page)
            yield from items
            if len(items) < _PAGE:
                return
            after = {"after": items[-1]["id"]}

    def _answered(self, verb: str, path: str, asked: Mapping[str, Json], body: bytes | None) -> Json:
        status, said = self._asked(verb, path, asked, body)
        if status in _REFUSED:
            raise InvalidRequest(
                f"the service refuses: {status}", field="key", fix="give its key in the environment"
            )
        if status not in range(200, 300):
            raise StoreUnavailable(f"the service answered {path} with {status}", field="url")
        try:
            return parse_json(said)
        except ValueError as error:
            raise StoreCorrupt(f"the service answered {path} with something that is no JSON") from error

    def _asked(
        self, verb: str, path: str, asked: Mapping[str, Json], body: bytes | None
    ) -> tuple[int, bytes]:
        url = f"{self.url.rstrip('/')}{path}" + (f"?{urlencode(asked)}" if asked else "")
        headers = {**_JSON, **self.headers}
        try:
            response = http.request(verb, url, body, headers, timeout=_PATIENCE, max_bytes=_MOST_BYTES)
        except http.HttpError as error:
            raise StoreUnavailable(
                f"nobody answers at {urlsplit(self.url).hostname}: {error.reason}",
                field="url",
                fix="check that the service runs",
            ) from error
        return response.status, response.body


def _listed(page: Json) -> list[Mapping[str, Json]]:
    if not isinstance(page, list) or not all(isinstance(item, dict) for item in page):
        raise StoreCorrupt("the service answered with something that is no list of items")
    return page
