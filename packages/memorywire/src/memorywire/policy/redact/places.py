"""Rules that recognise a secret by its context: after a header, a flag, a name, or words for it."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from memorywire.policy.redact.looks import (
    is_key,
    is_login,
    is_password,
    is_placeholder,
    is_random,
    is_strong_password,
    is_uuid,
    is_wordy,
)
from memorywire.policy.redact.rules import Check, Rank, Rule, Span, compile_pattern, either


def _random(least: int) -> Check:
    return lambda value: is_random(value, least)


def _header(value: str) -> bool:
    return is_login(value) or is_key(value)


def _choose(value: str) -> bool:
    """Whether it is a password in a URL: there, anything but a word for "password" counts."""
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
    Rule("url-password", rf"(?i){_SCHEME}[^\s:/@\"'?#\[]*:([^\s/\"'<>]{{3,}})@", _choose, ("://",)),
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
"""Matches every name that `holds_a_secret` recognises."""

_ORDINARY_NAME = re.compile(
    r"count|limit|max|usage|used|budget|type|name|public|next|page|cursor|_at$|expir|tokeni", re.IGNORECASE
)


@cache
def _anywhere() -> Any:
    return either(PLACES)


def find_placed(text: str, view: bytes) -> Iterator[Span]:
    """Yield every likely secret in a place where one is expected; `view` is the text's `image`."""
    if not _anywhere().search(view):
        return
    lower = text.lower()
    for rule in PLACES:
        if not any(word in lower for word in rule.near):
            continue
        for match in compile_pattern(rule.pattern).finditer(view):
            yield from rule.judge(match.span(1), text, Rank.CONTEXT)


def is_ordinary(name: str) -> bool:
    """Whether a field of this name holds no credential: `max_tokens`, `tokenizer`, `public_key`."""
    return bool(_ORDINARY_NAME.search(name))


def holds_a_secret(name: str, value: str) -> bool:
    """Whether the value of a field is a credential, judged with the field's name."""
    if is_placeholder(value) or len(value.split()) != 1 or len(value) < 4 or is_ordinary(name):
        return False
    if _PASSWORD_NAME.search(name):
        return is_password(value)
    return bool(_SECRET_NAME.search(name)) and is_key(value)


# Words that also occur in compounds ("Datenbankpasswort"), and words that occur alone.
_ANNOUNCING_WORDS = (
    r"(?:password|passwort|passwd|passphrase|passcode|kennwort|zugangscode|wachtwoord|contraseña|contrasena"
    r"|\b(?:pwd|mot de passe|code secret|senha|palavra-passe|parola|hasło|heslo|şifre|sifre|lösenord"
    r"|adgangskode|passord|salasana|jelszó|kata sandi))s?(?:[^\pL]|$)"
    r"|mật khẩu|пароль|пароля|паролем|гасло|κωδικός|密码|密碼|口令|パスワード|暗証番号|비밀번호|암호|패스워드"
    r"|كلمة المرور|كلمة السر|סיסמה|סיסמא|पासवर्ड|รหัสผ่าน"
)
_KEYS = (
    r"(?:\b(?:(?:api|access|secret|auth|signing|encryption|master|admin|service|account|client|deploy|app"
    r"|licen[sc]e)[ _-]?(?:key|token|secret)|apikey|token|secret|credential|cred|bearer|zugangsdaten|clave"
    r"|llave|credenciale|clé|cle d'api|jeton|identifiant|chave|credenciai|chiave|sleutel|klucz|klíč|anahtar"
    r"|nyckel|nøgle|nøkkel|avain|khóa|kunci)|schlüssel|_key|_token|_secret)s?(?:[^\pL]|$)"
    r"|ключ|токен|секрет|密钥|密鑰|金鑰|秘钥|令牌|凭证|api ?キー|アクセスキー|シークレット|秘密鍵|トークン"
    r"|api ?키|액세스 ?키|비밀 ?키|토큰|مفتاح|אסימון|מפתח|कुंजी|คีย์"
)
_WORDS = f"(?i)(?P<password>{_ANNOUNCING_WORDS})|(?:{_KEYS})"

IN_ASCII = (
    r"(?i)(?:passw|passphrase|passcode|pwd|kennwort|zugangscode|contrasena|mot de passe|code secret|senha"
    r"|palavra|parola|wachtwoord|heslo|sifre|adgangskode|passord|salasana|kata sandi|key|token|secret"
    r"|credential|cred|bearer|zugangsdaten|clave|llave|credencia|cle d'api|jeton|identifiant|chave|chiave"
    r"|sleutel|klucz|anahtar|nyckel|avain|kunci)[^\n]*[0-9!@#$%^&*+=?~|]"
)
"""Matches every ASCII text in which `find_announced` can find a secret."""

_MARKER, _LONGEST_MARKER = "[REDACTED:", 80
_LONGEST_ADDRESS = 200
_WINDOW = 96
_LEAST, _LEAST_KEY = 8, 10
_TOKEN = re.compile(r"[!-~]{8,}")
_REST_OF_TOKEN = re.compile(r"[!-~]{0,600}")  # a longer token is data, not a key
_JOINED = re.compile(r"[A-Za-z0-9]+(?:[-/][A-Za-z0-9]+)+")
_EDGES = "\"'`<>()[]{},;:.*"
_ASSIGNED = re.compile(r"^[\w.\[\]'\"-]{0,40}?(?:=>|:=|=|:)(?=[^=:/\s])")
_ORDINARY = re.compile(
    r"(?i)\b(?:sha-?\d*|md5|hash|checksum|digest|commit|revision|fingerprint|public|etag|uuid|guid|ids?|cid|"
    r"ipfs|wallet|address|image|trace|span|request|cursor|version|build|transaction|tx|block|order|tracking|"
    r"serial|reference|ref|file|layer|snapshot|invoice|ticket|count|limit|model|isbn|doi)\b|_id\b"
)
# Texts that are not credentials: addresses, prices, versions, names in code, paths, algorithms.
_PLAIN = re.compile(
    r"https?://|www\.|^[$€£¥]\d|\\_|[(){}\[\]<>,]|^[\w.+-]+@[\w-]+\.[\w.]+$|^[\w.-]*/[\w./-]*$"
    r"|^[\d.,:/+-]+\w{0,3}$|^v?\d+(?:\.\d+)+|^\d{0,2}[A-Za-z]?[a-z]+\d?$|^[a-z]+(?:[A-Z][a-z]*)+\d?$"
    r"|^(?:[A-Z][a-z]+)+\d{0,2}$|^(?:[a-z]+\.)*[A-Z]+(?:_[A-Z0-9]+)+$|^[a-z]+(?:[_.-][a-z]+)+\d?$"
    r"|^(?i:pbkdf2|bcrypt|argon2|scrypt|hmac|aes|rsa|sha)[\d:_-]"
    r"|\.(?:py|js|ts|md|json|ya?ml|toml|txt|sh|env|go|rs|java)$"
)


def find_announced(text: str) -> Iterator[Span]:
    """Yield every value after a word for a secret that looks like a key or, after such words, a password."""
    words = [(*word.span(), bool(word.group("password"))) for word in _announcing().finditer(text)]
    end = 0
    for (start, stop, announces_password), (following, *_) in pairwise([*words, (len(text),)]):
        if start < end or _is_marker(text, start) or _in_address(text, start):
            continue
        span = _value_after(text, stop, following, is_password=announces_password)
        if span is not None:
            end = span.end
            yield span


@cache
def _announcing() -> Any:
    import re2

    options = re2.Options()
    options.max_mem = 32 << 20
    return re2.compile(_WORDS, options)


def _value_after(text: str, start: int, following: int, *, is_password: bool) -> Span | None:
    """Find the value between a word and the next one, if it begins nearby in the same line."""
    line_end = text.find("\n", start, start + _WINDOW)
    stop = min(following, line_end if line_end >= 0 else start + _WINDOW)
    rest = _REST_OF_TOKEN.match(text, stop)  # the rest of the token in which the window ends
    for match in _TOKEN.finditer(text, start, rest.end() if rest else stop):
        is_other = match.start() > stop or _ORDINARY.search(text, start, match.start())
        if is_other or _MARKER in match.group():
            return None
        value, at = _bare(match.group(), match.start())
        if _is_credential(value, is_password=is_password):
            return Span(at, at + len(value), "announced-secret", Rank.SHAPE)
    return None


def _is_marker(text: str, at: int) -> bool:
    """Whether the place is inside a marker of an earlier redaction."""
    start = text.rfind(_MARKER, max(0, at - _LONGEST_MARKER), at)
    return start >= 0 and "]" not in text[start:at]


def _in_address(text: str, at: int) -> bool:
    """Whether the place is inside a URL, which other rules handle."""
    before = text[max(0, at - _LONGEST_ADDRESS) : at].rsplit(None, 1)
    return bool(before) and "://" in before[-1] and not text[at - 1].isspace()


def _bare(token: str, at: int) -> tuple[str, int]:
    """Return the token without quotes, punctuation and the name it is assigned to; and its offset."""
    name = _ASSIGNED.match(token)
    if name is not None:
        token, at = token[name.end() :], at + name.end()
    bare = token.lstrip(_EDGES)
    return bare.rstrip(_EDGES).removesuffix("'s"), at + len(token) - len(bare)


def _is_credential(value: str, *, is_password: bool) -> bool:
    if len(value) < _LEAST or is_placeholder(value) or _PLAIN.search(value):
        return False
    if is_uuid(value) or is_random(value, _LEAST_KEY):
        return True
    # Words with a number, joined by dashes or slashes, are names: `ISO-27001-A`, `Zephyr-9`.
    is_name = _JOINED.fullmatch(value) and is_wordy(value)
    return is_password and is_strong_password(value) and not is_name
