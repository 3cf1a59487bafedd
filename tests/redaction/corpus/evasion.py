"""Ways to write a secret so that a plain search walks past it."""

import base64
from collections.abc import Callable
from urllib.parse import quote

_TWINS = str.maketrans("aeopcxyABEKMHOPCTX", "аеорсхуАВЕКМНОРСТХ")
_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


def _every(step: int, mark: str) -> Callable[[str], str]:
    return lambda secret: mark.join(secret[at : at + step] for at in range(0, len(secret), step))


def _halves(mark: str) -> Callable[[str], str]:
    def split(secret: str) -> str:
        middle = len(secret) // 2
        return f"{secret[:middle]}{mark}{secret[middle:]}"

    return split


def _base64(secret: str) -> str:
    return base64.b64encode(secret.encode()).decode()


ENCODED: dict[str, Callable[[str], str]] = {
    "as it is": lambda secret: secret,
    "upper case": str.upper,
    "lower case": str.lower,
    "reversed": lambda secret: secret[::-1],
    "base64": _base64,
    "base64, one before": lambda secret: _base64(f"u:{secret}\n")[1:],
    "base64, two before": lambda secret: _base64(f"{secret}, and more")[:-4],
    "base64, inside": lambda secret: _base64(f"user:{secret}@host"),
    "base64 for URLs": lambda secret: base64.urlsafe_b64encode(f"x{secret}y".encode()).decode(),
    "hex": lambda secret: secret.encode().hex(),
    "HEX": lambda secret: secret.encode().hex().upper(),
    "url": lambda secret: quote(secret, safe=""),
    "url, all": lambda secret: "".join(f"%{byte:02X}" for byte in secret.encode()),
    "json": lambda secret: secret.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"),
}
"""Forms in which a registered value must be found without exception."""

DISGUISED: dict[str, Callable[[str], str]] = {
    "zero-width every 4": _every(4, "\u200b"),
    "zero-width joiner once": _halves("\u200d"),
    "soft hyphen every 6": _every(6, "\u00ad"),
    "Cyrillic and Greek twins": lambda secret: secret.translate(_TWINS),
    "full width": lambda secret: secret.translate(_WIDE),
    "split lines": _halves("\n"),
    "split lines, indented": _halves("\n    "),
    "split lines, backslash": _halves("\\\n"),
    "split and quoted": _halves("\n> "),
    "base64": _base64,
    "spaced out": _every(1, " "),
}
"""Reported, not promised."""
