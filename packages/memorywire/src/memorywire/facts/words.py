"""The word classes of the reader. A class determines a kind or a slot; there are no whole sentences here."""

import json
from pathlib import Path


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TABLES: dict[str, str] = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))


DIETS = _words(_TABLES["DIETS"])
"""Diets that exclude each other: the newer one replaces the older."""

RULES_OF_FOOD = DIETS | _words(_TABLES["RULES_OF_FOOD"])

CONDITIONS = _words(_TABLES["CONDITIONS"])

ILLNESSES = _words(_TABLES["ILLNESSES"])

FOODS = _words(_TABLES["FOODS"])

KIN = _words(_TABLES["KIN"])

PEOPLE = KIN | _words(_TABLES["PEOPLE"])

PETS = _words(_TABLES["PETS"])

THINGS = _words(_TABLES["THINGS"])


PLANS = _words("plan tier subscription package tariff licence license membership contract account edition")

MEETINGS = _words(_TABLES["MEETINGS"])

EVENTS = _words(_TABLES["EVENTS"])

JOBS = _words(_TABLES["JOBS"])

NOT_JOBS = _words(_TABLES["NOT_JOBS"])

JOB_ENDINGS = tuple("ologist ographer ician grapher keeper smith wright engineer developer".split())

LANGUAGES = _words(_TABLES["LANGUAGES"])

NATIONS = LANGUAGES | _words(_TABLES["NATIONS"])

STATES = _words(_TABLES["STATES"])

LANGUAGES_OF_CODE = _words(_TABLES["LANGUAGES_OF_CODE"])

DATABASES = _words(_TABLES["DATABASES"])

EDITORS = _words(_TABLES["EDITORS"])

SYSTEMS = _words(_TABLES["SYSTEMS"])

QUEUES = _words("kafka rabbitmq sqs nats pulsar celery sidekiq zeromq activemq")

TOOLS = LANGUAGES_OF_CODE | DATABASES | EDITORS | SYSTEMS | QUEUES | _words(_TABLES["TOOLS"])

CONFIGURED = _words(_TABLES["CONFIGURED"])

TASTES = _words(_TABLES["TASTES"])

WEEKDAYS = _words(_TABLES["WEEKDAYS"])

MONTHS = _words(_TABLES["MONTHS"])

VAGUE = _words(_TABLES["VAGUE"])

SLOT_OF_NOUN = {
    noun: slot.strip()
    for slot, _, nouns in (
        entry.partition(":")
        for entry in """
    home: home house flat apartment; address: address postcode; phone: phone mobile telephone cell landline;
    email: email e-mail mail; employer: employer company firm workplace; job: job title role position
    profession occupation; birthday: birthday birthdate; name: name surname nickname firstname; pronouns:
    pronouns pronoun; blood_type: blood; timezone: timezone zone; plan: plan tier subscription tariff
    package; order: order; account: account username login handle; partner: wife husband partner spouse
    girlfriend boyfriend fiancé fiancée fiance fiancee; manager: boss manager supervisor; landlord: landlord
    landlady; children: kids kid children child sons daughters boys girls twins; doctor: doctor gp; car: car
    van truck; budget: budget; size: size; height: height; weight: weight; passport: passport; visa: visa;
    language: language tongue; diet: diet; allergy: allergy allergies intolerance; religion: religion faith;
    school: school university college; database: database db; editor: editor ide; system: os; branch:
    branch; port: port; pet: dog cat puppy kitten pet parrot rabbit hamster horse; anniversary: anniversary;
    currency: currency
    """.replace("\n", " ").split("; ")
    )
    for noun in nouns.split()
}
"""The slot of a possession or attribute, by its noun."""

SINGLE = frozenset(
    """
    name home employer job language birthday age partner phone email address plan timezone pronouns budget
    database editor system branch port height weight blood_type manager landlord car passport visa currency
    account birthplace nationality marital_status deploy_day meeting_time diet answer_language religion
    contact queue address_form favourite salary doctor schedule
    """.split()
)
"""Slots with one value at a time."""

LIKES = {"like": 1, "love": 1, "enjoy": 1, "prefer": 1, "adore": 1, "hate": -1, "dislike": -1, "detest": -1}
"""Verbs of taste: whether somebody likes a thing or not."""
