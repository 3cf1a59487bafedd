"""How credentials look that people or issuers choose: passwords, keys, logins."""

import base64
import binascii
import re

from memorywire.policy.redact.looks import is_mixed, is_random, is_uuid, is_wordy

_MARKS = re.compile(r"[!@#$%^&*+=?~|\\]")
_CALL = re.compile(r"[A-Za-z_][\w.]*\(|[{(\[]")
_CODE = re.compile(r"[(\[{]|^[a-z_]+(?:\.[a-z_]+)+$|://|^[@#/][a-z_/.-]+$|^\d+[-+]?[a-z]*$")
_PHRASE = re.compile(r"[a-z]{3,}(?:-[a-z]{3,}){3,}")


def is_password(value: str) -> bool:
    """Whether somebody chose it to log in: letters with digits or marks, a long number, or four words."""
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
    """Whether it is a password even where a word could stand: it has two of digits, marks, both cases."""
    has_case = any(map(str.isupper, value)) and any(map(str.islower, value))
    if any(map(str.isdigit, value)):
        return (has_case or bool(_MARKS.search(value))) and is_password(value)
    return has_case and _has_mark(value) and not is_wordy(value)


def _has_mark(value: str) -> bool:
    """Inside it: at its ends a mark belongs to the sentence."""
    return bool(_MARKS.search(value.strip("*")[1:-1]))


def is_key(value: str) -> bool:
    """Whether it could be a key of any issuer: random, and long enough to be worth guessing."""
    return is_uuid(value) or is_random(value, 10) or _is_short_key(value)


def _is_short_key(value: str) -> bool:
    return len(value) >= 8 and is_strong_password(value)


def is_login(value: str) -> bool:
    """Whether it is `user:password` in base64."""
    try:
        said = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return ":" in said and said.isprintable()
