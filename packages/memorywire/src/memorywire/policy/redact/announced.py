"""Values that a word for a key or a password announces, in many languages, whoever issued them."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from memorywire.policy.redact.credentials import is_strong_password
from memorywire.policy.redact.looks import is_placeholder, is_random, is_uuid, is_wordy
from memorywire.policy.redact.rules import Rank, Span

# Words of which compounds are made ("Datenbankpasswort"), and words that stand alone.
_PASSWORDS = (
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
_WORDS = f"(?i)(?P<password>{_PASSWORDS})|(?:{_KEYS})"

IN_ASCII = (
    r"(?i)(?:passw|passphrase|passcode|pwd|kennwort|zugangscode|contrasena|mot de passe|code secret|senha"
    r"|palavra|parola|wachtwoord|heslo|sifre|adgangskode|passord|salasana|kata sandi|key|token|secret"
    r"|credential|cred|bearer|zugangsdaten|clave|llave|credencia|cle d'api|jeton|identifiant|chave|chiave"
    r"|sleutel|klucz|anahtar|nyckel|avain|kunci)[^\n]*[0-9!@#$%^&*+=?~|]"
)
"""Fits every ASCII text in which this module can find something."""

_MARKER, _LONGEST_MARKER = "[REDACTED:", 80
_LONGEST_ADDRESS = 200
_WINDOW = 96
_LEAST, _LEAST_KEY = 8, 10
_TOKEN = re.compile(r"[!-~]{8,}")
_REST_OF_TOKEN = re.compile(r"[!-~]{0,600}")  # beyond it is data, not a key
_EDGES = "\"'`<>()[]{},;:.*"
_ASSIGNED = re.compile(r"^[\w.\[\]'\"-]{0,40}?(?:=>|:=|=|:)(?=[^=:/\s])")
_ORDINARY = re.compile(
    r"(?i)\b(?:sha-?\d*|md5|hash|checksum|digest|commit|revision|fingerprint|public|etag|uuid|guid|ids?|cid|"
    r"ipfs|wallet|address|image|trace|span|request|cursor|version|build|transaction|tx|block|order|tracking|"
    r"serial|reference|ref|file|layer|snapshot|invoice|ticket|count|limit|model|isbn|doi)\b|_id\b"
)
# What people write that is no credential: addresses, prices, versions, names in code, paths, algorithms.
_PLAIN = re.compile(
    r"https?://|www\.|^[$€£¥]\d|\\_|[(){}\[\]<>,]|^[\w.+-]+@[\w-]+\.[\w.]+$|^[\w.-]*/[\w./-]*$"
    r"|^[\d.,:/+-]+\w{0,3}$|^v?\d+(?:\.\d+)+|^\d{0,2}[A-Za-z]?[a-z]+\d?$|^[a-z]+(?:[A-Z][a-z]*)+\d?$"
    r"|^(?:[A-Z][a-z]+)+\d{0,2}$|^(?:[a-z]+\.)*[A-Z]+(?:_[A-Z0-9]+)+$|^[a-z]+(?:[_.-][a-z]+)+\d?$"
    r"|^(?i:pbkdf2|bcrypt|argon2|scrypt|hmac|aes|rsa|sha)[\d:_-]"
    r"|\.(?:py|js|ts|md|json|ya?ml|toml|txt|sh|env|go|rs|java)$"
)


def find_announced(text: str) -> Iterator[Span]:
    """Every value after a word that announces one, if it looks like a key or, where due, a password."""
    words = [(*word.span(), bool(word.group("password"))) for word in _announcing().finditer(text)]
    end = 0
    for (start, stop, is_password), (following, *_) in pairwise([*words, (len(text),)]):
        if start < end or _is_marker(text, start) or _in_address(text, start):
            continue
        span = _value_after(text, stop, following, is_password=is_password)
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
    """The value between a word and the next one, if it begins in the same line, and near."""
    line_end = text.find("\n", start, start + _WINDOW)
    stop = min(following, line_end if line_end >= 0 else start + _WINDOW)
    for found in _TOKEN.finditer(text, start, _token_end(text, stop)):
        if found.start() > stop or _ORDINARY.search(text, start, found.start()):
            return None
        if _MARKER in found.group():
            return None
        value, at = _bare(found.group(), found.start())
        if _is_credential(value, is_password=is_password):
            return Span(at, at + len(value), "announced-secret", Rank.SHAPE)
    return None


def _is_marker(text: str, at: int) -> bool:
    """Whether the place is inside a marker of an earlier redaction."""
    begun = text.rfind(_MARKER, max(0, at - _LONGEST_MARKER), at)
    return begun >= 0 and "]" not in text[begun:at]


def _in_address(text: str, at: int) -> bool:
    """Whether the place is inside a URL, where other rules look."""
    before = text[max(0, at - _LONGEST_ADDRESS) : at].rsplit(None, 1)
    return bool(before) and "://" in before[-1] and not text[at - 1].isspace()


def _token_end(text: str, stop: int) -> int:
    """Where the token ends in which the window does."""
    rest = _REST_OF_TOKEN.match(text, stop)
    return rest.end() if rest else stop


def _bare(token: str, at: int) -> tuple[str, int]:
    """The token without quotes, punctuation and the name it is assigned to, and its place."""
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
    return is_password and is_strong_password(value) and not _is_phrase(value)


def _is_phrase(value: str) -> bool:
    """Whether words with a number, joined by dashes or slashes: `ISO-27001-A`, `Zephyr-9`."""
    return bool(re.fullmatch(r"[A-Za-z0-9]+(?:[-/][A-Za-z0-9]+)+", value)) and is_wordy(value)
