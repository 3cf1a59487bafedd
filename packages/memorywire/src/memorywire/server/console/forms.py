"""Forms as browsers send them: fields of text, and proof that one of our own pages sent them."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.requests import Request

from memorywire.model.errors import Forbidden, InvalidRequest, WrongMedia
from memorywire.server.http.requests import read_bytes

PROOF = "form_token"
"""The field in which every form of ours says which visit it was made for."""

_WORDS = ("content", "rule", "reason", "why")
"""Fields that a person writes more than a word into."""

_MOST_WORDS = 100_000
_MEDIA = "application/x-www-form-urlencoded"
_MOST_FIELDS = 5_000
_DIGITS = 17


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form; a field that was left empty was not given."""

    fields: Mapping[str, tuple[str, ...]]

    def get(self, name: str) -> str | None:
        return self.fields[name][-1] if name in self.fields else None

    def text(self, name: str) -> str:
        """A field that must be there."""
        found = self.get(name)
        if found is None:
            raise InvalidRequest(f"{name} is missing", field=name, fix="fill it in")
        return found

    @property
    def typed(self) -> dict[str, str]:
        """What somebody typed, and would have to type again if it were lost."""
        found = {name: self.get(name) for name in _WORDS}
        return {name: words[:_MOST_WORDS] for name, words in found.items() if words and words.strip()}

    def many(self, name: str) -> tuple[str, ...]:
        return self.fields.get(name, ())


def whole(text: str, field: str, said: str) -> int:
    """A number as an address or a form spells it; `said` is what the field is."""
    if not (text.isascii() and text.isdecimal() and len(text) < _DIGITS):
        raise InvalidRequest(said, field=field)
    return int(text)


async def read_form(request: Request, *, limit: int, seconds: float) -> Form:
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != _MEDIA:
        raise WrongMedia("the body must be a form", field="Content-Type", fix=f"send {_MEDIA}")
    body = await read_bytes(request, limit=limit, seconds=seconds)
    return parse_form(body)


def parse_form(body: bytes) -> Form:
    try:
        pairs = parse_qsl(body.decode(), errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise InvalidRequest("the form cannot be read", fix="send fewer fields, as UTF-8") from error
    fields: dict[str, tuple[str, ...]] = {}
    for name, text in pairs:
        fields[name] = (*fields.get(name, ()), text.replace("\r\n", "\n"))
    return Form(fields)


def check_origin(request: Request) -> None:
    """Raise unless the browser says that the form comes from one of our pages.

    A foreign origin was refused before; here one that says nothing at all is refused, too.
    """
    headers = request.headers
    if headers.get("sec-fetch-site") != "same-origin" and "origin" not in headers:
        raise Forbidden(
            "this form does not come from a page of the console",
            field="Origin",
            fix="use the page, or the HTTP interface",
        )
