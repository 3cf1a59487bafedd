"""Generated memories in plain sentences, each with a question in other words.

The same seed gives the same sentences on every machine. Nothing is taken from a data set.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import count

from msgspec import Struct

_SLOTS = {
    "first": "Ada Bruno Carla Deniz Elena Farid Greta Hugo Ines Jonas Katya Luca Mira Nils Olga Pavel "
    "Quentin Rosa Samir Tessa Umar Vera Wanda Xenia Yusuf Zoe Amara Boris Celine Dario",
    "last": "Abara Bellini Castro Dufour Eklund Farkas Grimaldi Haddad Ivanov Jansen Kowalski Lindqvist "
    "Moreau Novak Okafor Petrov Quiroga Rossi Sato Tanaka Ueda Vargas Weber Yamada Zielinski Andersen Brandt "
    "Costa Dimitrov Esposito",
    "place": "Lisbon Oslo Nairobi Kyoto Valparaiso Tallinn Marseille Bologna Ghent Porto Seville Krakow "
    "Wellington Montreal Dakar Izmir Bergen Leipzig Graz Tbilisi Cork Malaga Turin Aarhus Quito",
    "job": "carpenter nurse translator architect beekeeper welder pharmacist librarian gardener surveyor "
    "cartographer baker electrician violinist geologist dentist",
    "food": "mushrooms almonds shellfish aubergine coriander celery papaya olives beetroot anchovies "
    "buckwheat ginger lentils rhubarb",
    "pet": "tortoise greyhound parrot ferret beagle hedgehog cockatiel rabbit terrier cat",
    "hobby": "rowing pottery chess sailing embroidery fencing birdwatching climbing calligraphy astronomy "
    "woodcarving juggling",
    "tool": "printer scanner router projector generator thermostat turntable telescope heater compressor",
    "service": "billing search login shipping invoicing catalogue mailing payroll booking archive",
    "month": "January February March April May June July August September October November December",
    "weekday": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "colour": "green purple orange turquoise crimson grey yellow silver",
}
_WORDS = {slot: tuple(words.split()) for slot, words in _SLOTS.items()}
_CHOICES: dict[str, Sequence[str | int]] = {
    **_WORDS,
    "other": _WORDS["first"],
    "year": range(1995, 2027),
    "day": range(1, 29),
    "small": range(2, 13),
    "room": range(100, 1000),
    "port": range(1024, 49152),
    "price": range(15, 4901),
}

# The stored sentence, and the question about it.
_TEMPLATES = (
    (
        "{first} {last} moved to {place} in {year} and works there as a {job}",
        "in which city does {first} {last} live now?",
    ),
    (
        "{first} {last} is allergic to {food} and carries an emergency pen",
        "what should {first} {last} not be given to eat?",
    ),
    (
        "the {pet} of {first} {last} is called {other} and is {small} years old",
        "what is the name of the animal {first} {last} keeps?",
    ),
    (
        "on {weekday}s {first} {last} practises {hobby} with friends from {place}",
        "how does {first} {last} spend {weekday} evenings?",
    ),
    (
        "the {service} service in {place} listens on port {port} and is restarted every {weekday}",
        "how do I reach the {service} system of the {place} office?",
    ),
    (
        "{first} {last} paid {price} euros for the {tool} in {month} {year}",
        "how much did the {tool} cost that {first} {last} bought?",
    ),
    (
        "the wedding of {first} {last} and {other} is on {day} {month} {year} in {place}",
        "when does {first} {last} get married?",
    ),
    (
        "{first} {last} prefers the {colour} theme and reads reports on {weekday} mornings",
        "which look does {first} {last} like best?",
    ),
    (
        "before the {tool} in room {room} is opened, switch off the fuse marked {colour}",
        "what has to be done first with the {tool} of room {room}?",
    ),
    (
        "{first} {last} felt nervous before the {hobby} contest in {place} and proud afterwards",
        "how did {first} {last} feel about competing in {place}?",
    ),
    (
        "the rent of the flat in {place} rose to {price} euros in {month} {year}, says {first} {last}",
        "what does {first} {last} pay for housing in {place}?",
    ),
    (
        "{first} {last} speaks {small} languages and grew up near {place} with a {pet}",
        "where did {first} {last} spend childhood?",
    ),
)


class Fact(Struct, frozen=True):
    """A memory and a question it answers."""

    content: str
    question: str


def facts(seed: int = 1) -> Iterator[Fact]:
    """Yield facts without end, no two with the same content."""
    said: set[bytes] = set()
    for number in count():
        fact = _fact(f"{seed}:{number}")
        digest = _digest(fact.content, 8)
        if digest not in said:
            said.add(digest)
            yield fact


def _fact(name: str) -> Fact:
    """Return the fact of this name: the digits of its digest choose template and words."""
    digits, chosen = divmod(int.from_bytes(_digest(name, 32)), len(_TEMPLATES))
    slots: dict[str, str | int] = {}
    for slot, choices in _CHOICES.items():
        digits, at = divmod(digits, len(choices))
        slots[slot] = choices[at]
    content, question = _TEMPLATES[chosen]
    return Fact(content.format(**slots), question.format(**slots))


def _digest(text: str, size: int) -> bytes:
    return blake2b(text.encode(), digest_size=size).digest()
