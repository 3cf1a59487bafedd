"""The redactor: secrets in a text or in a JSON value become `[REDACTED:label]`."""

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from memorywire.model.record import Json
from memorywire.model.values import dataclass
from memorywire.policy.redact.announced import find_announced
from memorywire.policy.redact.gate import is_innocent
from memorywire.policy.redact.known import Known
from memorywire.policy.redact.personal import find_personal
from memorywire.policy.redact.places import find_placed, holds_a_secret, is_ordinary
from memorywire.policy.redact.rules import Rank, Span, compiled, find_issued, image, legible
from memorywire.policy.redact.shapes import find_shapes
from memorywire.policy.redact.views import is_broken, joined, unbroken, unmasked

_NOTHING: Mapping[str, str] = MappingProxyType({})
_ENCODED = r"[A-Za-z0-9+/_-]{24,}={0,2}"
_MOST_NAMES, _SHORT_NAME = 4096, 256


@dataclass(frozen=True, slots=True)
class Finding:
    """What kind of secret was found, and where; never the secret."""

    kind: str
    place: str


class Redactor:
    """Finds the secrets a host registered (label to value) and, with `patterns`, those that show.

    With `personal`, personal data is found, too: cards, accounts, national ids, phone numbers and e-mail
    addresses. Redacting what was redacted changes nothing.
    """

    def __init__(
        self, known: Mapping[str, str] = _NOTHING, *, patterns: bool = True, personal: bool = False
    ) -> None:
        self._known = Known(known)
        self._personal = personal
        self._patterns = patterns
        # Names of agents and users come again and again.
        self._clean_names: set[str] = set()
        self._innocent_names: set[str] = set()

    def finds_nothing(self, names: Iterable[str | None], values: Iterable[Json]) -> bool:
        """Whether a glance shows that these names and values hold no secret; False says nothing."""
        if not self._patterns or self._known or self._personal:
            return False
        new = [name for name in names if name is not None and name not in self._innocent_names]
        innocent = is_innocent(new, values)
        if innocent:
            _learn(new, self._innocent_names)
        return innocent

    def text(self, text: str) -> tuple[str, tuple[str, ...]]:
        """The text without its secrets, and the kinds that were found."""
        return _without(text, self._found(text))

    def identifier(self, text: str) -> tuple[str, tuple[str, ...]]:
        """As `text`, for a name or an id, which may be random: only certain secrets are taken out."""
        if text in self._clean_names:
            return text, ()
        shown = legible(text)
        clean, kinds = _without(text, [*self._certain(shown), *self._known.find_disguised(shown)])
        if not kinds:
            _learn((text,), self._clean_names)
        return clean, kinds

    def json(self, value: Json, place: str) -> tuple[Json, tuple[Finding, ...]]:
        """The value without its secrets at any depth, in values and in keys."""
        found: list[Finding] = []
        clean = self._clean(value, place, "", found)
        return clean, tuple(dict.fromkeys(found))

    def _clean(self, value: Json, place: str, name: str, found: list[Finding]) -> Json:
        if isinstance(value, str):
            clean, kinds = self._field(name, value)
            found += [Finding(kind, place) for kind in kinds]
            return clean
        if isinstance(value, Mapping):
            return self._clean_mapping(value, place, found)
        if isinstance(value, list | tuple):
            return [self._clean(inner, f"{place}[{at}]", name, found) for at, inner in enumerate(value)]
        return self._clean_number(value, place, found)

    def _clean_mapping(self, value: Mapping[str, Json], place: str, found: list[Finding]) -> Json:
        clean: dict[str, Json] = {}
        for key, inner in value.items():
            shown, kinds = self.identifier(key)
            found += [Finding(kind, f"{place} keys") for kind in kinds]
            clean[_free(shown, clean)] = self._clean(inner, f"{place}.{shown}", key, found)
        return clean

    def _clean_number(self, value: Json, place: str, found: list[Finding]) -> Json:
        """Redact a number that is a registered secret: one of digits only may arrive as a number."""
        if isinstance(value, bool) or value is None:
            return value
        clean, kinds = _without(str(value), list(self._known.find(str(value))))
        found += [Finding(kind, place) for kind in kinds]
        return clean if kinds else value

    def _field(self, name: str, value: str) -> tuple[str, tuple[str, ...]]:
        """Redact a value that is read together with its name, which tells as much as a sentence would."""
        if not name or is_ordinary(name):
            return self.text(value)
        lead = len(name) + 2
        spans = [
            replace(span, start=max(0, span.start - lead), end=span.end - lead)
            for span in self._found(f"{name}: {value}")
            if span.end > lead
        ]
        if self._patterns and holds_a_secret(name, value):
            spans.append(Span(0, len(value), "assigned-secret", Rank.CONTEXT))
        return _without(value, spans)

    def _found(self, text: str) -> list[Span]:
        """All spans in the text as it stands, and with its disguises undone."""
        text = legible(text)
        found = [*self._certain(text), *self._known.find_disguised(text), *self._likely(text)]
        if self._personal:
            found += find_personal(text)
        unveiled = unmasked(text)
        if unveiled is not None:
            found += map(unveiled.back, (*self._certain(unveiled.text), *self._likely(unveiled.text)))
        lines = joined(text) if is_broken(text) and any(self._certain(unbroken(text))) else None
        if lines is not None:
            found += _only_across(map(lines.back, self._certain(lines.text)), found, len(text))
        return found

    def _certain(self, text: str) -> Iterator[Span]:
        """Spans of registered secrets, and of forms that only one issuer makes."""
        yield from self._known.find(text)
        if self._patterns:
            yield from find_issued(text, image(text))

    def _likely(self, text: str) -> Iterator[Span]:
        """Spans that a place or a shape gives away."""
        if not self._patterns:
            return
        seen = image(text)
        yield from find_placed(text, seen)
        yield from find_shapes(text, seen)
        yield from find_announced(text)
        yield from _encoded(text, seen)


def _learn(names: Iterable[str], known: set[str]) -> None:
    """Remember short names in which nothing was found."""
    for name in names:
        if len(name) <= _SHORT_NAME:
            if len(known) >= _MOST_NAMES:
                known.clear()
            known.add(name)


def _only_across(spans: Iterable[Span], found: Iterable[Span], length: int) -> list[Span]:
    """The spans of joined lines that no line shows by itself; registered secrets count in any case."""
    whole = bytearray(length)
    for span in found:
        if span.rank >= Rank.ISSUER:
            whole[span.start : span.end] = b"\1" * (span.end - span.start)
    return [span for span in spans if span.rank is Rank.REGISTERED or 1 not in whole[span.start : span.end]]


def _encoded(text: str, seen: bytes) -> Iterator[Span]:
    """Runs of base64 that hold a text in which a secret shows."""
    for found in compiled(_ENCODED).finditer(seen):
        said = _decoded(found.group())
        if not said:
            continue
        inside = (*find_issued(said, image(said)), *find_placed(said, image(said)))
        for span in inside[:1]:
            yield replace(span, start=found.start(), end=found.end())


def _decoded(run: bytes) -> str:
    """The text that base64 hides; nothing if it hides none."""
    body = run.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
    try:
        said = base64.b64decode(body + b"=" * (-len(body) % 4)).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return said if all(char.isprintable() or char.isspace() for char in said) else ""


def _without(text: str, spans: list[Span]) -> tuple[str, tuple[str, ...]]:
    """The text with a marker for each span; overlapping spans become one, with the highest-ranked name."""
    pieces, kinds, at = [], [], 0
    for span in _merged(spans):
        pieces += [text[at : span.start], f"[REDACTED:{span.label}]"]
        kinds.append(span.label)
        at = span.end
    return "".join((*pieces, text[at:])), tuple(dict.fromkeys(kinds))


def _merged(spans: list[Span]) -> Iterator[Span]:
    waiting: Span | None = None
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if waiting is None:
            waiting = span
        elif span.overlaps(waiting):
            best = max(waiting, span, key=lambda one: (one.rank, one.end - one.start))
            waiting = replace(best, start=waiting.start, end=max(waiting.end, span.end))
        else:
            yield waiting
            waiting = span
    if waiting is not None:
        yield waiting


def _free(key: str, taken: Mapping[str, Json]) -> str:
    """The key, numbered if another key reads the same after redaction."""
    if key not in taken:
        return key
    return next(name for number in range(2, len(taken) + 3) if (name := f"{key} {number}") not in taken)
