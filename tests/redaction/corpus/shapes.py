"""Secrets by shape: `draw` fills a shape such as `abc_{alnum:40}` with random characters."""

import base64
import re
import string
from dataclasses import dataclass
from random import Random

ALPHABETS = {
    "alnum": string.ascii_letters + string.digits,
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + string.digits,
    "letters": string.ascii_letters,
    "hex": "0123456789abcdef",
    "digit": string.digits,
    "base64": string.ascii_letters + string.digits + "+/",
    "url": string.ascii_letters + string.digits + "-_",
    "base32": string.ascii_uppercase + "234567",
    "bech32": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}
WORDS = (
    "amber anchor apple autumn badger basket beacon bishop bottle branch breeze bridge canyon castle "
    "cedar cobalt copper coral cotton cricket dagger daisy dragon ember falcon feather forest fossil "
    "galaxy garden ginger glacier goblin hammer harbor hazel island jaguar jasper jungle kettle "
    "lantern lemon lizard magnet maple marble meadow mirror monkey nectar needle nickel ocean orange "
    "orchid oyster panther pebble pepper pigeon pirate planet plum pocket quartz rabbit raven ribbon "
    "river rocket saddle salmon shadow silver spider spruce summer sunset tiger timber turtle velvet "
    "violet walnut willow window winter zebra"
).split()

_HOLE = re.compile(r"\{(\w+):(\d+)(?:-(\d+))?\}")
_MARKS = "!@#$%&*?^~"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of secret: how it looks, who issues it, where it is usually kept, and if it shows by itself."""

    name: str
    shape: str
    issuer: str
    variable: str
    telling: bool = True
    """False for a shape that could be anything, so that only the words beside it tell."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A memory, and the secret in it (empty for an ordinary memory)."""

    kind: str
    text: str
    secret: str = ""


def draw(shape: str, random: Random) -> str:
    return _HOLE.sub(lambda hole: _fill(hole, random), shape)


def _fill(hole: re.Match[str], random: Random) -> str:
    name, low, high = hole[1], int(hole[2]), int(hole[3] or hole[2])
    length = random.randint(low, high)
    if name == "password":
        return password(random)
    if name == "login":
        return base64.b64encode(f"{random.choice(WORDS)}:{password(random)}".encode()).decode()
    if name == "phrase":
        return " ".join(random.choices(WORDS, k=length))
    return "".join(random.choices(ALPHABETS[name], k=length))


def password(random: Random) -> str:
    """As people choose them: a word or two, digits, often a mark."""
    first, second = (random.choice(WORDS) for _ in range(2))
    digits = str(random.randint(10, 9999))
    mark = random.choice(_MARKS)
    return random.choice(
        (
            f"{first.title()}{digits}{mark}",
            f"{first}{mark}{second}{digits}",
            f"{first.title()}{second.title()}{digits}",
            f"{mark}{first}{digits}{second.title()}",
            "".join(random.choices(ALPHABETS["alnum"] + _MARKS, k=random.randint(12, 20))),
        )
    )
