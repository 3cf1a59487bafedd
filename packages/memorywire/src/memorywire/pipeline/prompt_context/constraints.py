"""Tells constraints from other memories, and on which tasks a constraint bears.

A missing constraint does harm ("Suggest a dinner" without the allergy), a needless one only costs tokens. So
a constraint need not be near the prompt: its class decides which topics it reaches.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from re import Pattern

from memorywire.facts import Kind, Label
from memorywire.model.record import Record, Trust

EVERYWHERE = "holds for every answer"

_FORM = (
    r"\b(?:must|has to|have to|never|always|only|forbidden|refused|not (?:accepted|allowed|permitted)"
    r"|(?:can't|cannot|won't|don't|doesn't|does not|do not|may not|isn't|is not|are not) \w+"
    r"|allerg\w+|intoleran\w+|coeliac|celiac|diabet\w+|vegetarian|vegan|pescatarian|halal|kosher|ramadan"
    r"|at most|at least|no (?:more|longer|less|later|earlier) than|in each answer|hard of hearing|deaf|blind"
    r"|colou?r-blind|wheelchair|with a stick|claustrophob\w+|pregnant|the law|a rule|without"
    r"|needs? (?:to|an?|the)|requires?|required|mandatory|prohibited|banned|off[- ]limits"
    r"|not (?:before|after)|until|unless|maximum|max|minimum|limit(?:ed)? (?:of|is|to)|up to|budget|deadline"
    r"|approv(?:al|ed|es?)|sign[- ]?off|confidential|embargo\w*|nda|policy|freeze|frozen|strictly"
    r"|avoids?|afraid|scared|phobi\w+|sensitive to|asthma\w*|epilep\w+|arthritis|migraines?|autis\w+|adhd"
    r"|dyslex\w+|breastfeeding|teetotal|sober|fasting|sabbath|shabbat|plant-based|\w+-free|refuses?"
    r"|rather not|instead of"
    r"|\d+ ?mg|takes? (?:warfarin|insulin|statins?|metformin)|medication|blood thinners?"
    r"|no (?!one\b)\w+)\b"
    r"|^(?:give|write|quote|cite|use|keep|avoid|answer|reply|address|call|ask|please|speak|show|round"
    r"|include)\b"
)

_ALWAYS = (
    r"\b(?:(?:in|with) (?:each|every|all) (?:answer|reply|response|message)s?"
    r"|(?:keep|give|write|make|likes?|prefers?|wants?) (?:\w+ ){0,2}(?:answers?|repl(?:y|ies)|responses?)\b.*"
    r"|answers? (?:should|must|are|in|under|with|without|to be)\b.*"
    r"|(?:answer|reply|respond|speak|talk|write) (?:\w+ ){0,3}in (?:[A-Z]\w+|plain|simple|short|full|bullet)"
    r"|(?:call|address) (?:me|him|her|them|the user|the customer)|wants? to be (?:called|addressed)"
    r"|pronouns?|screen[- ]?reader|dyslexi[ac]\w*|visually impaired|low vision"
    r"|metric|imperial units|celsius|fahrenheit|24-hour"
    r"|(?:no|without|never use|avoid|avoids|dislikes|hates) (?:emojis?|jargon|tables|markdown)"
    r"|bullet points|(?:be|stay) (?:brief|concise)|use (?:british|american|plain|simple))\b"
)

_CLASSES = Path(__file__).with_name("constraints.toml")


@cache
def _load_classes() -> Mapping[str, tuple[str, str]]:
    """For each class of constraints the words that tell it, and the words of prompts on which it bears."""
    document = tomllib.loads(_CLASSES.read_text(encoding="utf-8"))
    patterns: dict[str, str] = document["patterns"]

    def fill(text: str) -> str:
        return _NAME.sub(lambda match: patterns[match[1]], text).replace("\n", "")

    return {name: (fill(one["tells"]), fill(one["bears"])) for name, one in document["classes"].items()}


_NAME = re.compile(r"\{([a-z]+)\}")


@cache
def _compile(pattern: str) -> Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


@lru_cache(maxsize=16_384)
def _has(pattern: str, words: str) -> bool:
    return _compile(pattern).search(words) is not None


def is_constraint(record: Record, label: Label | None) -> bool:
    """Whether the memory may claim a place before others: by its label, or by its words where it has none.

    What an untrusted source says never constrains.
    """
    if record.trust is Trust.UNTRUSTED or record.speaker is not None:
        return False
    if label is not None and (label.given or label.kind is Kind.CONSTRAINT):
        return label.kind is Kind.CONSTRAINT
    return isinstance(record.content, str) and _has(_FORM, record.content)


def holds_everywhere(words: str, label: Label | None) -> bool:
    """Whether it is about how to answer, whatever is asked."""
    if label is not None and label.slot in _ALWAYS_SLOTS:
        return True
    return _has(_ALWAYS, words) and not _has(_IN_TEXTS, words)


_IN_TEXTS = r"\b(?:e-?mails?|letters?|reports?|documents?|posts?|(?:british|american) english)\b"
"""What is about the texts that the agent writes, and not about its answers."""

_ALWAYS_SLOTS = frozenset({"answer_language", "answer_format", "answer_length", "tone", "units", "pronouns"})


def find_bearing(words: str, prompt: str) -> str | None:
    """The class by which a constraint bears on the prompt, if there is one."""
    return next(
        (
            name
            for name, (tells, bears) in _load_classes().items()
            if _matches(tells, words) and _matches(bears, prompt)
        ),
        None,
    )


@lru_cache(maxsize=16_384)
def _matches(pattern: str, text: str) -> bool:
    return _has(rf"\b(?:{pattern})\b", text)
