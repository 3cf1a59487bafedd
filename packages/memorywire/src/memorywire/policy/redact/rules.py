"""Rules that recognise a secret by its format, based on the documentation of its issuer."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from functools import cache
from typing import Any

from msgspec import Struct

from memorywire.policy.redact.looks import is_hex, is_mixed, is_placeholder, is_random, parts, uuid_start


class Rank(IntEnum):
    """The certainty of a rule: if several rules find the same span, the label of the highest rank is used."""

    SHAPE = 0
    CONTEXT = 1
    ISSUER = 2
    REGISTERED = 3


class Span(Struct, frozen=True):
    """The place and the label of a secret."""

    start: int
    end: int
    label: str
    rank: Rank

    def overlaps(self, other: "Span") -> bool:
        return self.start < other.end and other.start < self.end


Check = Callable[[str], bool]


class Rule(Struct, frozen=True):
    """A pattern for the linear-time engine; its first group, if any, is the secret.

    `near`: a text that matches the pattern contains one of these words, in lower case.
    """

    kind: str
    pattern: str
    accepts: Check = lambda value: True
    near: tuple[str, ...] = ("",)

    def judge(self, place: tuple[int, int], text: str, rank: Rank) -> Iterator[Span]:
        """Yield the span at this place, without trailing punctuation, if it is a secret."""
        start, end = place
        value = text[start:end].rstrip(_PUNCTUATION)
        if self.accepts(value) and not is_placeholder(value):
            yield Span(start, start + len(value), self.kind, rank)


def legible(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded."""
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


def image(text: str) -> bytes:
    """Encode the text with one byte per character; characters outside Latin-1 become `?`."""
    return text.encode("latin-1", "replace")


@cache
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern for bytes with the linear-time engine, which is imported on first use."""
    import re2

    return re2.compile(pattern.encode("latin-1"))


def either(rules: tuple[Rule, ...]) -> Any:
    """Compile all the rules as one pattern, so that a text is scanned once for all of them."""
    import re2

    options = re2.Options()
    # With the default of 8 MB this many rules exceed the engine's table, and it falls back to a slow search.
    options.max_mem = 40 << 20
    return re2.compile("|".join(f"(?:{rule.pattern})" for rule in rules).encode("latin-1"), options)


_PUNCTUATION = ".,;:)"  # of the sentence around it
_HALVES = re.compile("[\ud800-\udfff]")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{32}")  # without it, the text is only about keys
_SAFE = "[A-Za-z0-9_-]"
_ALNUM = "[A-Za-z0-9]"
_HEX = "[0-9a-f]"

ISSUERS = (
    Rule("aws-access-key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    Rule("github-token", rf"gh[opusr]_{_ALNUM}{{36,}}"),
    Rule("github-fine-grained", rf"github_pat_{_ALNUM}{{22}}_{_ALNUM}{{59}}"),
    Rule("gitlab-token", rf"gl(?:pat|dt|rt|ptt|cbt|oas|soat|ft|imt|agent)-{_SAFE}{{20,}}"),
    Rule("slack-token", rf"xox[abeoprs]-(?:\d-)?[0-9A-Za-z]{{8,}}-{_SAFE}{{12,}}"),
    Rule("slack-app-token", rf"xapp-\d-{_ALNUM}{{8,}}-\d{{8,}}-{_HEX}{{32,}}"),
    Rule("slack-webhook", r"(?:https?://)?hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{30,}"),
    Rule("discord-webhook", rf"(?:https?://)?discord(?:app)?\.com/api/webhooks/\d{{15,20}}/{_SAFE}{{60,}}"),
    Rule("teams-webhook", r"(?:https?://)?[a-z0-9-]+\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/-]{60,}"),
    Rule("stripe-key", rf"[sr]k_(?:live|test|prod)_{_ALNUM}{{16,}}"),
    Rule("signing-secret", r"whsec_[A-Za-z0-9+/=]{24,}"),
    Rule("openai-key", rf"\bsk-(?:proj-|svcacct-|admin-|None-)?{_SAFE}{{20,}}T3BlbkFJ{_SAFE}{{20,}}"),
    Rule("anthropic-key", rf"sk-ant-(?:api|admin|oat|sid)\d\d-{_SAFE}{{60,}}"),
    Rule("openrouter-key", rf"sk-or-v1-{_HEX}{{64}}"),
    Rule("google-api-key", rf"AIza{_SAFE}{{35}}"),
    Rule("google-access-token", r"ya29\.[A-Za-z0-9_.-]{30,}"),
    Rule("google-client-secret", rf"GOCSPX-{_SAFE}{{28}}"),
    Rule("google-refresh-token", rf"\b1//0{_SAFE}{{40,}}"),
    Rule("sendgrid-key", rf"SG\.{_SAFE}{{16,32}}\.{_SAFE}{{32,64}}"),
    Rule("twilio-key", rf"\bSK{_HEX}{{32}}\b"),
    Rule("mailgun-key", rf"\bkey-{_HEX}{{32}}\b"),
    Rule("mailchimp-key", rf"\b{_HEX}{{32}}-us\d{{1,2}}\b"),
    Rule("npm-token", rf"npm_{_ALNUM}{{36}}"),
    Rule("pypi-token", rf"pypi-A{_SAFE}{{60,}}"),
    Rule("docker-token", rf"dckr_(?:pat|oat)_{_SAFE}{{24,}}"),
    Rule("huggingface-token", rf"\b(?:hf|api_org)_{_ALNUM}{{30,}}"),
    Rule("digitalocean-token", rf"do[opr]_v1_{_HEX}{{64}}"),
    Rule("shopify-token", rf"shp(?:at|ca|pa|ss|ua)_{_HEX}{{32}}"),
    Rule("square-token", rf"sq0[a-z]{{3}}-{_SAFE}{{22,}}|\bEAAA{_SAFE}{{56,}}"),
    Rule("facebook-token", rf"\bEAA[A-Z]{_ALNUM}{{80,}}"),
    Rule("discord-bot-token", rf"\b[MNO]{_SAFE}{{23,28}}\.{_SAFE}{{6}}\.{_SAFE}{{27,40}}"),
    Rule("telegram-bot-token", rf"\b\d{{8,10}}:AA{_SAFE}{{33}}"),
    Rule("vault-token", rf"\bhv[sbr]\.{_SAFE}{{24,}}"),
    Rule("terraform-token", rf"\b{_ALNUM}{{14}}\.atlasv1\.{_SAFE}{{60,}}"),
    Rule("azure-client-secret", r"[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}"),
    Rule("supabase-key", rf"\bsbp_{_HEX}{{40}}|sb_secret_{_SAFE}{{30,}}"),
    Rule("figma-token", rf"fig[dur]_{_SAFE}{{40,}}"),
    Rule("sentry-token", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    Rule("circleci-token", rf"CCI(?:PAT|PRJ)_{_ALNUM}{{20,}}_{_HEX}{{40}}"),
    Rule("atlassian-token", r"ATATT3[A-Za-z0-9_=-]{100,}"),
    Rule("groq-key", rf"\bgsk_{_ALNUM}{{40,}}"),
    Rule("replicate-token", rf"\br8_{_ALNUM}{{37,}}"),
    Rule("perplexity-key", rf"pplx-{_ALNUM}{{40,}}"),
    Rule("xai-key", rf"\bxai-{_ALNUM}{{70,}}"),
    Rule("langsmith-key", rf"lsv2_(?:pt|sk)_{_HEX}{{32}}_{_HEX}{{10}}"),
    Rule("pinecone-key", rf"pcsk_{_ALNUM}{{5,8}}_{_ALNUM}{{50,}}"),
    Rule("tavily-key", rf"tvly-(?:dev-|prod-)?{_ALNUM}{{28,}}"),
    Rule("resend-key", rf"\bre_{_ALNUM}{{8}}_{_ALNUM}{{24}}"),
    Rule("netlify-token", rf"\bnf[pcou]_{_ALNUM}{{36}}"),
    Rule("render-key", rf"\brnd_{_ALNUM}{{28,}}"),
    Rule("notion-token", rf"\bntn_{_ALNUM}{{40,}}"),
    Rule("heroku-key", rf"HRKU-AA{_SAFE}{{50,}}"),
    Rule("asana-token", rf"\b[12]/\d{{16}}(?:/\d{{16}})?:{_HEX}{{32}}\b"),
    Rule("json-web-token", rf"\beyJ{_SAFE}{{8,}}\.eyJ{_SAFE}{{8,}}\.{_SAFE}{{16,}}"),
    Rule(
        "private-key",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)"
        r"(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\z)",
        lambda value: bool(_KEY_BODY.search(value)),
    ),
    Rule("putty-key", r"PuTTY-User-Key-File-\d:(?s:.*?)Private-MAC: [0-9a-f]+"),
)


@cache
def _compile_issued() -> Any:
    return either(ISSUERS)


def find_issued(text: str, view: bytes) -> Iterator[Span]:
    """Yield every secret with an issuer's format; `view` is the text's `image`, so that offsets agree."""
    for match in _compile_issued().finditer(view):
        rule = next(rule for rule in ISSUERS if compile_pattern(rule.pattern).fullmatch(match.group()))
        yield from rule.judge(match.span(), text, Rank.ISSUER)


KIND = "key-like"

_LEAST = 15
_BEFORE, _AFTER, _ADDRESS = 72, 32, 400
_LONGEST = 600  # a longer token is data, not a key
_LONGEST_BARE = 200
_LONG_ID = 40  # ids of objects are shorter than keys

_TELLING = (
    r"(?i)(?:api|app|access|auth|secret|private|signing|encryption|master|admin|service|deploy|license)"
    r"[ _-]?keys?\b|apikey|token(?:s|_|\b)|secret|credential|passw(?:or)?d|passphrase|passcode|\bpwd|\bauth"
    r"|authoriz|bearer|\bcreds\b|[A-Z0-9]_KEY\b"
)
_ORDINARY = (
    r"(?i)\bsha-?\d*\b|\bmd5\b|hash|checksum|digest|commit|revision|fingerprint|\bssh-|ecdsa|public[ _-]?key"
    r"|etag|integrity|uuid|guid|\bids?\b|[^y]_id\b|\bcid\b|ipfs|wallet|address|image|photo|base64|\btrace"
    r"|\bspan\b|request|cursor|\bpage|pagination|continuation|version|\bbuild\b|transaction|\btx|\bblock\b"
    r"|order|tracking|serial|reference|\bref\b|\bfile|upload|layer|blob|snapshot|invoice|ticket"
    r"|tokens? (?:count|limit|budget)"
)
_SECRET_PARTS = frozenset(
    "sk rk key keys api apikey token tok secret sec pat auth oauth access refresh live prod sandbox pw pwd "
    "pass priv private admin bearer cred creds svc bot webhook cli".split()
)
_ISSUED_PARTS = frozenset({"sk", "rk"})
"""Prefixes that only keys have: even counting digits after them form a key."""

_KEY_PARTS = frozenset("sk pat key apikey token secret access refresh".split())  # before a UUID
_OBJECT_PARTS = frozenset(
    "req request msg message thread run asst call cus sub evt event pi ch in price prod file chatcmpl resp "
    "user usr org proj project team id uid img image photo pic doc page task job order invoice inv tx txn "
    "block trace span build v ver version cache chunk layer sess session conv chat step node obj item cart "
    "ticket case issue bucket backup snapshot i vol ami subnet vpc sg eni publishable cid addr wallet video "
    "vid audio clip track asset upload blob".split()
)
_DIGEST_PARTS = frozenset(
    "sha sha1 sha256 sha384 sha512 md5 commit git rev ref ssh rsa pk pub public".split()
)
_DATA_HEADS = tuple("iVBORw0KGgo /9j/ R0lGOD UklGR PHN2Zy JVBERi0 AAAAB3Nza AAAAC3Nza AAAAE2Vj".split())
_DIGIT = re.compile(r"\d")
_GLUED = re.compile(r"[A-Za-z]{2,6}(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})")
_FILE = re.compile(
    r"\.(?:png|jpe?g|gif|webp|svg|pdf|mp[34]|mov|zip|gz|js|css|py|json|txt|md|csv|log|html?|wav|heic)$",
    re.IGNORECASE,
)

ANY_RUN = r"[A-Za-z0-9_.+/~=-]{15}"
"""Matches every candidate, possible base64, and every issuer's format, except for key blocks."""


class _Surroundings:
    """The indicative words of a text, found once, for the first candidate."""

    def __init__(self, view: bytes) -> None:
        self._telling = [match.span() for match in compile_pattern(_TELLING).finditer(view)]
        self._ordinary = [match.span() for match in compile_pattern(_ORDINARY).finditer(view)]

    def tell(self, start: int, end: int) -> int:
        """Return 1 if nearby words refer to a credential, -1 if they refer to something ordinary, else 0."""
        credential, ordinary = _before(self._telling, start), _before(self._ordinary, start)
        if max(credential, ordinary) >= start - _BEFORE:
            return 1 if credential > ordinary else -1
        return 1 if _after(self._telling, end) and not _after(self._ordinary, end) else 0


def _before(words: Sequence[tuple[int, int]], at: int) -> int:
    """Return the end of the last word that ends before the place."""
    position = bisect_right(words, at, key=lambda word: word[1])
    return words[position - 1][1] if position else -_BEFORE - 1


def _after(words: Sequence[tuple[int, int]], at: int) -> bool:
    position = bisect_left(words, at, key=lambda word: word[0])
    return position < len(words) and words[position][1] <= at + _AFTER


def find_shapes(text: str, view: bytes) -> Iterator[Span]:
    """Yield every place in `text` that looks like a key of some issuer; `view` is the text's `image`."""
    surroundings: _Surroundings | None = None
    for match in compile_pattern(r"[A-Za-z0-9_-][A-Za-z0-9_.+/~-]{14,}={0,2}").finditer(view):
        start, end = match.span()
        token = text[start:end].rstrip(".-/_+~")
        by_words, by_itself = _looks(token)
        if not (by_words or by_itself) or _in_data(token, text[max(0, start - _ADDRESS) : start]):
            continue
        surroundings = surroundings or _Surroundings(view)
        hint = surroundings.tell(start, end)
        if by_words if hint > 0 else by_itself and hint == 0:
            yield Span(start, start + len(token), KIND, Rank.SHAPE)


def _looks(token: str) -> tuple[bool, bool]:
    """Return whether the token is a key if nearby words indicate one, and whether it is one without them."""
    if not _could_be(token):
        return False, False
    start = uuid_start(token)
    if start >= 0:
        return True, bool(_KEY_PARTS.intersection(parts(token[:start].lower())))
    is_glued = bool(_GLUED.fullmatch(token)) and not is_hex(token)
    by_itself = is_glued or _has_prefix(token) or _stands_alone(token)
    return by_itself or is_random(token, 16), by_itself and not _is_object(token)


def _could_be(token: str) -> bool:
    """Whether it may be a key at all; cheap checks come first, because most words end here."""
    if token.islower() or token.isupper():
        if not _DIGIT.search(token):
            return False
    elif token.isdigit() or len(token) < _LEAST or not any(map(str.isalnum, token)):
        return False
    if len(token) > _LONGEST or _FILE.search(token) or is_placeholder(token):
        return False
    pieces = parts(token)
    return len("".join(pieces)) >= 4.5 * len(pieces) and not token.startswith(_DATA_HEADS)


def _in_data(token: str, before: str) -> bool:
    """Whether it is part of a URL or of embedded data, which the rules in `places` handle."""
    word = before.rsplit(None, 1)[-1] if before and not before[-1].isspace() else ""
    return (
        "://" in word or "www." in word or word.endswith("base64,") or (token.count("/") > 2 and "." in token)
    )


def _is_object(token: str) -> bool:
    """Whether its first part is the name of a digest or the prefix of an id."""
    first, *rest = parts(token)
    return first.lower() in _DIGEST_PARTS or (
        first.lower() in _OBJECT_PARTS and len("".join(rest)) < _LONG_ID
    )


def _has_prefix(token: str) -> bool:
    """Whether it has short names before a random rest, as in `abc_live_...`."""
    pieces = parts(token)
    names = [piece.lower() for piece in pieces[:-1] if len(piece) <= 12]
    if not names or len(pieces[0]) > 12:
        return False
    rest = token[token.index(pieces[0]) + len(pieces[0]) :]
    if is_mixed("".join(pieces[1:])) and is_random(rest, 18):
        return True
    longest = max(pieces[1:], key=len)
    if _SECRET_PARTS.intersection(names):
        return is_random(longest, 16, counting=pieces[0].lower() in _ISSUED_PARTS)
    if is_hex(longest):
        return len(longest) >= 32
    return is_random(longest, 20)


def _stands_alone(token: str) -> bool:
    """Whether it is too long and too mixed to be written by hand."""
    core = "".join(parts(token))
    return len(token) <= _LONGEST_BARE and is_mixed(core) and is_random(token, 32)
