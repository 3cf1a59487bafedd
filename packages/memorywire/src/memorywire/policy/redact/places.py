"""The rules that know a secret by its place: behind a header, a flag, a name, or the words for it."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from memorywire.policy.redact.credentials import is_key, is_login, is_password, is_strong_password
from memorywire.policy.redact.looks import is_placeholder, is_random
from memorywire.policy.redact.rules import Check, Rank, Rule, Span, compiled, either


def _random(least: int) -> Check:
    return lambda value: is_random(value, least)


def _header(value: str) -> bool:
    return is_login(value) or is_key(value)


def _chosen(value: str) -> bool:
    """Whether it is a password in an address: there, anything but the word "password" counts."""
    return value.lower() not in ("password", "passwd", "pass", "pwd")


def _flag(value: str) -> bool:
    return is_strong_password(value) or is_key(value)


_GIVES = r"[\"'`]?[ \t]*(?:=>|->|:=|=|:)[ \t]*[\"'`]?"
_IS = (
    r"(?:(?:is |was |been )?(?:(?:re)?set|changed) to|will be|is|was|are|became|becomes)"
    r"(?: now| still| currently)?:?\s+[\"'`]?"
)
_OF = r"(?:\s+(?:for|to|of|on|at|in)\s+[^.:;\n]{1,48}?)"
_SCHEME = r"\b[a-z][a-z0-9+.-]{1,20}://"
_PASSWORDS = r"(?:password|passwd|passphrase|passcode|passwort|pwd)"
_SECRETS = (
    r"(?:api|app|access|auth|secret|private|signing|encryption|master|admin|service|account|client|license)"
    r"[ _-]?(?:key|token|secret)|apikey|secret|token|credential"
)
_WORD = r"([^\s\"'`]{4,})"
_LONG_WORD = r"([^\s\"'`,;&]{8,})"

_NEAR_PASSWORDS = ("pass", "pwd", "pw")
_NEAR_SECRETS = ("key", "token", "secret", "credential")

PLACES = (
    Rule(
        "authorization-header",
        r"(?i)authorization[\"']?\s*[:=]\s*[\"']?(?:[a-z]{3,10}\s+)?([A-Za-z0-9._~+/=:-]{8,})",
        _header,
        ("authorization",),
    ),
    Rule("bearer-token", r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{16,})", _random(16), ("bearer",)),
    Rule("basic-login", r"(?i)\bbasic\s+([A-Za-z0-9+/]{8,}={0,2})", is_login, ("basic",)),
    Rule(
        "key-header",
        r"(?i)\bx-[a-z0-9-]*(?:key|token|secret|auth)[a-z0-9-]*[\"']?\s*[:=]\s*[\"']?" + _LONG_WORD,
        is_key,
        ("x-",),
    ),
    Rule(
        "session-cookie",
        r"(?i)cookie[\"']?\s*[:=][^\n]*?(?:sess|sid|auth|token|jwt)[a-z0-9_.-]*=([^;\s\"']{12,})",
        _random(12),
        ("cookie",),
    ),
    Rule("url-password", rf"(?i){_SCHEME}[^\s:/@\"'?#\[]*:([^\s/\"'<>]{{3,}})@", _chosen, ("://",)),
    Rule("url-token", rf"(?i){_SCHEME}([A-Za-z0-9_-]{{16,}})@", _random(16), ("://",)),
    Rule("one-time-seed", r"(?i)otpauth://[^\s]*[?&]secret=([A-Z2-7]{16,})", near=("otpauth",)),
    Rule(
        "url-parameter",
        r"(?i)[?&#](?:[a-z_-]*(?:token|key|secret|password|passwd|pwd|signature|credential)|sig|auth)"
        r"=([^&\s\"'<>#]{8,})",
        is_key,
        ("?", "&", "#"),
    ),
    Rule(
        "aws-secret-key",
        rf"(?i)secret[_ -]?(?:access[_ -]?)?key{_GIVES}([A-Za-z0-9/+]{{40}})\b",
        _random(30),
        ("secret",),
    ),
    Rule(
        "azure-account-key",
        r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2})",
        near=("accountkey", "sharedaccesskey"),
    ),
    Rule(
        "command-login",
        r"(?:^|\s)(?:-u|--user|--proxy-user)[ =][\"']?[^\s:\"'/]+:([^\s\"']{4,})",
        is_password,
        ("-u",),
    ),
    Rule("netrc-login", r"(?i)\blogin\s+\S+\s+password\s+(\S{4,})", is_password, ("login",)),
    Rule(
        "command-flag",
        r"(?i)\s--?(?:[a-z0-9]+[_-])*(?:password|passwd|pass|token|secret|apikey|key|auth)[= ][\"']?"
        r"([^\s\"']{6,})",
        _flag,
        (" -", "\n-", "\t-"),
    ),
    Rule(
        "command-flag",
        r"(?i)\b(?:mysql|mysqldump|mariadb|sshpass)\b[^\n|;]{0,80}?\s-p[\"' ]{0,2}([^\s\"']{4,})",
        is_password,
        ("mysql", "mariadb", "sshpass"),
    ),
    Rule("password", rf"(?i)(?:{_PASSWORDS}|_pass|\bpw){_GIVES}{_WORD}", is_password, _NEAR_PASSWORDS),
    Rule("password", rf"(?i)\bpass=[\"'`]?{_WORD}", is_password, ("pass=",)),
    Rule(
        "password", rf"(?i)\b(?:{_PASSWORDS}|pw)\b[\"']?{_OF}?\s+{_IS}{_WORD}", is_password, _NEAR_PASSWORDS
    ),
    Rule("password", rf"(?i)\b{_PASSWORDS}{_OF}{_GIVES}{_WORD}", is_password, _NEAR_PASSWORDS),
    Rule("password", rf"(?i)\b{_PASSWORDS}\s+[\"'`(]?([^\s\"'`]{{6,}})", is_strong_password, _NEAR_PASSWORDS),
    Rule(
        "password",
        r"(?i)([^\s\"'`]{6,})[\"'`]?\s+(?:is|was|as)\s+(?:my|our|the|her|his|their|its)\s+"
        rf"(?:[a-z0-9-]+\s+){{0,3}}{_PASSWORDS}",
        is_strong_password,
        _NEAR_PASSWORDS,
    ),
    Rule(
        "login",
        r"(?i)\b(?:log(?:ged|s)?[ -]?in|sign(?:ed|s)?[ -]?in|credentials?|creds|account)\b[^\n]{0,48}?"
        r"[A-Za-z0-9_.@+-]+ ?(?:/|:|and) ?([^\s/\"'`]{6,})",
        is_strong_password,
        ("log", "sign", "cred", "account"),
    ),
    Rule(
        "pin",
        r"(?i)\bPIN(?: (?:for|to|of|on) [^.:;\n]{1,40}?)?(?:\s+(?:is|was)|:)\s+(\d{4,8})\b",
        near=("pin",),
    ),
    Rule(
        "recovery-phrase",
        r"(?i)\b(?:seed|recovery|mnemonic|backup)[ -](?:phrase|words)\b[^.\n:]{0,40}?(?:is|are|:|=)\s*[\"'`]?"
        r"((?:[a-z]{3,8}[ ,]+){11,23}[a-z]{3,8})",
        near=("phrase", "words"),
    ),
    Rule(
        "assigned-secret",
        rf"(?i)(?:^|[^a-z])(?:{_SECRETS})s?(?:_[a-z0-9_]*|[0-9]+)?{_GIVES}{_LONG_WORD}",
        is_key,
        _NEAR_SECRETS,
    ),
    Rule("assigned-secret", rf"(?i)\b(?:{_SECRETS})\b{_OF}?\s+{_IS}{_LONG_WORD}", is_key, _NEAR_SECRETS),
)

_PASSWORD_NAME = re.compile(rf"{_PASSWORDS}|(?:^|[^a-z])(?:pass|pw)$", re.IGNORECASE)
_SECRET_NAME = re.compile(rf"{_SECRETS}|authorization|bearer", re.IGNORECASE)
NAMES = rf"(?i)pass|pw|{_PASSWORDS}|{_SECRETS}|authorization|bearer"
"""Fits every name by which `holds_a_secret` goes."""

_ORDINARY_NAME = re.compile(
    r"count|limit|max|usage|used|budget|type|name|public|next|page|cursor|_at$|expir|tokeni", re.IGNORECASE
)


@cache
def _anywhere() -> Any:
    return either(PLACES)


def find_placed(text: str, seen: bytes) -> Iterator[Span]:
    """Every place where a secret is expected and something like one stands; `seen` is the text's image."""
    if not _anywhere().search(seen):
        return
    lower = text.lower()
    for rule in PLACES:
        if not any(word in lower for word in rule.near):
            continue
        for found in compiled(rule.pattern).finditer(seen):
            yield from rule.judge(found.span(1), text, Rank.CONTEXT)


def is_ordinary(name: str) -> bool:
    """Whether a field of this name is about credentials at most: `max_tokens`, `tokenizer`, `public_key`."""
    return bool(_ORDINARY_NAME.search(name))


def holds_a_secret(name: str, value: str) -> bool:
    """Whether the value of a field is a credential, going by what the field is called."""
    if is_placeholder(value) or len(value.split()) != 1 or len(value) < 4 or is_ordinary(name):
        return False
    if _PASSWORD_NAME.search(name):
        return is_password(value)
    return bool(_SECRET_NAME.search(name)) and is_key(value)
