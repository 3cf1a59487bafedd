"""Parameters of a request, read and checked by the published description itself."""

from collections.abc import Mapping, Sequence
from functools import cache
from urllib.parse import quote

from starlette.requests import Request

from memorywire.model.errors import InvalidJson, InvalidRequest
from memorywire.model.record import Json
from memorywire.server.http.answers import JSON
from memorywire.server.http.openapi import openapi
from memorywire.server.http.requests import is_text, path_value, query_pairs
from memorywire.wire import strict
from memorywire.wire.spec.shapes import Shapes
from memorywire.wire.validate import problem_of

DOCUMENT = "urn:memorywire:openapi"
_PROMISES = ("Idempotency-Key", "If-Match")
"""Headers that their sender relies on: where they have no meaning they are refused, not ignored."""


class Parameters:
    """What one method of one path takes besides a body."""

    def __init__(self, path: str, method: str) -> None:
        self._described: Sequence[Mapping[str, Json]] = openapi()["paths"][path][method].get("parameters", ())
        self._kinds = {one["name"]: _kind(_schema(one)) for one in self._described}
        self._by_place = {
            place: [one["name"] for one in self._described if one["in"] == place]
            for place in ("path", "query", "header")
        }
        home = f"{DOCUMENT}#/paths/{_escaped(path)}/{method}/parameters"
        places = {one["name"]: f"{home}/{at}/{_place(one)}" for at, one in enumerate(self._described)}
        self._schema: Json = {
            "properties": {name: {"$ref": place} for name, place in places.items()},
            "required": [one["name"] for one in self._described if one["required"]],
        }
        self._shape = published().of(self._schema, DOCUMENT)

    def read(self, request: Request) -> dict[str, Json]:
        """Every parameter that was sent, by name; raises InvalidRequest, naming the one that does not fit."""
        sent = self._sent(query_pairs(request)) if request.scope["query_string"] else {}
        for name in self._by_place["path"]:
            sent[name] = path_value(request, name)
        for name in self._by_place["header"]:
            if name in request.headers:
                sent[name] = request.headers[name]
        for name in _PROMISES:
            if name in request.headers and name not in self._kinds:
                raise InvalidRequest(f"{name} means nothing here", field=name, fix="send it without")
        return self._checked(sent)

    def from_query(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Json]:
        """The same of a query alone."""
        return self._checked(self._sent(pairs))

    def _sent(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Json]:
        """Each read as its schema says; nothing is ignored."""
        sent: dict[str, Json] = {}
        for name, text in pairs:
            if name not in self._by_place["query"]:
                raise InvalidRequest(f"{name} is not a field here", field=name, fix=self._known())
            kind = self._kinds[name]
            if kind.get("type") == "array":
                sent.setdefault(name, []).append(_read(_kind(kind["items"]), text, name))
            elif name in sent:
                raise InvalidRequest(f"{name} is given twice", field=name)
            else:
                sent[name] = _read(kind, text, name)
        return sent

    def _checked(self, sent: dict[str, Json]) -> dict[str, Json]:
        strict.check(sent)
        faults = self._shape.faults(sent)
        if faults:
            problem = problem_of(faults, self._schema)
            problem.fix = problem.fix or self._advice(problem.field)
            raise problem
        return sent

    def _known(self) -> str:
        names = self._by_place["query"]
        return f"there are: {', '.join(names)}" if names else "this address takes no query"

    def _advice(self, field: str | None) -> str:
        said = {one["name"]: one["description"] for one in self._described}
        return f"{field}: {said[field]}" if said.get(field) else "see /docs"


@cache
def parameters_of(path: str, method: str) -> Parameters:
    """The parameters of a described operation; the path as its template says it."""
    return Parameters(path, method.lower())


@cache
def published() -> Shapes:
    """The schemas of the published description, whose address is DOCUMENT."""
    return Shapes({DOCUMENT: openapi()}.__getitem__)


def _place(described: Mapping[str, Json]) -> str:
    return "schema" if "schema" in described else f"content/{_escaped(JSON)}/schema"


def _schema(described: Mapping[str, Json]) -> Mapping[str, Json]:
    found: Mapping[str, Json] = described["schema" if "schema" in described else "content"]
    return found if "schema" in described else found[JSON]["schema"]


def _kind(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """A schema with what it refers to filled in, to learn how its text is read."""
    while "$ref" in schema:
        found: Json = openapi()
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        schema = {**found, **{name: value for name, value in schema.items() if name != "$ref"}}
    return schema


def _escaped(step: str) -> str:
    """One step of a pointer, as a fragment of an address spells it."""
    return quote(step.replace("~", "~0").replace("/", "~1"), safe="~")


def _read(kind: Mapping[str, Json], text: str, name: str) -> Json:
    """Text as it is, everything else as JSON; what is not JSON is left for the schema to refuse."""
    if is_text(kind):
        return text
    try:
        value = strict.parse(text)
    except InvalidJson as error:
        if kind.get("type") in ("integer", "number", "boolean"):
            return text
        raise InvalidRequest(f"{name} must be JSON: {error.detail}", field=name) from error
    whole = kind.get("type") == "integer" and isinstance(value, float) and value.is_integer()
    return int(value) if whole else value  # to a schema 1.0 is an integer
