"""Ordinary memories: prose, and the strings in them that look like secrets and are none."""

import base64
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random

from tests.redaction.corpus.shapes import WORDS, Sample, draw

_NAMES = (
    "Ana Ben Chloe Dana Emil Farah Goran Hana Iris Jonas Kira Luca Mei Nadia Omar Petra Ravi Sofia".split()
)
_CITIES = "Lisbon Osaka Toronto Kraków Zürich Nairobi Montréal Quito Tallinn Hanoi Porto Leipzig".split()
_THINGS = (
    "the quarterly report|a green tea|the onboarding plan|her bicycle|the search index|a pottery class|"
    "the garden|two tickets|the billing page|a new keyboard|the release notes|the piano"
).split("|")
_CODE = (
    "getUserByIdAndTenant handleTokenRefresh2Legacy MAX_TOKENS_PER_REQUEST test_password_reset_sends_mail "
    "AbstractSingletonProxyFactoryBean api_key_rotation_job secretsManagerClientV2 K8S_SERVICE_ACCOUNT_NAME "
    "useAuthTokenProvider parse_bearer_header_or_none dinov2_vits14_reg4_pretrain SSLContextV3BuilderImpl "
    "PasswordAuthenticationProviderConfig xlm-roberta-large-finetuned-conll03-english BM25OkapiRetrieverV2"
).split()
_PLACEHOLDERS = (
    "YOUR_API_KEY_HERE <your-token> ${OPENAI_API_KEY} xxxxxxxxxxxxxxxxxxxx "
    "sk-xxxxxxxxxxxxxxxxxxxxxxxx changeme {{secrets.TOKEN}} sk_test_YOUR_KEY_GOES_HERE "
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx $GITHUB_TOKEN AKIAIOSFODNN7EXAMPLE "
    "[REDACTED:github-token] **************** <API_KEY> insert-token-here abc123 os.environ"
).split()
_PROSE = (
    "{name} prefers {thing} over anything else and said so twice in {city}.",
    "In {city}, {name} and {other} talked about {thing} until late; {other} was not convinced.",
    "{name} moved to {city} in {year} and misses {thing}.",
    "The team decided to postpone {thing} until {name} is back from {city} on {day}.",
    "{name}'s daughter turned {small} in {month}; they celebrated with {thing}.",
    "Reminder: {name} wants {thing} delivered to {city} before {day}, room {small}.",
    "{other} asked whether {thing} could wait; {name} said the key point is trust, not speed.",
    "The token of appreciation for {name} was {thing}, bought in {city} for {small} euros.",
    "{name} forgot the password again and will ask {other} to reset it on {day}.",
    "The secret of {name}'s soup is patience, the key is under the mat, the pass is closed until {month}.",
    "Password policy: at least {small} characters, one digit, rotated every {small} days ({name}).",
    "{name} said the API key is kept in the vault and {other} has access to it since {year}.",
    "The PIN must have four digits and {name} should not write it on {thing}.",
    "Authorization was granted by {other} on {day}; the bearer of the badge is {name}.",
    "Token usage was {big} in {month}, about {small} % more than {name} had expected.",
    "{name} logged in from {city} at {hour}:{minute} and signed out {small} minutes later.",
    "Meeting notes {day}: {name} presents {thing}; {other} rotates credentials; call {hour}:{minute}.",
    "{name} 喜欢 {thing}，住在 {city}。",
    "{name} hat {other} gebeten, {thing} bis {day} nach {city} zu bringen.",
    "{name} adore {thing} 🎹 et habite à {city} depuis {year}.",
)
_CARRIERS = (
    "The record is {value} and {name} checked it.",
    "{name} mentioned {value} on {day}.",
    "See {value} for the details.",
    "{value}",
    "Noted: {value} ({city})",
)


def _uuid(random: Random) -> str:
    return str(uuid.UUID(int=random.getrandbits(128), version=4))


def _image(random: Random) -> str:
    body = base64.b64encode(random.randbytes(random.randint(60, 600))).decode()
    return f"data:image/png;base64,iVBORw0KGgo{body}"


def _stamp(random: Random) -> str:
    return datetime.fromtimestamp(random.randint(10**9, 2 * 10**9), UTC).isoformat()


def _identifier(random: Random) -> str:
    words = random.choices(WORDS, k=random.randint(2, 4))
    camel = words[0] + "".join(word.title() for word in words[1:]) + str(random.randint(1, 99))
    return random.choice((camel, "_".join(words), "-".join((*words, str(random.randint(1, 999))))))


def _pod(random: Random) -> str:
    pods = "bcdfghjklmnpqrstvwxz2456789"
    tail = "".join(random.choices(pods, k=10)), "".join(random.choices(pods, k=5))
    return "-".join((random.choice(("auth-svc", "api-gateway", "token-refresher", *WORDS)), *tail))


def _shaped(*shapes: str) -> Callable[[Random], str]:
    return lambda random: draw(random.choice(shapes), random)


_STRINGS: dict[str, Callable[[Random], str]] = {
    "uuid": _uuid,
    "git-sha": _shaped("{hex:40}", "{hex:7}", "{hex:12}", "commit {hex:40}"),
    "digest": _shaped("{hex:64}", "sha256:{hex:64}", "md5 {hex:32}", "{hex:32}", "sha512-{base64:86}=="),
    "ulid": _shaped("01{upper:24}", "01J{upper:23}"),
    "url": _shaped(
        "https://www.example.com/articles/{digit:6}/the-garden-in-winter?ref=newsletter&page=2",
        "https://docs.example.com/document/d/1{url:43}/edit",
        "https://video.example.com/watch?v={url:11}",
        "https://github.com/org/project/commit/{hex:40}",
        "https://cdn.example.com/assets/app.{hex:20}.js",
        "https://example.com/track?utm_source=mail&utm_campaign=spring-{digit:4}&cid={digit:9}.{digit:10}",
    ),
    "image": _image,
    "object-id": _shaped(
        "{hex:24}",
        "req_{alnum:24}",
        "msg_{alnum:24}",
        "thread_{alnum:24}",
        "cus_{alnum:14}",
        "chatcmpl-{alnum:29}",
        "pi_{alnum:24}",
        "evt_{alnum:24}",
        "i-{hex:17}",
        "order #{digit:9}",
        "run_{alnum:24}",
        "call_{alnum:24}",
    ),
    "phone": _shaped(
        "+49 30 {digit:8}", "(555) {digit:3}-{digit:4}", "+44 20 {digit:4} {digit:4}", "555-{digit:4}"
    ),
    "stamp": _stamp,
    "code": lambda random: random.choice(_CODE),
    "identifier": _identifier,
    "placeholder": lambda random: random.choice(_PLACEHOLDERS),
    "assigned-placeholder": lambda random: f"api_key={random.choice(_PLACEHOLDERS)}",
    "file": _shaped(
        "IMG_2024{digit:4}_{digit:6}.jpg", "/var/log/app/{hex:12}.log", "report-{digit:4}-final-v2.pdf"
    ),
    "version": _shaped("v2.{digit:2}.{digit:1}", "1.{digit:1}.0-rc.{digit:1}+build.{digit:4}", "py3.11"),
    "model": _shaped(
        "Llama-3.1-{digit:2}B-Instruct-Q4_K_M.gguf", "text-embedding-3-large-{digit:4}", "gpt-4o-2024-08-06"
    ),
    "pod": _pod,
    "iban": _shaped(
        "DE{digit:20}", "tracking number 1Z{upper:16}", "ISBN 978-{digit:10}", "flight LH{digit:4}"
    ),
    "address": _shaped(
        "wallet address 0x{hex:40}", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{base64:43} ana@host"
    ),
    "mac": _shaped(
        "{hex:2}:{hex:2}:{hex:2}:{hex:2}:{hex:2}:{hex:2}", "2001:db8::{hex:4}", "10.0.{digit:1}.{digit:2}"
    ),
    "math": _shaped(
        "E = mc^2 + {digit:3}", "p<0.0{digit:1}, n={digit:4}", "{digit:3}.{digit:6},-{digit:2}.{digit:6}"
    ),
    "shell": _shaped(
        "pip install package-{digit:1}=={digit:1}.{digit:2}.1",
        "git checkout -b feature/{digit:4}-token-refresh",
        "kubectl get secret db-credentials -o yaml",
        "docker run -p 8080:80 app:{hex:8}",
        "ssh-keygen -t ed25519 -C ana",
        "export PATH=$HOME/bin:$PATH",
        "password = getpass.getpass()",
        "token = os.environ['TOKEN']",
        "secret_key: !env SECRET_KEY",
        "auth: AuthProvider = Depends(get_auth)",
        "if password is None: raise",
    ),
    "hashed-field": _shaped(
        "etag {hex:32}", "request id {url:22}", "trace_id={hex:32}", "cursor {base64:24}=="
    ),
}


def ordinary(count: int, seed: int = 7) -> list[Sample]:
    """So many memories without a secret: two thirds prose, the rest around a string that looks like one."""
    random = Random(seed)
    return [_memory(random, at) for at in range(count)]


def _memory(random: Random, at: int) -> Sample:
    if at % 3:
        return Sample("prose", _filled(random.choice(_PROSE), random))
    kind = sorted(_STRINGS)[at // 3 % len(_STRINGS)]
    return Sample(kind, _filled(random.choice(_CARRIERS), random, _STRINGS[kind](random)))


def _filled(template: str, random: Random, value: str = "") -> str:
    name, other = random.sample(_NAMES, 2)
    return template.format(
        name=name,
        other=other,
        city=random.choice(_CITIES),
        thing=random.choice(_THINGS),
        year=random.randint(1990, 2026),
        day=f"{random.randint(1, 28)}.{random.randint(1, 12)}.",
        month=random.choice("January March May July October December".split()),
        small=random.randint(2, 90),
        big=f"{random.randint(10**5, 10**7):,}",
        hour=random.randint(0, 23),
        minute=f"{random.randint(0, 59):02}",
        value=value,
    )


def filler(size: int, seed: int = 11) -> str:
    """A long ordinary text, for timing."""
    random = Random(seed)
    lines: list[str] = []
    while sum(map(len, lines)) < size:
        lines.append(_memory(random, random.randint(0, 10**6)).text)
    return "\n".join(lines)[:size]
