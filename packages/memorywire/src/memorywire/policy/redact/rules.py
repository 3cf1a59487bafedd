"""The rules that know a secret by its own form, written from what its issuer publishes about it."""

import re
from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import cache
from typing import Any

from memorywire.model.values import dataclass
from memorywire.policy.redact.looks import is_placeholder


class Rank(IntEnum):
    """Which name wins where several rules found the same span: the surer the rule, the higher."""

    SHAPE = 0
    CONTEXT = 1
    ISSUER = 2
    REGISTERED = 3


@dataclass(frozen=True, slots=True)
class Span:
    """Where a secret stands, and under which name."""

    start: int
    end: int
    label: str
    rank: Rank

    def overlaps(self, other: "Span") -> bool:
        return self.start < other.end and other.start < self.end


Check = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern for the linear-time engine; its first group, if any, is the secret.

    `near` are words of which the text holds one, in lower case, wherever the pattern fits.
    """

    kind: str
    pattern: str
    accepts: Check = lambda value: True
    near: tuple[str, ...] = ("",)

    def judge(self, place: tuple[int, int], text: str, rank: Rank) -> Iterator[Span]:
        """The place without the punctuation behind it, if a secret stands there."""
        start, end = place
        value = text[start:end].rstrip(_PUNCTUATION)
        if self.accepts(value) and not is_placeholder(value):
            yield Span(start, start + len(value), self.kind, rank)


def legible(text: str) -> str:
    """The text with lone surrogates replaced, which no encoding can hold."""
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


def image(text: str) -> bytes:
    """The text with one byte a character: what is not Latin-1 reads as `?`."""
    return text.encode("latin-1", "replace")


@cache
def compiled(pattern: str) -> Any:
    """A pattern of the linear-time engine over bytes; the engine is loaded when first needed."""
    import re2

    return re2.compile(pattern.encode("latin-1"))


def either(rules: tuple[Rule, ...]) -> Any:
    """All the rules as one pattern, without groups, so that a text is read once for all of them."""
    import re2

    options = re2.Options()
    # With the usual 8 MB so many rules do not fit into the engine's table, and it falls back to a slow walk.
    options.max_mem = 40 << 20
    return re2.compile("|".join(f"(?:{rule.pattern})" for rule in rules).encode("latin-1"), options)


_PUNCTUATION = ".,;:)"  # of the sentence around it
_HALVES = re.compile("[\ud800-\udfff]")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{32}")  # else somebody writes about keys
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
def _issued() -> Any:
    return either(ISSUERS)


def find_issued(text: str, seen: bytes) -> Iterator[Span]:
    """Every place of a secret with a form of its own; `seen` is the text's image, so that places agree."""
    for found in _issued().finditer(seen):
        rule = next(rule for rule in ISSUERS if compiled(rule.pattern).fullmatch(found.group()))
        yield from rule.judge(found.span(), text, Rank.ISSUER)
