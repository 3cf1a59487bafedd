"""Chooses an extractor, or a model, by its name or URL."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from re import Match, Pattern
from typing import TYPE_CHECKING, Protocol, TypeAlias
from urllib.parse import SplitResult, parse_qs, urlsplit

from memorywire.model.errors import InvalidRequest
from memorywire.model.layer import Conversation, Fact, Turn
from memorywire.model.record import Scope
from memorywire.stores.contract import Ingester, Store, SupportsReplicas

if TYPE_CHECKING:
    from memorywire.pipeline.extract.chat import Chat


_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LONGEST = 400

_NAME = r"(?P<name>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,3})"
_THING = r"(?P<thing>[^.!?;\n]{2,120}?)"
_END = r"(?=[.!?;]|$| but | because | and I | so )"
_KIN = (
    r"(?P<kin>wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|mother|father|mom|mum|dad|sister|brother|"
    r"daughter|son|grandmother|grandfather|aunt|uncle|cousin|niece|nephew|boss|manager|colleague|"
    r"best friend|friend|neighbou?r|roommate|dog|cat)"
)
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:tember)?|"
    r"Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_DATE = (
    rf"(?P<date>\d{{4}}-\d\d-\d\d|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? \d{{4}})?|"
    rf"{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?)"
)
_DAY = r"(?P<day>birthday|anniversary|wedding|appointment|deadline|interview|exam|flight)"
_NOT_A_NAME = frozenset("I The A An My Not Sorry Sure Fine Ok Okay Here Glad Happy Going Just".split())
_LOVES = {"like": "likes", "love": "loves", "enjoy": "enjoys", "prefer": "prefers", "adore": "adores"}
_HATES = {"hate": "hates", "dislike": "dislikes", "can't stand": "can't stand", "cannot stand": "can't stand"}


Telling: TypeAlias = Callable[[Match[str], str], str | None]
"""The sentence that a way to tell something amounts to; None when it only looked like it."""


def _tell_name(match: Match[str], who: str) -> str | None:
    name = match["name"]
    return None if name.split()[0] in _NOT_A_NAME else f"{who}'s name is {name}."


def _tell_likes(match: Match[str], who: str) -> str:
    verb = match["verb"].lower()
    return f"{who} {(_LOVES | _HATES)[verb]} {_trim(match['thing'])}."


def _tell_dislikes(match: Match[str], who: str) -> str:
    return f"{who} does not {match['verb'].lower()} {_trim(match['thing'])}."


def _trim(text: str) -> str:
    return text.strip(" ,")


_I = r"\b(?i:I)"
_FORMS: tuple[tuple[str, Telling], ...] = (
    (rf"\b(?i:my name is|my name's|call me|people call me) {_NAME}", _tell_name),
    (rf"\b(?:I am|I'm|I’m) {_NAME}{_END}", _tell_name),
    (
        rf"{_I} (?i:(?:really |absolutely |also )?(?P<verb>like|love|enjoy|prefer|adore|hate|dislike|"
        rf"can't stand|cannot stand)) (?!to know|you|it\b|that\b|this\b){_THING}{_END}",
        _tell_likes,
    ),
    (
        rf"{_I} (?i:don't|do not|don’t) (?i:(?:really )?(?P<verb>like|enjoy|eat|drink|want)) {_THING}{_END}",
        _tell_dislikes,
    ),
    (
        rf"\b(?i:my favou?rite) (?P<what>[\w -]{{2,40}}?) (?i:is|are) {_THING}{_END}",
        lambda found, who: f"{who}'s favourite {found['what']} is {_trim(found['thing'])}.",
    ),
    (
        rf"{_I}(?i:'m| am|’m) (?i:allergic to) {_THING}{_END}",
        lambda found, who: f"{who} is allergic to {_trim(found['thing'])}.",
    ),
    (
        rf"\b(?i:my) {_DAY} (?i:is|was|will be)(?: on)? {_DATE}",
        lambda found, who: f"{who}'s {found['day']} is on {found['date']}.",
    ),
    (
        rf"{_I} (?i:was born)(?: on| in)? (?P<born>{_DATE}|\d{{4}})",
        lambda found, who: (
            f"{who} was born on {found['born']}." if found["date"] else f"{who} was born in {found['born']}."
        ),
    ),
    (
        rf"\b(?i:my) {_KIN}(?:'s name)? (?i:is|is called|is named|named|called),? {_NAME}",
        lambda found, who: f"{who}'s {found['kin']} is {found['name']}.",
    ),
    (
        rf"\b(?i:my) {_KIN},? {_NAME}",
        lambda found, who: f"{who}'s {found['kin']} is {found['name']}.",
    ),
    (
        rf"{_NAME} (?i:is my) {_KIN}",
        lambda found, who: f"{who}'s {found['kin']} is {found['name']}.",
    ),
    (
        rf"{_I} (?i:live in|moved to|have moved to) (?P<place>[A-Z][\w'’ -]{{1,60}}?)"
        r"(?=[,.!?;]|$| and | with | since | last | in )",
        lambda found, who: f"{who} lives in {_trim(found['place'])}.",
    ),
    (
        rf"{_I} (?i:work) (?P<how>as|at|for) {_THING}{_END}",
        lambda found, who: f"{who} works {found['how']} {_trim(found['thing'])}.",
    ),
)


_PEOPLE = frozenset({"user", "human"})
"""The roles that frameworks use for a person; nobody else is a witness of what a person is like."""


@cache
def _forms() -> list[tuple[Pattern[str], Telling]]:
    return [(re.compile(pattern), sentence) for pattern, sentence in _FORMS]


class BuiltIn:
    """Satisfies Extractor, without a model."""

    name = "builtin"
    local = True

    async def extract(self, conversation: Conversation, scope: Scope) -> Sequence[Fact]:
        people = (turn for turn in conversation.turns if turn.role.casefold() in _PEOPLE)
        facts = [fact for turn in people for fact in _facts(turn)]
        return list({fact.text: fact for fact in facts}.values())


def _facts(turn: Turn) -> Iterator[Fact]:
    who = turn.name or "The user"
    for sentence in _SENTENCE.split(turn.content):
        if sentence.rstrip().endswith("?"):
            continue
        for pattern, build_sentence in _forms():
            for match in pattern.finditer(sentence[:_LONGEST]):
                text = build_sentence(match, who)
                if text is not None:
                    yield Fact(text=text, occurred_at=turn.at)


class Extractor(Protocol):
    """Finds the facts that a conversation gives away."""

    @property
    def name(self) -> str:
        """How the memories it leads to call their source: `extractor:NAME`."""
        ...

    @property
    def local(self) -> bool:
        """Whether it answers at once, without asking anybody."""
        ...

    async def extract(self, conversation: Conversation, scope: Scope) -> Sequence[Fact]:
        """The facts, in the order they were said; raises StoreUnavailable when nobody answers now."""
        ...


class StoreExtractor:
    """Satisfies Extractor. The product only says what it would remember; we remember it."""

    name = "store"
    local = False

    def __init__(self, store: Ingester) -> None:
        self._store = store

    async def extract(self, conversation: Conversation, scope: Scope) -> Sequence[Fact]:
        messages = [{"role": turn.role, "content": turn.content} for turn in conversation.turns]
        extraction = await self._store.ingest(scope, messages)
        return [Fact(text=text, occurred_at=conversation.last_at) for text in extraction if text.strip()]


DEFAULT_EXTRACTOR = "auto"
BUILT_IN = "builtin"
OFF = "off"

_SCHEMES = ("openai+http", "openai+https", "anthropic+http", "anthropic+https")
_ENDPOINTS = 'use "off", "openai+https://HOST/v1?model=NAME" or "anthropic+https://HOST/v1?model=NAME"'
_FIX = _ENDPOINTS.replace("use ", 'use "auto", "builtin", ')


def open_extractor(name: str, store: Store, *, api_key: str | None = None) -> Extractor | None:
    """The extractor of that name; None when it is `off`. Nobody is asked yet.

    `auto` is a store that reads conversations itself, else the built-in rules.
    """
    if name == OFF:
        return None
    if name == DEFAULT_EXTRACTOR:
        reader = _ingesting(store)
        return BuiltIn() if reader is None else StoreExtractor(reader)
    if name == BUILT_IN:
        return BuiltIn()
    # Loaded here, so that nobody pays for an HTTP client who has no endpoint.
    from memorywire.pipeline.extract.chat import EndpointExtractor

    return EndpointExtractor(open_chat(name, api_key=api_key, field="extractor", fix=_FIX))


def open_chat(url: str, *, api_key: str | None, field: str, fix: str = _ENDPOINTS) -> "Chat":
    """The model of that address; whoever is told of a problem knows it as `field`."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in _SCHEMES and bool(parts.hostname) and "@" not in parts.netloc
        sound = sound and parts.port != 0 and parts.path.isascii() and _is_one_word(parts)
        parameters = parse_qs(parts.query)
    except ValueError:
        sound = False
    if not sound or set(parameters) != {"model"} or len(parameters["model"]) != 1:
        raise InvalidRequest(f"no {field} is called that", field=field, fix=fix)
    if api_key and not (api_key.isascii() and api_key.isprintable()):
        raise InvalidRequest(f"the key of the {field} holds characters no header can carry", field=field)
    from memorywire.pipeline.extract.chat import Chat, dialect

    speaks, _, scheme = parts.scheme.partition("+")
    return Chat(
        dialect(speaks),
        base=f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}",
        model=parameters["model"][0],
        api_key=api_key,
    )


def _is_one_word(parts: SplitResult) -> bool:
    """Whether a request can carry it: what cannot would only fail when somebody is asked."""
    place = f"{parts.netloc}{parts.path}"
    return place.isprintable() and " " not in place


def _ingesting(store: Store) -> Ingester | None:
    """The store, or the first of several, that reads conversations itself."""
    each = (
        [store.replica(name) for name in store.replica_names]
        if isinstance(store, SupportsReplicas)
        else [store]
    )
    return next((one for one in each if isinstance(one, Ingester)), None)
