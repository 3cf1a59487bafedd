"""The redactor: replaces secrets in a text or a JSON value by `[REDACTED:label]`."""

import base64
import binascii
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import filterfalse
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.errors import SecretLeakage
from memorywire.model.lookalikes import ignorable_class
from memorywire.model.record import Json, Record
from memorywire.model.requests import Remember
from memorywire.policy.redact.known import Known
from memorywire.policy.redact.personal import find_personal
from memorywire.policy.redact.places import (
    IN_ASCII,
    NAMES,
    PLACES,
    find_announced,
    find_placed,
    holds_a_secret,
    is_ordinary,
)
from memorywire.policy.redact.rules import (
    ANY_RUN,
    ISSUERS,
    Rank,
    Span,
    compile_pattern,
    find_issued,
    find_shapes,
    image,
    legible,
)

_MORE_TWINS = ("ВКМНТвкмнтԁһӏԛԝΒΕΖΗΚΜΝΡΤΥΧ", "BKMHTBKMHTdhlqwBEZHKMNPTYX")
"""Letters that look like Latin ones, in addition to those of Unicode's table."""

_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_MARKS = "\u0300-\u036f\u20d0-\u20f0"  # combining marks, such as strokes
_ENDS = "\u2028\u2029"
_WIDE = "\uff0d\uff10-\uff19\uff21-\uff3a\uff3f\uff41-\uff5a\U0001d400-\U0001d7ff"
_BEFORE_BREAK, _AFTER_BREAK = " \t\r\\", " \t>|+*\"'`"
_BREAK = re.compile(rf"(?:\n|\\n)[{_AFTER_BREAK}]*")


class View(Struct, frozen=True):
    """A text with gaps removed; its pieces begin at `starts`, in the original text at `origins`."""

    text: str
    starts: Sequence[int]
    origins: Sequence[int]

    def back(self, span: Span) -> Span:
        """Map a span of the view to the span in the original text."""
        return replace(span, start=self._origin(span.start), end=self._origin(span.end - 1) + 1)

    def _origin(self, at: int) -> int:
        piece = bisect_right(self.starts, at) - 1
        return self.origins[piece] + at - self.starts[piece]


def is_broken(text: str) -> bool:
    """Whether the text has more than one line, by a line break or an escaped one."""
    return "\n" in text or "\\n" in text


def join_breaks(text: str) -> View:
    """Join the lines, without line breaks and the white space or quote marks around them."""
    gaps = []
    for match in _BREAK.finditer(text):
        start, end = match.span()
        while start and text[start - 1] in _BEFORE_BREAK:
            start -= 1
        gaps.append((start, end))
    return _cut_out(gaps, text)


def unbroken(text: str) -> str:
    """Return only the text of `join_breaks`; its map to the original takes ten times as long."""
    lines = text.replace("\\n", "\n").split("\n")
    return "".join([line.rstrip(_BEFORE_BREAK).lstrip(_AFTER_BREAK) for line in lines])


def _cut_out(gaps: Sequence[tuple[int, int]], text: str) -> View:
    pieces, starts, origins = [], [], []
    at = length = 0
    for start, end in (*gaps, (len(text), len(text))):
        if start > at:
            pieces.append(text[at:start])
            starts.append(length)
            origins.append(at)
            length += start - at
        at = max(at, end)
    return View("".join(pieces), starts, origins)


@cache
def _invisible() -> re.Pattern[str]:
    """Compile a pattern for invisible characters, from Unicode's table of ignorable ones."""
    from memorywire.model.unicode_tables import DEFAULT_IGNORABLE

    ranges = "".join(f"{chr(low)}-{chr(high)}" for low, high in DEFAULT_IGNORABLE)
    return re.compile(f"[{ranges}{_ENDS}{_MARKS}{_CONTROLS}]+")


@cache
def _compile_disguised() -> Any:
    import re2

    characters = f"{ignorable_class()}{_ENDS}{_MARKS}\\x00-\\x08\\x0e-\\x1f\\x7f-\\x{{9f}}"
    foreign = "".join(f"\\x{{{code:x}}}" for code, face in _faces().items() if face.isalnum())
    return re2.compile(
        f"[!-~][{characters}]+[!-~]|[{_WIDE}]|[0-9A-Za-z_]-?[{foreign}]|[{foreign}]-?[0-9A-Za-z_]"
    )


@cache
def _faces() -> dict[int, str]:
    """Map characters that look like a Latin one to that Latin character."""
    from memorywire.model.unicode_tables import LOOKALIKES

    wide = (
        chr(code) for first, last in ((0xFF01, 0xFF5E), (0x1D400, 0x1D7FF)) for code in range(first, last + 1)
    )
    plain = {ord(char): unicodedata.normalize("NFKC", char) for char in wide}
    twins = {ord(char): face for face, chars in LOOKALIKES.items() if face.isalnum() for char in chars}
    more = {ord(char): face for char, face in zip(*_MORE_TWINS, strict=True)}
    return {code: char for code, char in (twins | plain | more).items() if len(char) == 1}


_SILENT = frozenset({int, float, bool, type(None)})  # types whose values contain no text


def _gather(value: Json, name: str, keys: list[str], texts: list[str]) -> None:
    """Collect texts with their names; separately keys and joined lines, checked for issuers' forms only."""
    if isinstance(value, str):
        text = f"{name}: {value}" if name else value
        texts.append(text)
        if is_broken(text):
            keys.append(unbroken(text))
    elif type(value) is dict or isinstance(value, Mapping):  # the second check is slow
        for key, inner in value.items():
            keys.append(key)
            if type(inner) not in _SILENT:
                _gather(inner, key, keys, texts)
    elif isinstance(value, list | tuple):
        for inner in value:
            _gather(inner, name, keys, texts)


_TELLING = (ANY_RUN, "-----BEGIN ", IN_ASCII, *(rule.pattern for rule in PLACES))
_TELLING_NAMES = (NAMES, *(rule.pattern for rule in ISSUERS))


@cache
def _compile_any(patterns: tuple[str, ...]) -> Any:
    import re2

    options = re2.Options()
    options.max_mem = 64 << 20
    options.never_capture = True
    either = re2.Set.SearchSet(options)
    either.Add("|".join(f"(?:{pattern})" for pattern in patterns))
    either.Compile()
    return either


_ENCODED = r"[A-Za-z0-9+/_-]{24,}={0,2}"
_MOST_NAMES, _SHORT_NAME = 4096, 256


class Finding(Struct, frozen=True):
    """The kind and the place of a secret that was found; never the secret itself."""

    kind: str
    place: str


class Redactor:
    """Finds the secrets a host registered (label to value) and, with `patterns`, recognisable secrets.

    With `personal`, it also finds personal data: card and account numbers, national ids, phone numbers and
    e-mail addresses. Redaction is idempotent.
    """

    def __init__(
        self,
        known: Mapping[str, str] = MappingProxyType({}),
        *,
        patterns: bool = True,
        personal: bool = False,
    ) -> None:
        self._known = Known(known)
        self._has_known = bool(self._known)
        self._personal = personal
        self._patterns = patterns
        # Names of agents and users recur, so the results are cached.
        self._clean_names: set[str] = set()
        self._innocent_names: set[str] = set()

    def finds_nothing(self, names: Iterable[str | None], values: Iterable[Json]) -> bool:
        """Whether a fast scan shows that these names and values have no secret; False is inconclusive.

        All texts are scanned as lines of one text. No rule looks beyond the line of a secret, so a pattern
        that matches in a text also matches in these lines. Non-ASCII text may be disguised.
        """
        if not self._patterns or self._has_known or self._personal:
            return False
        keys, texts = [*filterfalse(self._innocent_names.__contains__, filter(None, names))], list[str]()
        new = len(keys)
        for value in values:
            if value:  # most fields of a request are empty
                _gather(value, "", keys, texts)
        words, identifiers = "\n".join(texts), "\n".join(dict.fromkeys(keys))
        if not (words.isascii() and identifiers.isascii()) or _compile_any(_TELLING).Match(words.encode()):
            return False
        if identifiers and _compile_any(_TELLING_NAMES).Match(identifiers.encode()):
            return False
        if new:
            _learn(keys[:new], self._innocent_names)
        return True

    def text(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Redact a text; returns it with the kinds of secrets found."""
        return _without(text, self._find_spans(text))

    def identifier(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Like `text`, for a name or an id, which may be random: redacts only certain secrets."""
        if text in self._clean_names:
            return text, ()
        visible = legible(text)
        clean, kinds = _without(text, [*self._certain(visible), *self._known.find_disguised(visible)])
        if not kinds:
            _learn((text,), self._clean_names)
        return clean, kinds

    def json(self, value: Json, place: str) -> tuple[Json, tuple[Finding, ...]]:
        """Redact a JSON value at any depth, in values and keys; returns it with the findings."""
        findings: list[Finding] = []
        clean = self._clean(value, place, "", findings)
        return clean, tuple(dict.fromkeys(findings))

    def _clean(self, value: Json, place: str, name: str, findings: list[Finding]) -> Json:
        if isinstance(value, str):
            clean, kinds = self._field(name, value)
            findings += [Finding(kind, place) for kind in kinds]
            return clean
        if isinstance(value, Mapping):
            result: dict[str, Json] = {}
            for key, inner in value.items():
                visible, kinds = self.identifier(key)
                findings += [Finding(kind, f"{place} keys") for kind in kinds]
                result[_free(visible, result)] = self._clean(inner, f"{place}.{visible}", key, findings)
            return result
        if isinstance(value, list | tuple):
            return [self._clean(inner, f"{place}[{at}]", name, findings) for at, inner in enumerate(value)]
        if isinstance(value, bool) or value is None:
            return value
        # A registered secret of digits may be sent as a number.
        clean, kinds = _without(str(value), list(self._known.find(str(value))))
        findings += [Finding(kind, place) for kind in kinds]
        return clean if kinds else value

    def _field(self, name: str, value: str) -> tuple[str, tuple[str, ...]]:
        """Redact a value with its field name as context, which is as informative as a sentence."""
        if not name or is_ordinary(name):
            return self.text(value)
        lead = len(name) + 2
        spans = [
            replace(span, start=max(0, span.start - lead), end=span.end - lead)
            for span in self._find_spans(f"{name}: {value}")
            if span.end > lead
        ]
        if self._patterns and holds_a_secret(name, value):
            spans.append(Span(0, len(value), "assigned-secret", Rank.CONTEXT))
        return _without(value, spans)

    def _find_spans(self, text: str) -> list[Span]:
        """Find all spans in the text itself, and in its forms with disguises undone."""
        text = legible(text)
        spans = [*self._certain(text), *self._known.find_disguised(text), *self._likely(text)]
        if self._personal:
            spans += find_personal(text)
        if not text.isascii() and _compile_disguised().search(text):
            # Remove invisible characters, and unify widths and look-alike scripts.
            gaps = [match.span() for match in _invisible().finditer(text)]
            view = _cut_out(gaps, text.translate(_faces()))
            spans += map(view.back, (*self._certain(view.text), *self._likely(view.text)))
        if is_broken(text) and any(self._certain(unbroken(text))):
            lines = join_breaks(text)
            spans += _only_across(map(lines.back, self._certain(lines.text)), spans, len(text))
        return spans

    def _certain(self, text: str) -> Iterator[Span]:
        """Yield spans of registered secrets, and of formats that only one issuer uses."""
        yield from self._known.find(text)
        if self._patterns:
            yield from find_issued(text, image(text))

    def _likely(self, text: str) -> Iterator[Span]:
        """Yield spans that look like secrets by their context or shape."""
        if not self._patterns:
            return
        view = image(text)
        yield from find_placed(text, view)
        yield from find_shapes(text, view)
        yield from find_announced(text)
        yield from _find_encoded(text, view)


def _learn(names: Iterable[str], vocabulary: set[str]) -> None:
    """Cache short names in which nothing was found."""
    for name in names:
        if len(name) <= _SHORT_NAME:
            if len(vocabulary) >= _MOST_NAMES:
                vocabulary.clear()
            vocabulary.add(name)


def _only_across(spans: Iterable[Span], inner: Iterable[Span], length: int) -> list[Span]:
    """Return the spans of joined lines that no single line has; registered secrets are always included."""
    whole = bytearray(length)
    for span in inner:
        if span.rank >= Rank.ISSUER:
            whole[span.start : span.end] = b"\1" * (span.end - span.start)
    return [span for span in spans if span.rank is Rank.REGISTERED or 1 not in whole[span.start : span.end]]


def _find_encoded(text: str, view: bytes) -> Iterator[Span]:
    """Yield runs of base64 whose decoded text contains a secret."""
    for match in compile_pattern(_ENCODED).finditer(view):
        body = match.group().rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
        try:
            plain = base64.b64decode(body + b"=" * (-len(body) % 4)).decode("ascii")
        except (binascii.Error, UnicodeDecodeError):
            continue
        if all(char.isprintable() or char.isspace() for char in plain):
            inside = (*find_issued(plain, image(plain)), *find_placed(plain, image(plain)))
            for span in inside[:1]:
                yield replace(span, start=match.start(), end=match.end())


def _without(text: str, spans: list[Span]) -> tuple[str, tuple[str, ...]]:
    """Replace each span by a marker; overlapping spans become one, with the highest-ranked label."""
    disjoint: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if disjoint and span.overlaps(disjoint[-1]):
            last = disjoint.pop()
            best = max(last, span, key=lambda one: (one.rank, one.end - one.start))
            span = replace(best, start=last.start, end=max(last.end, span.end))
        disjoint.append(span)
    pieces, at = [], 0
    for span in disjoint:
        pieces += [text[at : span.start], f"[REDACTED:{span.label}]"]
        at = span.end
    return "".join((*pieces, text[at:])), tuple(dict.fromkeys(span.label for span in disjoint))


def _free(key: str, mapping: Mapping[str, Json]) -> str:
    """Return the key, with a number if another key is equal after redaction."""
    if key not in mapping:
        return key
    return next(name for number in range(2, len(mapping) + 3) if (name := f"{key} {number}") not in mapping)


def redact_remember(request: Remember, redactor: Redactor) -> tuple[Remember, tuple[Finding, ...]]:
    """Redact a request; returns it with the findings. Raises SecretLeakage for a secret in an id."""
    if are_innocent((request,), redactor):
        return request, ()
    lists = {"supersedes": request.supersedes, "derived_from": request.derived_from}
    links = {f"{field}.{at}": id for field, ids in lists.items() for at, id in enumerate(ids)}
    names = {"id": request.id, "idempotency_key": request.idempotency_key, "slot": request.slot}
    owners = {"agent_id": request.scope.agent, "user_id": request.scope.user}
    for place, name in (names | owners | links).items():
        for kind in () if name is None else redactor.identifier(name)[1]:
            raise SecretLeakage(
                f"{place} holds a secret ({kind}), and an id cannot be rewritten",
                field=place,
                fix="choose an id that says nothing, and change the secret where it is used: it was sent",
            )
    clean, findings = _redact_fields(request, redactor)
    intent, more = redactor.json(request.privacy_intent, "privacy_intent")
    reasoning, others = redactor.json(request.reasoning, "reasoning")
    findings += (*more, *others)
    beside = {"privacy_intent": intent, "reasoning": reasoning}
    return (replace(request, **clean, **beside) if findings else request), tuple(findings)


def are_innocent(requests: Sequence[Remember], redactor: Redactor) -> bool:
    """Whether one scan shows that `redact_remember` would find nothing in these; False is inconclusive."""
    names: list[str | None] = []
    texts: list[Json] = []
    for one in requests:
        names += (one.scope.agent, one.scope.user, one.slot, one.id, one.idempotency_key, one.source)
        names += (one.session_id, *one.supersedes, *one.derived_from)
        texts += (one.content, one.metadata, one.tags, one.privacy_intent, one.reasoning)
    return redactor.finds_nothing(names, texts)


def scan_record(record: Record, redactor: Redactor) -> tuple[Finding, ...]:
    """Find the secrets in a stored record, including its ids."""
    _, findings = _redact_fields(record, redactor)
    names = {"id": record.id, "agent_id": record.scope.agent, "user_id": record.scope.user}
    for place, name in names.items():
        findings += [Finding(kind, place) for kind in (() if name is None else redactor.identifier(name)[1])]
    return tuple(findings)


def _redact_fields(subject: Remember | Record, redactor: Redactor) -> tuple[dict[str, Any], list[Finding]]:
    """Redact the text fields of a request or a record; returns them by name, with the findings."""
    clean: dict[str, Any] = {}
    findings: list[Finding] = []
    for field in ("content", "metadata", "tags"):
        clean[field], more = redactor.json(getattr(subject, field), field)
        findings += more
    clean["tags"] = tuple(dict.fromkeys(clean["tags"]))  # redaction can make two tags equal
    for field in ("source", "session_id"):
        if (name := getattr(subject, field)) is not None:
            clean[field], kinds = redactor.identifier(name)
            findings += [Finding(kind, field) for kind in kinds]
    return clean, findings
