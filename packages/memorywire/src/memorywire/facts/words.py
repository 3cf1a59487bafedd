"""The word classes of the reader. A class determines a kind or a slot; there are no whole sentences here."""

import json
from pathlib import Path


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TABLES: dict[str, str] = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))


DIETS = _words(
    """
    vegan vegetarian veggie pescatarian pescetarian flexitarian omnivore carnivore fruitarian keto paleo
    plant-based
    """
)
"""Diets that exclude each other: the newer one replaces the older."""

RULES_OF_FOOD = DIETS | _words(
    """
    kosher halal coeliac celiac coeliacs celiacs teetotal teetotaller gluten-free dairy-free nut-free
    lactose-free sugar-free alcohol-free low-carb low-fodmap meat-free lactose-intolerant gluten-intolerant
    """
)

CONDITIONS = _words(_TABLES["CONDITIONS"])

ILLNESSES = _words(_TABLES["ILLNESSES"])

FOODS = _words(_TABLES["FOODS"])

KIN = _words(_TABLES["KIN"])

PEOPLE = KIN | _words(
    """
    boss manager supervisor colleague coworker co-worker teammate friend neighbour neighbor roommate
    flatmate housemate landlord landlady tenant mentor intern assistant secretary client customer supervisor
    teacher tutor coach trainer therapist doctor gp dentist physio physiotherapist vet accountant lawyer
    solicitor nanny babysitter cleaner gardener bookkeeper hairdresser cofounder co-founder ceo cto cfo lead
    lodger pa bestie midwife optician cardiologist dermatologist psychiatrist counsellor counselor carer
    caregiver guest editor agent contractor electrician plumber builder
    """
)

PETS = _words(_TABLES["PETS"])

THINGS = _words(_TABLES["THINGS"])


PLANS = _words("plan tier subscription package tariff licence license membership contract account edition")

MEETINGS = _words(_TABLES["MEETINGS"])

EVENTS = _words(
    """
    baby operation surgery accident stroke fall miscarriage heart-attack transplant bypass c-section scan
    biopsy miscarriage breakdown fracture knee hip daughter son child twins
    """
)

JOBS = _words(_TABLES["JOBS"])

NOT_JOBS = _words(_TABLES["NOT_JOBS"])

JOB_ENDINGS = tuple("ologist ographer ician grapher keeper smith wright engineer developer".split())

LANGUAGES = _words(_TABLES["LANGUAGES"])

NATIONS = LANGUAGES | _words(
    """
    canadian australian austrian swiss belgian brazilian argentinian argentine mexican chilean colombian
    peruvian venezuelan cuban jamaican kenyan nigerian ghanaian ethiopian egyptian moroccan tunisian
    algerian israeli lebanese syrian iraqi iranian indian pakistani bangladeshi singaporean malaysian
    taiwanese scottish kiwi jewish muslim christian catholic protestant hindu buddhist sikh atheist agnostic
    mormon quaker european african asian latino latina black white gay lesbian bisexual trans transgender
    nonbinary non-binary queer straight asexual scouse orthodox anglican
    """
)

STATES = _words(
    """
    married single divorced separated engaged widowed retired unemployed self-employed freelance vegetarian
    adopted homeschooled bilingual trilingual childless
    """
)

LANGUAGES_OF_CODE = _words(
    """
    python java javascript typescript rust golang c++ c# ruby php kotlin swift scala haskell elixir erlang
    clojure lua perl julia dart zig ocaml f# fortran cobol sql bash powershell matlab
    """
)

DATABASES = _words(_TABLES["DATABASES"])

EDITORS = _words(
    "vim neovim nvim emacs vscode pycharm intellij webstorm sublime helix zed xcode eclipse rider goland"
)

SYSTEMS = _words(
    """
    linux windows macos ubuntu debian fedora arch nixos centos rhel alpine android ios ipados chromeos
    freebsd mint manjaro wsl
    """
)

QUEUES = _words("kafka rabbitmq sqs nats pulsar celery sidekiq zeromq activemq")

TOOLS = (
    LANGUAGES_OF_CODE
    | DATABASES
    | EDITORS
    | SYSTEMS
    | QUEUES
    | _words(
        """
    git github gitlab bitbucket docker podman kubernetes k8s helm terraform ansible pulumi jenkins circleci
    travis argo argocd nginx apache caddy traefik aws gcp azure heroku vercel netlify cloudflare django
    flask fastapi rails laravel react vue angular svelte nextjs nuxt node nodejs deno bun webpack vite
    pytest unittest jest vitest mocha cypress playwright selenium ruff mypy eslint prettier poetry uv pip
    conda npm yarn pnpm maven gradle bazel cmake zsh tmux slack teams zoom jira linear trello asana notion
    confluence figma sketch photoshop excel powerpoint keynote outlook gmail thunderbird obsidian evernote
    todoist spotify sentry datadog grafana prometheus splunk pagerduty salesforce hubspot sap xero
    quickbooks stripe paypal numpy pandas pytorch tensorflow jax spark airflow dbt tailwind graphql grpc
    protobuf json yaml toml trunk main
    """
    )
)

CONFIGURED = _words(_TABLES["CONFIGURED"])

TASTES = _words(_TABLES["TASTES"])

WEEKDAYS = _words(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
    saturdays sundays weekend weekends weekday weekdays
    """
)

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
