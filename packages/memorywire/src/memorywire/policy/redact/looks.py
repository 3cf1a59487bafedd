"""Classifies strings by their look: random or made of words, a placeholder, an ordinary identifier."""

import base64
import binascii
import re
from itertools import pairwise

_PAIRS = frozenset(
    "th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de "
    "hi ri ro ic ne ea ra ce li ch ll be ma si om ur ca el ta la ns di fo ho pe ec pr no ct us ac ot il tr "
    "ly nc et ut ss so rs un lo wa ge ie wh ee wi em ad ol rt po we na ul ni ts mo ow pa im mi ai sh ir su "
    "id os iv ia am fi ci vi pl ig tu ev ld ry mp fe bl ab gh ty op wo sa ay ex ke ui fr oo ag if ap gr od bo"
    .split()
)  # fmt: skip
_LETTERS = re.compile(r"[A-Za-z]+")
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_LONG_HEX = re.compile(r"[0-9a-f]{16,}|[0-9A-F]{16,}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"your|example|placeholder|change_?me|redacted|dummy|sample|insert|replace|goes_?here|not_?a_?real"
    r"|x{4}|\*{3}|\.{3}|^<|>$|\$\{|\{\{|%\(|^\$\(?[a-z_]+\)?$|(?:^|[^a-z])(?:fake|todo|none|null)(?:[^a-z]|$)",
    re.IGNORECASE,
)
_BLANKED = re.compile(r"\.{3}|\*{3}|^<|>$|\$\{|\{\{|redacted", re.IGNORECASE)
_COUNTING = re.compile(r"012345|123456|234567|abcdef", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_PARTS = re.compile(r"[^A-Za-z0-9]+")

_WORDY = 0.45  # English letter pairs: about .7 in words and identifiers, .2 in random strings
_CLIMBING = 0.3
_UUID_LENGTH = 36
_LONG = 100  # this many random letters may contain a short word by chance


def is_placeholder(value: str) -> bool:
    """Whether it is a placeholder for a secret: `YOUR_KEY_HERE`, `${TOKEN}`, `xxxx`, a redaction marker."""
    telling = _PLACEHOLDER if len(value) <= _LONG else _BLANKED
    return bool(telling.search(value)) or (len(value) > 8 and len(set(value)) < 4)


def is_hex(value: str) -> bool:
    return bool(_HEX.fullmatch(value))


def uuid_start(value: str) -> int:
    """Return the offset of a UUID at the end of the value; -1 if there is none."""
    start = len(value) - _UUID_LENGTH
    return start if start >= 0 and _UUID.fullmatch(value, start) else -1


def is_uuid(value: str) -> bool:
    return uuid_start(value) == 0


def is_mixed(value: str) -> bool:
    """Whether it has both upper and lower case letters, more of each than by accident."""
    upper = sum(map(str.isupper, value))
    lower = sum(map(str.islower, value))
    return min(upper, lower) >= max(2, len(value) // 10)


def parts(value: str) -> list[str]:
    """Split the value into runs of letters and digits."""
    return [part for part in _PARTS.split(value) if part]


def is_wordy(value: str) -> bool:
    """Whether its letter pairs are as frequent as in English; False for too few letters."""
    letters = _LONG_HEX.sub(" ", value).lower()
    pairs = [run[at : at + 2] for run in _LETTERS.findall(letters) for at in range(len(run) - 1)]
    return sum(pair in _PAIRS for pair in pairs) > 1 + _WORDY * len(pairs)


def is_random(value: str, least: int, *, counting: bool = False) -> bool:
    """Whether at least `least` characters look random rather than written by a person.

    A run like `12345` counts as written by a person, unless `counting` allows it.
    """
    core = "".join(parts(value))
    if len(core) < least or is_placeholder(value):
        return False
    digits = sum(map(str.isdigit, core))
    if digits == len(core) or (not counting and _is_counting(core)):
        return False
    if is_hex(core):
        return digits > 0 and len(set(core)) >= 7
    # Words of any language do not look random either: `Gas-und-Dampf-Kombikraftwerken`.
    is_words = digits == 0 and all(map(_WORD.fullmatch, parts(value)))
    if is_words or (digits == 0 and ("." in value or len(core) < 20 or not is_mixed(core))):
        return False
    return len(set(core)) >= min(9, least // 2) and not is_wordy(value)


def _is_counting(core: str) -> bool:
    """Whether it counts up like `abcd1234`, as in examples."""
    if _COUNTING.search(core):
        return True
    steps = sum(ord(after) - ord(before) == 1 for before, after in pairwise(core))
    return steps >= _CLIMBING * len(core)


_MARKS = re.compile(r"[!@#$%^&*+=?~|\\]")
_CALL = re.compile(r"[A-Za-z_][\w.]*\(|[{(\[]")
_CODE = re.compile(r"[(\[{]|^[a-z_]+(?:\.[a-z_]+)+$|://|^[@#/][a-z_/.-]+$|^\d+[-+]?[a-z]*$")
_PHRASE = re.compile(r"[a-z]{3,}(?:-[a-z]{3,}){3,}")


def is_password(value: str) -> bool:
    """Whether it looks like a chosen password: letters with digits or marks, a long number, or four words."""
    if _CODE.search(value) and not _MARKS.search(value[1:]):
        return value.isdigit() and len(value) >= 6
    if _CALL.match(value):
        return False
    if len(value) >= 10 and is_mixed(value) and not is_wordy(value):
        return True
    has_letter = any(map(str.isalpha, value))
    has_sign = any(map(str.isdigit, value)) or _has_mark(value)
    return (has_letter and has_sign) or bool(_PHRASE.fullmatch(value))


def is_strong_password(value: str) -> bool:
    """Whether it is a password even where a word is possible: it has two of digits, marks, both cases."""
    has_case = any(map(str.isupper, value)) and any(map(str.islower, value))
    if any(map(str.isdigit, value)):
        return (has_case or bool(_MARKS.search(value))) and is_password(value)
    return has_case and _has_mark(value) and not is_wordy(value)


def _has_mark(value: str) -> bool:
    """Whether it has a mark inside; a mark at its ends may belong to the sentence."""
    return bool(_MARKS.search(value.strip("*")[1:-1]))


def is_key(value: str) -> bool:
    """Whether it could be a key of any issuer: a UUID, a random string, or a strong password."""
    return is_uuid(value) or is_random(value, 10) or (len(value) >= 8 and is_strong_password(value))


def is_login(value: str) -> bool:
    """Whether it is `user:password` in base64."""
    try:
        login = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return ":" in login and login.isprintable()
