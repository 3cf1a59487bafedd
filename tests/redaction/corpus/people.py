"""Personal data drawn from a seed, with right and with wrong check digits, in sentences."""

from collections.abc import Callable
from random import Random

from tests.redaction.corpus.shapes import Sample

_SENTENCES = (
    "Ana's number is {value}, she said.",
    "For the contract: {value}",
    "{value} is what Ben wrote down.",
    "Please note {value} (Chloe) for Friday.",
)


def _digits(random: Random, count: int) -> str:
    return "".join(random.choices("0123456789", k=count))


def _luhn(body: str) -> str:
    doubled = [int(d) * 2 if at % 2 == 0 else int(d) for at, d in enumerate(reversed(body))]
    return str(-sum(n // 10 + n % 10 for n in doubled) % 10)


def _card(random: Random) -> str:
    body = random.choice(("4", "51", "2221", "6011")) + _digits(random, 15)
    number = body[:15] + _luhn(body[:15])
    return random.choice((number, " ".join(number[at : at + 4] for at in range(0, 16, 4))))


def _iban(random: Random) -> str:
    country, length = random.choice((("DE", 18), ("FR", 23), ("NL", 14), ("ES", 20), ("CH", 17)))
    body = "ABNA" + _digits(random, 10) if country == "NL" else _digits(random, length)
    rest = int("".join(str(int(char, 36)) for char in f"{body}{country}00")) % 97
    number = f"{country}{98 - rest:02}{body}"
    return random.choice((number, " ".join(number[at : at + 4] for at in range(0, len(number), 4))))


def _dni(random: Random) -> str:
    number = random.randrange(10**7, 10**8)
    return f"{number}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def _cpf(random: Random) -> str:
    body = _digits(random, 9)
    for size in (9, 10):
        body += str(sum(int(d) * w for d, w in zip(body, range(size + 1, 1, -1), strict=True)) * 10 % 11 % 10)
    return f"{body[:3]}.{body[3:6]}.{body[6:9]}-{body[9:]}"


def _ssn(random: Random) -> str:
    return f"{random.randint(100, 665)}-{random.randint(10, 99)}-{random.randint(1000, 9999)}"


def _pesel(random: Random) -> str:
    body = f"{random.randint(40, 99)}{random.randint(1, 12):02}{random.randint(1, 28):02}{_digits(random, 4)}"
    weighted = sum(int(d) * w for d, w in zip(body, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3), strict=True))
    return f"{body}{-weighted % 10}"


def _phone(random: Random) -> str:
    return random.choice(
        (
            f"+49 30 {_digits(random, 8)}",
            f"+1 415-55{_digits(random, 1)}-{_digits(random, 4)}",
            f"+44 20 7{_digits(random, 3)} {_digits(random, 4)}",
            f"({random.randint(201, 989)}) 5{_digits(random, 2)}-{_digits(random, 4)}",
            f"+33 6 {' '.join(_digits(random, 2) for _ in range(4))}",
        )
    )


def _email(random: Random) -> str:
    name = random.choice(("ana", "ben.li", "chloe+news", "d_k", "emil1990"))
    return f"{name}@{random.choice(('example.com', 'mail.example.co.uk', 'firma.example'))}"


MAKERS: dict[str, Callable[[Random], str]] = {
    "card": _card,
    "iban": _iban,
    "dni": _dni,
    "cpf": _cpf,
    "ssn": _ssn,
    "pesel": _pesel,
    "phone": _phone,
    "email": _email,
}
CHECKED = ("card", "iban", "dni", "cpf")
"""Kinds with check digits in a form of their own: a wrong digit makes them another number."""


def people(each: int, seed: int = 23) -> list[Sample]:
    """Sentences with personal data, `each` of every kind."""
    random = Random(seed)
    return [_sample(kind, MAKERS[kind](random), at) for kind in MAKERS for at in range(each)]


def mistyped(each: int, seed: int = 29) -> list[Sample]:
    """Sentences with numbers of the same form whose check digits are wrong, so that they are nobody's."""
    random = Random(seed)
    return [_sample("", _changed(MAKERS[kind](random)), at) for kind in CHECKED for at in range(each)]


def _changed(value: str) -> str:
    at = max(place for place, char in enumerate(value) if char.isdigit())
    return f"{value[:at]}{(int(value[at]) + 1) % 10}{value[at + 1 :]}"


def _sample(kind: str, value: str, at: int) -> Sample:
    text = _SENTENCES[at % len(_SENTENCES)].format(value=value)
    return Sample(kind or "mistyped", text, value if kind else "")
