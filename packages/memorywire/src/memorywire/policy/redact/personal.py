"""Finds personal data (optional): card and account numbers, national ids, phone numbers, e-mail addresses.

If a number has check digits, they must be valid. A number without them must be in the usual format, or
follow a word that names its kind.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from itertools import cycle

from memorywire.policy.redact.rules import Rank, Span

_IBAN_LENGTHS = {
    code: int(length)
    for code, length in re.findall(
        r"([A-Z]{2})(\d\d)",
        "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18FR27GB22"
        "GE22GI23GL18GR27GT28HR21HU28IE22IL23IS26IT27JO30KW30KZ20LB28LI21LT20LU20LV21MC27MD24ME22MK19MR27MT31"
        "MU30NL18NO15PK24PL28PS29PT25QA29RO24RS22SA24SE24SI19SK24SM27TN24TR26UA29VA22VG24XK20",
    )
}
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])")
_CARD = re.compile(r"(?<![\w.,-])(?<!\d )(?:\d[ -]?){12,18}\d(?![\w-]|[., ]\d)")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![A-Za-z0-9])")
_PHONE = re.compile(
    r"(?<![\w.+,-])(?:\+|00)[1-9]\d{0,2}(?:[ ./-]?\(?\d{1,5}\)?){2,6}(?![\w-]|[.,]\d)"
    r"|(?<![\w.+,-])(?<!\d )\(?[2-9]\d{2}\)?[ .-][2-9]\d{2}[ .-]\d{4}(?![\w-]|[., ]\d)"
    r"|(?<![\w.+,-])(?<!\d )0[1-9]\d{1,4}[ /-]\d{3,4}[ -]?\d{2,5}(?![\w-]|[., ]\d)"
)
_PHONE_WORDS = re.compile(
    r"(?i)\b(?:phone|mobile|cell|call|text|whatsapp|signal|fax|tel|telefon|handy|téléphone|teléfono|móvil|celular)"
    r"\b[^\n\d+]{0,24}(\+?[\d(][\d ()/.-]{5,18}\d)(?![\w-])"
)
_SSN = re.compile(r"(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
_NUMBERS = re.compile(r"(?<![\w.,/-])\d[\d ./-]{7,20}\d[A-Za-z]?(?![\w/-]|[.,]\d)")
_LETTERED = re.compile(r"(?<![A-Za-z0-9])[A-Z0-9]{8,18}(?![A-Za-z0-9])")
_NINO = re.compile(
    r"(?<![A-Za-z0-9])(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]"
    r"(?: ?\d\d){3} ?[A-D](?!\w)"
)
_LEAST_PHONE, _MOST_PHONE = 7, 15
_SHORT_CARD = 13


def find_personal(text: str) -> Iterator[Span]:
    """Yield every place of personal data in the text."""
    if "@" in text:
        yield from _spans(_EMAIL, text, "email-address", lambda value: True)
    if not any(map(str.isdigit, text)):
        return
    yield from _spans(_CARD, text, "card-number", _is_card)
    yield from _spans(_IBAN, text, "iban", _is_iban)
    yield from _spans(_SSN, text, "national-id", lambda value: True)
    yield from _spans(_NINO, text, "national-id", lambda value: True)
    yield from _spans(_NUMBERS, text, "national-id", _is_national_number)
    yield from _spans(_LETTERED, text, "national-id", lambda value: _is_spanish(value) or _is_italian(value))
    yield from _spans(_PHONE, text, "phone-number", _is_phone)
    for match in _PHONE_WORDS.finditer(text):
        if _is_phone(match.group(1)):
            yield Span(match.start(1), match.end(1), "phone-number", Rank.CONTEXT)


def _spans(pattern: re.Pattern[str], text: str, label: str, accepts: Callable[[str], bool]) -> Iterator[Span]:
    for match in pattern.finditer(text):
        if accepts(match.group()):
            yield Span(match.start(), match.end(), label, Rank.ISSUER)


def _digits(value: str) -> list[int]:
    return [int(char) for char in value if "0" <= char <= "9"]


def _weigh(digits: list[int], weights: Iterable[int]) -> int:
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))


def _is_phone(value: str) -> bool:
    return _LEAST_PHONE <= len(_digits(value)) <= _MOST_PHONE and len(set(_digits(value))) > 2


def _is_luhn(digits: list[int]) -> bool:
    doubled = (
        sum(divmod(digit * 2, 10)) if odd else digit for digit, odd in zip(digits[::-1], cycle((0, 1)))
    )
    return sum(doubled) % 10 == 0


def _is_card(value: str) -> bool:
    """Whether the prefix belongs to a card network, and the check digit is valid."""
    digits = _digits(value)
    start = value.replace(" ", "").replace("-", "")
    issuer = re.match(r"4|5[1-5]|2[2-7]|3[47]|6(?:011|5|4[4-9])|35|30[0-5]|3[689]|62|220", start)
    return bool(issuer) and len(digits) >= _SHORT_CARD and len(set(digits)) > 1 and _is_luhn(digits)


def _is_iban(value: str) -> bool:
    plain = value.replace(" ", "")
    if _IBAN_LENGTHS.get(plain[:2]) != len(plain):
        return False
    return int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1


def _is_national_number(value: str) -> bool:
    if value[-1].isalpha():
        return _is_chinese(value)
    checks: dict[int, tuple[Callable[[str], bool], ...]] = {
        10: (_is_swedish,),
        11: (_is_cpf, _is_pesel, _is_german_tax_id),
        12: (_is_aadhaar,),
        14: (_is_cnpj,),
        15: (_is_french,),
        18: (_is_chinese,),
    }
    digits = _digits(value)
    return len(set(digits)) > 2 and any(check(value) for check in checks.get(len(digits), ()))


def _is_cpf(value: str) -> bool:
    """Brazil, persons: two check digits; only with its points, else the number could be anything."""
    if not re.fullmatch(r"\d{3}\.\d{3}\.\d{3}-\d\d", value):
        return False
    digits = _digits(value)
    sums = [_weigh(digits, range(size + 1, 1, -1)) for size in (9, 10)]
    return [total * 10 % 11 % 10 for total in sums] == digits[9:]


def _is_cnpj(value: str) -> bool:
    """Brazil, companies."""
    if not re.fullmatch(r"\d\d\.\d{3}\.\d{3}/\d{4}-\d\d", value):
        return False
    digits, weights = _digits(value), (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)
    rests = [_weigh(digits, weights[-size:]) % 11 for size in (12, 13)]
    return [0 if rest < 2 else 11 - rest for rest in rests] == digits[12:]


def _is_pesel(plain: str) -> bool:
    """Poland: the date of birth, and a check digit, in one piece."""
    digits = _digits(plain)
    if not plain.isdigit():
        return False
    century = {8: 1800, 0: 1900, 2: 2000, 4: 2100, 6: 2200}[digits[2] // 2 * 2]
    if not _is_date(century + int(plain[:2]), int(plain[2:4]) % 20, int(plain[4:6])):
        return False
    return _weigh(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def _is_german_tax_id(value: str) -> bool:
    """Germany: ISO 7064 MOD 11,10, and exactly one digit two or three times among the first ten."""
    if not re.fullmatch(r"\d{11}|\d\d \d{3} \d{3} \d{3}", value):
        return False
    plain = value.replace(" ", "")
    counts = sorted((plain[:10].count(digit) for digit in set(plain[:10])), reverse=True)
    if plain[0] == "0" or counts[0] not in (2, 3) or counts[1] != 1:
        return False
    product = 10
    for digit in _digits(plain[:10]):
        product = ((digit + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(plain[10])


def _is_swedish(value: str) -> bool:
    """Sweden: a date of birth, a dash, and a Luhn digit."""
    if not re.fullmatch(r"\d{6}-\d{4}", value):
        return False
    return _is_luhn(_digits(value)) and _is_date(1900 + int(value[:2]), int(value[2:4]), int(value[4:6]))


def _is_aadhaar(value: str) -> bool:
    """India: three groups of four digits with a Verhoeff digit."""
    if not re.fullmatch(r"[2-9]\d{3} \d{4} \d{4}", value):
        return False
    check = 0
    for place, digit in enumerate(reversed(_digits(value))):
        for _ in range(place % 8):
            digit = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)[digit]
        # The product of two elements of the group of a pentagon's symmetries.
        turn = check + digit if check < 5 else check - digit
        check = turn % 5 + 5 * ((check < 5) is not (digit < 5))
    return check == 0


def _is_french(value: str) -> bool:
    """France: sex, year and month of birth, place, and the remainder by 97."""
    plain = "".join(map(str, _digits(value)))
    if plain[0] not in "12" or not 1 <= int(plain[3:5]) <= 12:
        return False
    return 97 - int(plain[:13]) % 97 == int(plain[13:])


def _is_chinese(value: str) -> bool:
    """China: a place, the date of birth, and ISO 7064 MOD 11-2."""
    plain = re.sub(r"\D", "", value[:-1]) + value[-1].upper()
    if not re.fullmatch(r"[1-8]\d{16}[\dX]", plain):
        return False
    if not _is_date(int(plain[6:10]), int(plain[10:12]), int(plain[12:14])):
        return False
    checksum = sum(int(char) * pow(2, 17 - place, 11) for place, char in enumerate(plain[:17]))
    return "10X98765432"[checksum % 11] == plain[17]


def _is_spanish(value: str) -> bool:
    """Spain: DNI and NIE, whose letter is the remainder by 23."""
    if not re.fullmatch(r"[XYZ\d]\d{7}[A-Z]", value):
        return False
    number = int(value[:-1].translate(str.maketrans("XYZ", "012")))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == value[-1]


def _is_italian(value: str) -> bool:
    """Italy: the codice fiscale, whose last letter is a checksum."""
    if not re.fullmatch(r"[A-Z]{6}\d\d[A-EHLMPR-T]\d\d[A-Z]\d{3}[A-Z]", value):
        return False
    odd = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
    numbers = [ord(char) - 65 if char.isalpha() else int(char) for char in value[:-1]]
    total = sum(number if place % 2 else odd[number] for place, number in enumerate(numbers))
    return chr(65 + total % 26) == value[-1]


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
